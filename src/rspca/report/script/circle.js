// The correlation circle of two components: their features, and the associates that neither has.
function circleMembers(a, b) { // [{ place, kind: 0 of the first, 1 of the second, 2 of both, own: not an associate }]
  const circle = page.circle, members = new Map();
  const add = (lists, own) => [a, b].forEach((component, kind) => lists[component].forEach((place) => {
    const known = members.get(place);
    if (!known) members.set(place, { place, kind, own });
    else if (known.own === own && known.kind !== kind) known.kind = 2;
  }));
  add(circle.leading, true);
  add(circle.associates, false);
  return [...members.values()];
}

function drawCircle() {
  const circle = page.circle, home = byId("circle-chart"), correlations = circle.correlations.map(decoded);
  const [a, b] = ["circle-across", "circle-up"].map((id) => Number(byId(id).value));
  const width = Math.max(300, Math.min(600, Math.round(home.clientWidth - 24)));
  const size = { left: 62, right: 14, top: 34, bottom: 50, width, height: width + 8 }; // as high as wide, inside
  const [left, right, bottom] = [size.left, width - size.right, size.height - size.bottom];
  const unit = (right - left) / 2.1, middle = [(left + right) / 2, (size.top + bottom) / 2];
  const marks = [-1, -0.5, 0, 0.5, 1], label = (number) => `Component ${number + 1}`;
  const x = { at: (value) => middle[0] + unit * value, ticks: marks, say: (value) => short(value), label: label(a) };
  const y = { at: (value) => middle[1] - unit * value, ticks: marks, say: (value) => short(value), label: label(b) };
  const members = circleMembers(a, b).map((one) =>
    ({ ...one, name: circle.names[one.place], r: [correlations[a][one.place], correlations[b][one.place]] }));
  const at = (one) => [+x.at(one.r[0]).toFixed(1), +y.at(one.r[1]).toFixed(1)];
  const drawn = chart(`${capitalized(page.measure)}s of ${plural(members.length, FEATURE, FEATURES)} with the scores of components `
    + `${a + 1} and ${b + 1}. The table below has the same numbers.`, size, x, y);
  drawn.append(svg("circle", { class: "circle", cx: middle[0], cy: middle[1], r: unit }));
  const looks = (one) => `in${one.kind}${one.own ? "" : " hollow"}`;
  drawn.append(svg("g", { class: "spokes" }, ...members.filter((one) => one.own).map((one) =>
    svg("line", { x1: middle[0], y1: middle[1], x2: at(one)[0], y2: at(one)[1] }))));
  drawn.append(namesOf(members.map((one) => ({ name: one.name, at: at(one), to: one.r[0] < 0 ? -1 : 1 })), size,
    members.filter((one) => one.own).map((one) => [middle, at(one)])));
  drawn.append(...members.map((one) => svg("path", { class: looks(one), d: shapes[[0, 2, 3][one.kind]](...at(one)) },
    svg("title", {}, `${one.name}: ${fixed(one.r[0], 2)}, ${fixed(one.r[1], 2)}`))));
  const sign = (kind, hollow, text) => html("span", { class: "item" }, svg("svg", { class: "sign", viewBox: "-6 -6 12 12", ...hidden },
    svg("path", { class: `in${kind}${hollow ? " hollow" : ""}`, d: shapes[[0, 2, 3][kind]](0, 0) })), text);
  const key = [sign(0, false, `of component ${a + 1}`), sign(1, false, `of component ${b + 1}`)];
  if (members.some((one) => one.own && one.kind === 2)) key.push(sign(2, false, "of both"));
  byId("circle-hollow").hidden = members.every((one) => one.own);
  if (members.some((one) => !one.own)) key.push(sign(0, true, "associates"));
  home.replaceChildren(drawn, html("p", { class: "key" }, ...key));
  const alike = page.correlation.of === "scores" ? page.correlation.values[a][b] : null;
  byId("circle-note").textContent = members.some((one) => Math.hypot(...one.r) > 1.005)
    ? `Marks outside the circle: the two scores are correlated${alike === null ? "" : ` (${fixed(alike, 2)})`}.` : "";
  circleTable(a, b);
}

function circleRows(a, b) {
  const correlations = page.circle.correlations.map(decoded);
  const role = (one) => `${one.own ? "of" : "associate of"} ${["component " + (a + 1), "component " + (b + 1), "both"][one.kind]}`;
  return circleMembers(a, b).map((one) =>
    [page.circle.names[one.place], role(one), correlations[a][one.place], correlations[b][one.place]]);
}

const circleSort = { column: 2, falling: true, open: false };
function circleTable(a, b) {
  const rows = circleRows(a, b), details = byId("circle-table");
  const heads = [{ head: capitalized(FEATURE) }, { head: "Role" }, { head: `Component ${a + 1}`, number: true },
    { head: `Component ${b + 1}`, number: true }];
  const choose = (number) => {
    circleSort.falling = number === circleSort.column ? !circleSort.falling : number > 1;
    circleSort.column = number;
    draw();
  };
  const view = sortedTable(`${capitalized(page.measure)}s of ${FEATURES} with two scores`, heads, choose);
  const more = moreButton(() => { circleSort.open = !circleSort.open; draw(); });
  const cell = (value, number) => html("td", { class: number ? "number" : "" }, number ? fixed(value, 2) : value);
  function draw() {
    more.update(circleSort.open, rows.length);
    const sorted = [...rows].sort((one, other) =>
      ordered(one[circleSort.column], other[circleSort.column], circleSort.falling));
    view.body.replaceChildren(...sorted.slice(0, circleSort.open ? undefined : FIRST).map((row) => html("tr", {},
      html("th", { scope: "row" }, html("bdi", {}, row[0])), ...row.slice(1).map((value, i) => cell(value, i > 0)))));
    view.mark(circleSort.column, circleSort.falling);
  }
  details.querySelector("div").replaceChildren(view.table, more.button);
  draw();
}
