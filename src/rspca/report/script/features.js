// The cards: features of each component, searched and sorted together.
const names = page.features.names;
const extras = page.features.columns.map((column) => ({ ...column, values: decoded(column) }));
const columns = [
  { head: capitalized(FEATURE), value: (row) => names[row.place], falling: false },
  { head: "Loading", value: (row) => Math.abs(row.loading), falling: true, span: 2 }, // the bar, and the number
  ...(page.halves ? [{ head: "Halves", value: (row) => row.stable, falling: true, span: 2 }] : []),
  ...(page.components.some((one) => one.structure)
    ? [{ head: capitalized(page.measure), value: (row) => Math.abs(row.structure), falling: true, number: true }] : []),
  ...extras.map((one) => ({
    head: one.name, value: (row) => one.values[row.place], falling: false, number: one.kind === "number",
  })),
];
const texts = extras.filter((one) => one.kind === "text");
let sought = null; // made when somebody searches
const soughtIn = (place) => {
  sought ??= names.map((name, i) => [name, ...texts.map((one) => one.values[i] ?? "")].join("\n").toLowerCase());
  return sought[place];
};
const order = { column: 1, falling: true };
let words = "";

function compare(a, b) {
  const value = columns[order.column].value;
  return ordered(value(a), value(b), order.falling) || a.rank - b.rank;
}

function highlighted(name) {
  const start = words ? name.toLowerCase().indexOf(words) : -1;
  if (start < 0) return breakable(name);
  const end = start + words.length;
  return [...breakable(name.slice(0, start)), html("mark", {}, name.slice(start, end)), ...breakable(name.slice(end))];
}

function named(place) { // with a link to a public page where there is one; nothing is fetched
  const links = page.features.links, name = html("bdi", {}, ...highlighted(names[place]));
  if (!links?.known[place]) return name;
  const href = links.base + encodeURIComponent(names[place]);
  return html("a", { href, target: "_blank", rel: "noopener noreferrer" }, name);
}

function bar(loading, low, high) { // the same scale on both sides of zero
  const [unit, kind] = [100 / (high - low), loading < 0 ? "negative" : "positive"];
  const [x, width] = [unit * Math.min(loading, 0), unit * Math.abs(loading)];
  return svg("svg", { class: "bar", viewBox: `${unit * low} 0 100 8`, preserveAspectRatio: "none", ...hidden },
    svg("rect", { class: kind, x, width, height: 8 }),
    svg("line", { class: "zero", x1: 0, x2: 0, y1: 0, y2: 8 }));
}

function makeCard(component, number) {
  const loadings = decoded(component.loadings), { structure, stable } = component;
  let known = null; // made when the card is opened
  const rows = () => {
    const [correlations, halves] = [structure, stable].map((one) => (known || !one ? null : decoded(one)));
    known ??= component.places.map((place, rank) => ({
      place, rank, loading: loadings[rank], structure: correlations?.[rank] ?? null, stable: halves?.[rank] ?? null,
    }));
    return known;
  };
  const low = Math.min(0, least(loadings)), high = Math.max(0, most(loadings));
  const home = document.querySelector(`[data-component="${number}"]`);
  const body = home.closest("details");
  const card = { home: home.closest("article"), open: false, printing: false, matches: component.places.length };
  const view = sortedTable(`${capitalized(FEATURES)} of component ${component.number}`, columns, chooseColumn);
  const more = moreButton(() => { card.open = !card.open; card.draw(); });
  const left = component.count - component.places.length;
  home.append(html("div", { class: "scroll" }, view.table), more.button);
  const absent = `Not on this page: ${plural(left, FEATURE, FEATURES)} with smaller loadings.`;
  if (left) home.append(html("p", { class: "quiet" }, absent));
  const unprinted = html("p", { class: "quiet unprinted", hidden: "" });
  home.append(unprinted);

  const drawn = (row) => html("tr", {},
    html("th", { scope: "row", class: "name" }, named(row.place)),
    html("td", { class: "bars" }, bar(row.loading, low, high)),
    html("td", { class: "number" }, fixed(row.loading, component.decimals)),
    ...(stable ? [html("td", { class: "bars" }, bar(row.stable, 0, 1)),
      html("td", { class: "number" }, fixed(row.stable, 2))] : []),
    ...(structure ? [html("td", { class: "number" }, fixed(row.structure, 2))] : []),
    ...extras.map((one) => html("td", { class: one.kind === "number" ? "number" : "" }, short(one.values[row.place]))));
  card.draw = () => {
    const found = words ? rows().filter((row) => soughtIn(row.place).includes(words)) : null;
    card.matches = found ? found.length : component.places.length;
    card.home.hidden = words !== "" && !card.matches;
    if (found?.length) body.open = true;
    if (!body.open) return; // drawn when it is opened
    const rowLimit = card.printing ? PRINTED : card.open ? undefined : FIRST;
    const shown = [...(found ?? rows())].sort(compare).slice(0, rowLimit);
    view.body.replaceChildren(...shown.map(drawn));
    unprinted.hidden = !card.printing || shown.length === card.matches;
    unprinted.textContent = `Printed: ${shown.length} of ${plural(card.matches, FEATURE, FEATURES)}. The page in a browser `
      + "has more.";
    view.mark(order.column, order.falling);
    more.update(card.open, card.matches);
  };
  body.addEventListener("toggle", card.draw);
  return card;
}

const cards = page.components.map(makeCard);

function drawCards() {
  cards.forEach((card) => card.draw());
  byId("sort").value = String(order.column);
  const matches = cards.reduce((sum, card) => sum + card.matches, 0);
  const where = cards.filter((card) => card.matches).length;
  byId("found").textContent = words
    ? `${plural(matches, FEATURE, FEATURES)} in ${plural(where, "component")}`
    : `${plural(names.length, `different ${FEATURE}`, `different ${FEATURES}`)} in ${plural(cards.length, "component")}`;
}

function chooseColumn(number) {
  order.falling = number === order.column ? !order.falling : columns[number].falling;
  order.column = number;
  drawCards();
}
