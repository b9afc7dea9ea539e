// What the other parts are written in: the data of the page, numbers as text, elements. Data become text nodes and
// attributes, never markup.
const page = JSON.parse(document.getElementById("content").textContent);
const FIRST = 20, PRINTED = 250; // rows of a table before "show all", and of a component on paper
const collator = new Intl.Collator("en", { numeric: true });
const byId = (id) => document.getElementById(id);

function decoded(column) { // whole numbers times a power of ten, codes of words, or words
  if (column.levels) return column.values.map((code) => (code === null ? null : column.levels[code]));
  if (column.kind !== "number") return column.values;
  if (column.exponent === 0) return column.values;
  const read = column.exponent < 0 && column.exponent >= -22 // powers of ten up to the 22nd are exact
    ? (value) => value / 10 ** -column.exponent : (value) => Number(`${value}e${column.exponent}`);
  return column.values.map((value) => (value === null ? null : read(value)));
}

const minus = (text) => text.replace("-", "−");
const fixed = (value, decimals) => { // a zero has no sign
  const text = value.toFixed(decimals);
  return Number(text) === 0 ? text.replace("-", "") : minus(text);
};
const percent = (share) => `${Number((100 * share).toPrecision(3))}\u00a0%`;
const plural = (count, word, words = `${word}s`) => `${count.toLocaleString("en")} ${count === 1 ? word : words}`;
const capitalized = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const { feature: FEATURE, features: FEATURES, sample: SAMPLE, samples: SAMPLES } = page.kind;
const least = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);
const most = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);

function short(value) {
  if (value === null) return "–";
  if (typeof value !== "number") return value;
  return minus(Number.isInteger(value) ? value.toLocaleString("en") : String(Number(value.toPrecision(4))));
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}
const html = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
// A text that wraps after separators before it breaks a word; page.py has the same.
const breakable = (text) => text.split(/(?<=[_/.:|,;-])(?=[\p{L}\p{N}_])/u)
  .flatMap((part, i) => (i ? [html("wbr"), part] : [part]));
const hidden = { "aria-hidden": "true" };

// Compares two values in one direction; what is not known comes last in both.
function ordered(x, y, falling) {
  if (x === null || y === null) return (x === null) - (y === null);
  const step = typeof x === "number" ? x - y : collator.compare(x, y);
  return falling ? -step : step;
}

function sortedTable(label, heads, choose) {
  const row = html("tr");
  heads.forEach((head, number) => {
    const button = html("button", { type: "button" }, head.head);
    button.addEventListener("click", () => choose(number));
    row.append(html("th", { scope: "col", colspan: head.span ?? 1, class: head.number ? "number" : "" }, button));
  });
  const body = html("tbody");
  const table = html("table", {}, html("caption", { class: "unseen" }, label), html("thead", {}, row), body);
  const mark = (active, falling) => [...row.children].forEach((cell, number) => {
    if (number === active) cell.setAttribute("aria-sort", falling ? "descending" : "ascending");
    else cell.removeAttribute("aria-sort");
  });
  return { table, body, mark };
}

function moreButton(change) {
  const button = html("button", { type: "button", class: "more" });
  button.addEventListener("click", change);
  const update = (open, count) => {
    button.hidden = count <= FIRST;
    button.textContent = open ? `Show the first ${FIRST}` : `Show all ${count.toLocaleString("en")}`;
    button.setAttribute("aria-expanded", String(open));
  };
  return { button, update };
}
