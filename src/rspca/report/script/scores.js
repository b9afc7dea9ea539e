// The scatter of the scores, its legend, and the same as a table.
const COLORS = 12, SHADES = 9;
const ROOM = 290; // square pixels of the chart for each mark below which marks are smaller
const outlines = [ // circle, triangle, square, diamond, cross: with 12 colors, 60 different marks
  (r) => [[-3.4, 0], `a${r(3.4)} ${r(3.4)} 0 1 0 ${r(6.8)} 0a${r(3.4)} ${r(3.4)} 0 1 0 ${r(-6.8)} 0Z`],
  (r) => [[0, -4.6], `l${r(4.2)} ${r(7.4)}h${r(-8.4)}Z`],
  (r) => [[-3, -3], `h${r(6)}v${r(6)}h${r(-6)}Z`],
  (r) => [[0, -4.4], `l${r(4.4)} ${r(4.4)}l${r(-4.4)} ${r(4.4)}l${r(-4.4)} ${r(-4.4)}Z`],
  (r) => [[-1.4, -4.2], [["h", 1], ["v", 1], ["h", 1], ["v", 1], ["h", -1], ["v", 1], ["h", -1], ["v", -1], ["h", -1],
    ["v", -1], ["h", 1]].map(([to, sign]) => to + r(2.8 * sign)).join("") + "Z"],
];
const marksOf = (scale) => outlines.map((outline) => {
  const [[left, up], path] = outline((length) => +(scale * length).toFixed(2));
  return (x, y) => `M${+(x + scale * left).toFixed(2)} ${+(y + scale * up).toFixed(2)}${path}`;
});
const shapes = marksOf(1), smallShapes = marksOf(0.7);

// Samples that look the same: { groups: [{ label, color, shape, members }], values, range }.
function coloring(column) {
  const all = page.scores.names.map((_, i) => i);
  if (!column) return { groups: [{ label: "all", color: "c0", shape: 0, members: all }] };
  const values = decoded(column);
  const known = all.filter((i) => values[i] !== null), missing = all.filter((i) => values[i] === null);
  const rest = missing.length ? [{ label: "not known", color: "other", shape: 0, members: missing }] : [];
  const colored = column.color === "number" ? shaded(values, known) : classed(values, known);
  return { ...colored, values, groups: [...colored.groups, ...rest] };
}

function shaded(values, known) {
  const low = least(known.map((i) => values[i])), high = most(known.map((i) => values[i]));
  const groups = Array.from({ length: SHADES }, (_, s) => ({ color: `r${s}`, shape: 0, members: [] }));
  for (const i of known) {
    const shade = Math.floor((SHADES * (values[i] - low)) / (high - low || 1));
    groups[Math.min(SHADES - 1, shade)].members.push(i);
  }
  return { groups, range: known.length ? [low, high] : null };
}

function classed(values, known) {
  const classes = new Map(known.map((i) => [values[i], []]));
  known.forEach((i) => classes.get(values[i]).push(i));
  const sorted = [...classes].sort((a, b) => b[1].length - a[1].length), room = COLORS * shapes.length - 1;
  const kept = sorted.slice(0, room).sort((a, b) => ordered(a[0], b[0], false));
  const others = sorted.slice(room).flatMap(([, members]) => members);
  const groups = kept.map(([value, members], i) =>
    ({ label: String(value), color: `c${i % COLORS}`, shape: i % shapes.length, members }));
  if (others.length) groups.push({ label: "all others", color: "other", shape: 3, members: others });
  return { groups };
}

function scale(values, from, to) { // value to pixel, with a margin of 4 %
  const [low, high] = [least(values), most(values)], margin = 0.04 * (high - low) || 1;
  const [start, end] = [low - margin, high + margin];
  const at = (value) => from + ((value - start) / (end - start)) * (to - from);
  return { at, ticks: ticks(start, end, 6), say: short };
}

function axis(choice) {
  if (choice === "order") return { values: page.scores.names.map((_, i) => i), label: `Order of ${SAMPLES}` };
  const share = percent(page.components[choice].share);
  return { values: decoded(page.scores.components[choice]), label: `Component ${Number(choice) + 1} (${share})` };
}

// Scores of the study of the fit; none against the order of samples.
const below = (choice) => (choice === "order" ? [] : decoded(page.scores.reference.components[choice]));

// The same order in every drawing, in which samples of all categories alternate: none lies below another as a whole.
function mixed(items) {
  const key = (i) => Math.imul(i + 1, 0x9e3779b1) >>> 0; // multiples of the golden ratio, modulo 1
  return items.map((_, i) => i).sort((i, j) => key(i) - key(j)).map((i) => items[i]);
}

function drawScores() {
  const scores = page.scores, home = byId("scatter"), size = sized(home, 0.65);
  const across = axis(byId("across").value), up = axis(byId("up").value);
  const column = byId("color").value === "" ? null : scores.columns[byId("color").value];
  const colored = coloring(column);
  const [belowAcross, belowUp] = scores.reference ? [below(byId("across").value), below(byId("up").value)] : [[], []];
  const reach = { across: [...across.values, ...belowAcross], up: [...up.values, ...belowUp] };
  const x = { ...scale(reach.across, size.left, size.width - size.right), label: across.label };
  const y = { ...scale(reach.up, size.height - size.bottom, size.top), label: up.label };
  const label = `Scatter of ${plural(scores.names.length, SAMPLE, SAMPLES)}: ${up.label} against ${across.label}`
    + `${column ? `, colored by ${column.name}` : ""}. The table below has the same numbers.`;
  const many = ROOM * scores.names.length > size.width * size.height, drawnAs = many ? smallShapes : shapes;
  const path = (shape, i) => drawnAs[shape](+x.at(across.values[i]).toFixed(1), +y.at(up.values[i]).toFixed(1));
  const marks = new Array(scores.names.length);
  const layers = colored.groups.map((group) => group.members.map((i) => {
    marks[i] = svg("path", { class: group.color, "data-sample": i, d: path(group.shape, i) });
    return marks[i];
  }));
  const drawn = chart(label, size, x, y);
  if (belowUp.length) drawn.append(svg("path", { class: "reference", d: belowUp.map((value, i) =>
    shapes[0](+x.at(belowAcross[i]).toFixed(1), +y.at(value).toFixed(1))).join("") }));
  drawn.append(svg("g", { class: many ? "marks many" : "marks" }, ...mixed(marks)));
  drawn.addEventListener("pointerover", (event) => {
    const i = event.target.dataset.sample;
    if (i === undefined) return;
    const more = column ? `; ${column.name}: ${short(colored.values[i])}` : "";
    byId("readout").textContent = `${scores.names[i]}: ${short(across.values[i])}, ${short(up.values[i])}${more}`;
  });
  if (byId("arrows").checked) drawn.append(arrows(x, y, across, up, size));
  byId("arrows-note").hidden = !byId("arrows").checked;
  home.replaceChildren(drawn);
  byId("legend").replaceChildren(...(column ? legend(column, colored, layers) : []), ...(belowUp.length
    ? [html("p", { class: "key" }, svg("svg", { class: "sign", viewBox: "-6 -6 12 12", ...hidden },
      svg("path", { class: "reference", d: shapes[0](0, 0) })), "study of the fit")] : []));
  scoreTable(across, up, column, colored);
}

// Features with the largest loadings of the two components, as arrows from zero.
const ARROWS = 6;
function arrows(x, y, across, up, size) {
  const chosen = [byId("across").value, byId("up").value];
  const loading = chosen.map((choice) => {
    if (choice === "order") return new Map();
    const component = page.components[choice], values = decoded(component.loadings);
    return new Map(component.places.map((place, rank) => [place, values[rank]]));
  });
  const largest = new Set(loading.flatMap((one) => [...one.keys()].slice(0, ARROWS)));
  const longest = most([...largest].map((place) => Math.hypot(...loading.map((one) => one.get(place) ?? 0)))) || 1;
  const reach = (values) => most(values.map(Math.abs)) || 1;
  const unit = [reach(across.values), chosen[1] === "order" ? 0 : reach(up.values)].map((one) => (0.8 * one) / longest);
  const [x0, y0] = [x.at(0), y.at(0)];
  byId("arrows-factors").textContent = ` (${short(unit[0])} across, ${short(unit[1])} up)`;
  const ends = [...largest].map((place) => {
    const [a, b] = loading.map((one, i) => unit[i] * (one.get(place) ?? 0));
    return { name: names[place], at: [x.at(a), y.at(b)], to: a < 0 ? -1 : 1 };
  });
  const drawn = ends.filter(({ at: [x1, y1] }) => Math.hypot(x1 - x0, y1 - y0) >= 1);
  return svg("g", { class: "arrows" }, namesOf(drawn, size, drawn.map((one) => [[x0, y0], one.at]),
    across.values.map((value, i) => [x.at(value), y.at(up.values[i])]), 9),
    ...drawn.flatMap((one) => arrow([x0, y0], one.at)));
}

function arrow([x0, y0], [x1, y1]) { // a line, and a head that ends where the arrow ends
  const length = Math.hypot(x1 - x0, y1 - y0), head = Math.min(9, length), [u, v] = [(x1 - x0) / length, (y1 - y0) / length];
  const point = (back, side) => `${(x1 - back * u - side * v).toFixed(1)} ${(y1 - back * v + side * u).toFixed(1)}`;
  return [svg("line", { x1: x0, y1: y0, x2: x1 - 0.7 * head * u, y2: y1 - 0.7 * head * v }),
    svg("path", { class: "head", d: `M${point(0, 0)}L${point(head, 0.4 * head)}L${point(head, -0.4 * head)}Z` })];
}

function legend(column, colored, layers) {
  const title = html("p", { class: "legend-title" }, html("bdi", {}, column.name));
  if (column.color === "number") {
    if (!colored.range) return [title];
    const shades = Array.from({ length: SHADES }, (_, s) => svg("rect", { class: `r${s}`, x: s, width: 1, height: 1 }));
    const box = { class: "ramp", viewBox: `0 0 ${SHADES} 1`, preserveAspectRatio: "none" };
    const ramp = svg("svg", { ...box, ...hidden }, ...shades);
    const ends = colored.range.map((value) => html("span", {}, short(value)));
    return [title, ramp, html("p", { class: "ramp-ends" }, ...ends)];
  }
  const buttons = colored.groups.map((group, number) => {
    const mark = svg("g", { class: "marks" }, svg("path", { class: group.color, d: shapes[group.shape](0, 0) }));
    const button = html("button", { type: "button", "aria-pressed": "false", title: "Show only these" },
      svg("svg", { class: "sign", viewBox: "-6 -6 12 12", ...hidden }, mark), html("bdi", {}, group.label),
      html("span", { class: "count" }, group.members.length.toLocaleString("en")));
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") === "false";
      buttons.forEach((one) => one.setAttribute("aria-pressed", String(on && one === button)));
      layers.forEach((layer, other) => layer.forEach((mark) => mark.classList.toggle("dim", on && other !== number)));
    });
    return button;
  });
  const group = { class: "legend-items", role: "group", "aria-label": `Show only some of ${column.name}` };
  return [title, html("div", group, ...buttons)];
}

const listed = { column: 0, falling: false, open: false };

function scoreTable(across, up, column, colored) {
  const details = byId("score-table"), people = page.scores.names;
  const sources = [
    { head: capitalized(SAMPLE), values: people },
    ...(column ? [{ head: column.name, values: colored.values, number: column.kind === "number" }] : []),
    { head: across.label, values: across.values, number: true },
    { head: up.label, values: up.values, number: true },
  ];
  listed.column = Math.min(listed.column, sources.length - 1);
  const choose = (number) => {
    listed.falling = number === listed.column && !listed.falling;
    listed.column = number;
    draw();
  };
  const view = sortedTable(`Scores of the ${SAMPLES}`, sources, choose);
  const more = moreButton(() => { listed.open = !listed.open; draw(); });
  const cell = (one, i) => html("td", { class: one.number ? "number" : "" }, html("bdi", {}, short(one.values[i])));
  function draw() {
    more.update(listed.open, people.length);
    if (!details.open) return;
    const values = sources[listed.column].values;
    const sorted = people.map((_, i) => i).sort((i, j) => ordered(values[i], values[j], listed.falling));
    view.body.replaceChildren(...sorted.slice(0, listed.open ? undefined : FIRST).map((i) => html("tr", {},
      html("th", { scope: "row" }, html("bdi", {}, people[i])), ...sources.slice(1).map((one) => cell(one, i)))));
    view.mark(listed.column, listed.falling);
  }
  details.querySelector("div").replaceChildren(view.table, more.button);
  details.ontoggle = draw;
  draw();
}
