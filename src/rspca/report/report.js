"use strict";
// Fills the page from its JSON block. Data become text nodes and numbers in attributes, never markup.
(() => {
  const page = JSON.parse(document.getElementById("content").textContent);
  const byId = (id) => document.getElementById(id);
  const FIRST = 20; // rows of a table before "show all"
  const COLORS = 8, SHAPES = 5, SHADES = 9; // 8 and 5 have no common factor: 40 different marks
  const collator = new Intl.Collator("en", { numeric: true });

  // ---- numbers and elements

  const decoded = (column) => column.levels
    ? column.values.map((code) => (code === null ? null : column.levels[code]))
    : column.kind === "number"
      ? column.values.map((value) => (value === null ? null : Number(`${value}e${column.exponent}`)))
      : column.values;
  const minus = (text) => text.replace("-", "−");
  const fixed = (value, decimals) => minus(value.toFixed(decimals));
  const short = (value) => value === null ? "–" : typeof value !== "number" ? value
    : minus(Number.isInteger(value) ? value.toLocaleString("en") : String(Number(value.toPrecision(4))));
  const percent = (share) => `${Number((100 * share).toPrecision(3))} %`;
  const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }
  const html = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes = {}, ...children) =>
    fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

  // ---- features: cards, search, sort

  const names = page.features.names;
  const extras = page.features.columns.map((column) => ({ ...column, values: decoded(column) }));
  const sought = names.map((name, i) =>
    [name, ...extras.filter((one) => one.kind === "text").map((one) => one.values[i] ?? "")].join("\n").toLowerCase());
  const hasChances = page.components.every((one) => one.probabilities);
  const columns = [
    { head: "Feature", value: (row) => names[row.place], falling: false },
    { head: "Loading", value: (row) => Math.abs(row.loading), falling: true },
    ...(hasChances ? [{ head: "Probability", value: (row) => row.chance, falling: true }] : []),
    ...extras.map((one) => ({ head: one.name, value: (row) => one.values[row.place], falling: false, extra: one })),
  ];
  const order = { column: 1, falling: true };
  let words = "";

  function compare(a, b) {
    const value = columns[order.column].value;
    const [x, y] = [value(a), value(b)];
    if (x === null || y === null) return (x === null) - (y === null);
    const step = typeof x === "number" ? x - y : collator.compare(x, y);
    return (order.falling ? -step : step) || a.rank - b.rank;
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
    const mark = (active, falling) => [...row.children].forEach((cell, number) =>
      number === active ? cell.setAttribute("aria-sort", falling ? "descending" : "ascending") : cell.removeAttribute("aria-sort"));
    return { table, body, mark };
  }

  function highlighted(name) {
    const start = words ? name.toLowerCase().indexOf(words) : -1;
    if (start < 0) return [name];
    return [name.slice(0, start), html("mark", {}, name.slice(start, start + words.length)), name.slice(start + words.length)];
  }

  function bar(loading, largest, signed) {
    const width = (100 * Math.abs(loading)) / largest;
    return svg("svg", { class: "bar", viewBox: signed ? "-100 0 200 8" : "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
      svg("rect", { class: loading < 0 ? "negative" : "positive", x: loading < 0 ? -width : 0, width, height: 8 }),
      svg("line", { class: "zero", x1: 0, x2: 0, y1: 0, y2: 8 }));
  }

  const cards = page.components.map((component, number) => {
    const loadings = decoded(component.loadings);
    const chances = hasChances ? decoded(component.probabilities) : [];
    const rows = component.places.map((place, rank) => ({ place, rank, loading: loadings[rank], chance: chances[rank] }));
    const home = document.querySelector(`[data-component="${number}"]`);
    const heads = columns.map((one, at) => ({ head: one.head, span: at === 1 ? 2 : 1, number: at === 2 && hasChances || one.extra?.kind === "number" }));
    const view = sortedTable(`Features of component ${component.number}`, heads, chooseColumn);
    const more = html("button", { type: "button", class: "more", "aria-expanded": "false" });
    const left = component.count - rows.length;
    home.append(html("div", { class: "scroll" }, view.table), more);
    if (left) home.append(html("p", { class: "quiet" }, `${plural(left, "feature")} with smaller loadings are not on this page.`));
    const card = { rows, home: home.closest("article"), open: false, found: rows };
    const largest = Math.max(...loadings.map(Math.abs)), signed = loadings.some((one) => one < 0);

    card.draw = () => {
      card.found = words ? rows.filter((row) => sought[row.place].includes(words)) : rows;
      card.home.hidden = words !== "" && !card.found.length;
      const shown = [...card.found].sort(compare).slice(0, card.open ? undefined : FIRST);
      view.body.replaceChildren(...shown.map((row) => html("tr", {},
        html("th", { scope: "row", class: "name" }, html("bdi", {}, ...highlighted(names[row.place]))),
        html("td", { class: "bars" }, bar(row.loading, largest, signed)),
        html("td", { class: "number" }, fixed(row.loading, component.decimals)),
        ...(hasChances ? [html("td", { class: "number" }, row.chance.toFixed(2))] : []),
        ...extras.map((one) => html("td", { class: one.kind === "number" ? "number" : "" }, short(one.values[row.place]))))));
      view.mark(order.column, order.falling);
      more.hidden = card.found.length <= FIRST;
      more.textContent = card.open ? `Show the first ${FIRST}` : `Show all ${card.found.length.toLocaleString("en")}`;
      more.setAttribute("aria-expanded", String(card.open));
    };
    more.addEventListener("click", () => { card.open = !card.open; card.draw(); });
    return card;
  });

  function drawCards() {
    cards.forEach((card) => card.draw());
    byId("sort").value = String(order.column);
    const matches = cards.reduce((sum, card) => sum + card.found.length, 0);
    const where = cards.filter((card) => card.found.length).length;
    byId("found").textContent = words
      ? `${plural(matches, "feature")} in ${plural(where, "component")}`
      : `${plural(names.length, "different feature")} in ${plural(cards.length, "component")}`;
  }

  function chooseColumn(number) {
    order.falling = number === order.column ? !order.falling : columns[number].falling;
    order.column = number;
    drawCards();
  }

  // ---- charts

  function ticks(low, high, wanted) {
    const rough = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((one) => one * power >= rough);
    const found = [];
    for (let at = Math.ceil(low / step); at * step <= high + 1e-9 * step; at++) found.push(Number((at * step).toPrecision(12)));
    return found;
  }

  function sized(home, ratio) { // in pixels, so that text has the same size on a phone and on a desk
    const width = Math.max(300, Math.min(760, Math.round(home.clientWidth - 24)));
    return { left: 62, right: 14, top: 34, bottom: 50, width, height: 84 + Math.round(ratio * width) };
  }

  function chart(label, size, x, y) { // x, y: { at: value to pixel, ticks, say, label }
    const { left, right, top, bottom, width, height } = size;
    const mid = (a, b) => (a + b) / 2;
    return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, class: "chart" },
      ...y.ticks.map((value) => svg("g", {},
        svg("line", { class: "grid", x1: left, x2: width - right, y1: y.at(value), y2: y.at(value) }),
        svg("text", { x: left - 8, y: y.at(value) + 4, "text-anchor": "end" }, y.say(value)))),
      ...x.ticks.map((value) => svg("g", {},
        svg("line", { class: "grid", x1: x.at(value), x2: x.at(value), y1: top, y2: height - bottom }),
        svg("text", { x: x.at(value), y: height - bottom + 18, "text-anchor": "middle" }, x.say(value)))),
      svg("text", { class: "axis", x: mid(left, width - right), y: height - 6, "text-anchor": "middle" }, x.label),
      svg("text", { class: "axis", x: 4, y: 18 }, y.label));
  }

  function drawPath() {
    const points = page.path.points, ks = points.map((one) => one.k);
    const size = sized(byId("path-chart"), 0.5);
    const low = Math.log(ks[0]), span = Math.log(ks[ks.length - 1]) - low || 1;
    const top = Math.max(...points.map((one) => one.upper ?? one.share)), base = Math.min(...points.map((one) => one.share));
    const floor = base < 0.5 * top ? 0 : base - 0.1 * (top - base || top);
    const marks = ks.filter((k, i) => i === 0 || i === ks.length - 1 || k === page.path.suggested);
    const room = (k) => marks.every((one) => Math.abs(Math.log(k / one)) * size.width > 50 * span);
    ks.forEach((k) => { if (room(k)) marks.push(k); });
    const x = { at: (k) => size.left + ((Math.log(k) - low) / span) * (size.width - size.left - size.right), ticks: marks, say: String, label: "Features k, on a log scale" };
    const y = { at: (share) => size.top + ((top - share) / (top - floor || 1)) * (size.height - size.top - size.bottom), ticks: ticks(floor, top, 5), say: percent, label: "Share of the first component" };
    const found = points.find((one) => one.k === page.path.suggested);
    const drawn = chart(`Share of the variance of the first principal component against k, from ${percent(points[0].share)} at k = ${ks[0]} to ${percent(points[points.length - 1].share)} at k = ${ks[ks.length - 1]}; suggested k = ${page.path.suggested}`, size, x, y);
    const line = (some, value) => some.map((one, i) => `${i ? "L" : "M"}${x.at(one.k).toFixed(1)} ${y.at(value(one)).toFixed(1)}`).join("");
    const bounded = points.filter((one) => one.upper !== null);
    drawn.append(svg("line", { class: "suggested", x1: x.at(found.k), x2: x.at(found.k), y1: size.top, y2: size.height - size.bottom }));
    const back = line([...bounded].reverse(), (one) => one.share).replace("M", "L");
    drawn.append(
      svg("path", { class: "between", d: bounded.length ? `${line(bounded, (one) => one.upper)}${back}Z` : "" }),
      svg("path", { class: "line", d: line(points, (one) => one.share) }),
      svg("path", { class: "upper", d: line(bounded, (one) => one.upper) }),
      ...points.map((one) => svg("circle", { class: one === found ? "dot chosen" : "dot", cx: x.at(one.k), cy: y.at(one.share), r: one === found ? 6 : 3.5 })));
    const key = html("p", { class: "key" }, html("span", { class: "swatch found" }), "found");
    if (bounded.length) key.append(html("span", { class: "swatch bound" }), "proven: nothing lies above");
    byId("path-chart").replaceChildren(drawn, key);
  }

  // ---- scores

  const shapes = [ // circle, triangle, square, diamond, cross; all of about the same area
    (x, y) => `M${x - 3.4} ${y}a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0 -6.8 0Z`,
    (x, y) => `M${x} ${y - 4.6}l4.2 7.4h-8.4Z`,
    (x, y) => `M${x - 3} ${y - 3}h6v6h-6Z`,
    (x, y) => `M${x} ${y - 4.4}l4.4 4.4l-4.4 4.4l-4.4 -4.4Z`,
    (x, y) => `M${x - 1.4} ${y - 4.2}h2.8v2.8h2.8v2.8h-2.8v2.8h-2.8v-2.8h-2.8v-2.8h2.8Z`,
  ];

  function coloring(column) { // groups: { label, color, shape, members }
    const all = page.scores.names.map((_, i) => i);
    if (!column) return { groups: [{ label: "all", color: "c0", shape: 0, members: all }] };
    const values = decoded(column), missing = all.filter((i) => values[i] === null);
    const rest = missing.length ? [{ label: "not known", color: "other", shape: 0, members: missing }] : [];
    if (column.color === "number") {
      const known = values.filter((value) => value !== null);
      const low = known.reduce((a, b) => Math.min(a, b), Infinity), high = known.reduce((a, b) => Math.max(a, b), -Infinity);
      const shade = (value) => Math.min(SHADES - 1, Math.floor((SHADES * (value - low)) / (high - low || 1)));
      const groups = Array.from({ length: SHADES }, (_, s) => ({ color: `r${s}`, shape: 0, members: all.filter((i) => values[i] !== null && shade(values[i]) === s) }));
      return { values, range: known.length ? [low, high] : null, groups: [...groups, ...rest] };
    }
    const members = new Map();
    for (const i of all) {
      if (values[i] === null) continue;
      if (!members.has(values[i])) members.set(values[i], []);
      members.get(values[i]).push(i);
    }
    const sorted = [...members].sort((a, b) => b[1].length - a[1].length);
    const kept = sorted.slice(0, COLORS * SHAPES - 1).sort((a, b) => collator.compare(String(a[0]), String(b[0])));
    const others = sorted.slice(COLORS * SHAPES - 1).flatMap(([, some]) => some);
    if (others.length) rest.unshift({ label: "all others", color: "other", shape: 3, members: others });
    return { values, groups: [...kept.map(([label, some], i) => ({ label: String(label), color: `c${i % COLORS}`, shape: i % SHAPES, members: some })), ...rest] };
  }

  function drawScores() {
    const scores = page.scores, components = scores.components.map(decoded);
    const axis = (choice) => choice === "order"
      ? { values: scores.names.map((_, i) => i), label: "Order of samples" }
      : { values: components[choice], label: `Component ${Number(choice) + 1} (${percent(page.components[choice].share)})` };
    const [across, up] = [axis(byId("across").value), axis(byId("up").value)];
    const column = byId("color").value === "" ? null : scores.columns[byId("color").value];
    const size = sized(byId("scatter"), 0.7);
    const range = (values) => {
      const low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b));
      const pad = 0.04 * (high - low) || 1;
      return [low - pad, high + pad];
    };
    const [x0, x1] = range(across.values), [y0, y1] = range(up.values);
    const x = { at: (v) => size.left + ((v - x0) / (x1 - x0)) * (size.width - size.left - size.right), ticks: ticks(x0, x1, 6), say: short, label: across.label };
    const y = { at: (v) => size.top + ((y1 - v) / (y1 - y0)) * (size.height - size.top - size.bottom), ticks: ticks(y0, y1, 6), say: short, label: up.label };
    const colored = coloring(column);
    const drawn = chart(`Scatter of ${plural(scores.names.length, "sample")}: ${across.label} against ${up.label}${column ? `, colored by ${column.name}` : ""}. The table below has the same numbers.`, size, x, y);
    const layers = colored.groups.map((group) => svg("g", { class: `marks ${group.color}` }, ...group.members.map((i) =>
      svg("path", { "data-sample": i, d: shapes[group.shape](Number(x.at(across.values[i]).toFixed(1)), Number(y.at(up.values[i]).toFixed(1))) }))));
    drawn.append(...layers);
    const describe = (i) => `${scores.names[i]}: ${short(across.values[i])}, ${short(up.values[i])}${column ? `; ${column.name}: ${short(colored.values[i])}` : ""}`;
    drawn.addEventListener("pointerover", (event) => {
      if (event.target.dataset.sample) byId("readout").textContent = describe(event.target.dataset.sample);
    });
    byId("scatter").replaceChildren(drawn);
    byId("legend").replaceChildren(...(column ? legend(column, colored, layers) : []));
    scoreTable(across, up, column, colored);
  }

  function legend(column, colored, layers) {
    const title = html("p", { class: "legend-title" }, html("bdi", {}, column.name));
    if (column.color === "number") {
      const ramp = svg("svg", { class: "ramp", viewBox: `0 0 ${SHADES} 1`, preserveAspectRatio: "none", "aria-hidden": "true" },
        ...Array.from({ length: SHADES }, (_, s) => svg("rect", { class: `r${s}`, x: s, width: 1, height: 1 })));
      return colored.range ? [title, ramp, html("p", { class: "ramp-ends" }, html("span", {}, short(colored.range[0])), html("span", {}, short(colored.range[1])))] : [title];
    }
    const buttons = colored.groups.map((group, number) => {
      const sign = svg("svg", { class: "sign", viewBox: "-6 -6 12 12", "aria-hidden": "true" }, svg("g", { class: `marks ${group.color}` }, svg("path", { d: shapes[group.shape](0, 0) })));
      const button = html("button", { type: "button", "aria-pressed": "false", title: "Show only these" }, sign, html("bdi", {}, group.label), html("span", { class: "count" }, group.members.length.toLocaleString("en")));
      button.addEventListener("click", () => {
        const on = button.getAttribute("aria-pressed") === "false";
        buttons.forEach((one) => one.setAttribute("aria-pressed", String(on && one === button)));
        layers.forEach((layer, other) => layer.classList.toggle("dim", on && other !== number));
      });
      return button;
    });
    return [title, html("div", { class: "legend-items", role: "group", "aria-label": `Show only some of ${column.name}` }, ...buttons)];
  }

  const table = { column: 0, falling: false, open: false };
  function scoreTable(across, up, column, colored) {
    const details = byId("score-table"), home = details.querySelector("div"), names = page.scores.names;
    const sources = [
      { head: "Sample", values: names }, ...(column ? [{ head: column.name, values: colored.values }] : []),
      { head: across.label, values: across.values, number: true }, { head: up.label, values: up.values, number: true },
    ];
    const draw = () => {
      if (!details.open) return;
      table.column = Math.min(table.column, sources.length - 1);
      const values = sources[table.column].values, sign = table.falling ? -1 : 1;
      const rank = (i, j) => values[i] === null || values[j] === null ? (values[i] === null) - (values[j] === null)
        : sign * (typeof values[i] === "number" ? values[i] - values[j] : collator.compare(values[i], values[j]));
      const shown = names.map((_, i) => i).sort(rank).slice(0, table.open ? undefined : FIRST);
      view.body.replaceChildren(...shown.map((i) => html("tr", {}, ...sources.map((one, at) =>
        html(at ? "td" : "th", at ? { class: one.number ? "number" : "" } : { scope: "row" }, html("bdi", {}, short(one.values[i])))))));
      view.mark(table.column, table.falling);
      more.hidden = names.length <= FIRST;
      more.textContent = table.open ? `Show the first ${FIRST}` : `Show all ${names.length.toLocaleString("en")}`;
    };
    const view = sortedTable("Scores of the samples", sources, (number) => {
      table.falling = number === table.column && !table.falling;
      table.column = number;
      draw();
    });
    const more = html("button", { type: "button", class: "more" });
    more.addEventListener("click", () => { table.open = !table.open; draw(); });
    home.replaceChildren(view.table, more);
    details.ontoggle = draw;
    draw();
  }

  // ---- start

  const dark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const nameTheme = () => { byId("theme").textContent = dark() ? "Light theme" : "Dark theme"; };
  byId("theme").addEventListener("click", () => { document.documentElement.dataset.theme = dark() ? "light" : "dark"; nameTheme(); });
  nameTheme();

  const option = (value, label) => html("option", { value }, label);
  byId("sort").append(...columns.map((one, number) => option(number, one.head)));
  byId("sort").addEventListener("change", (event) => { order.column = -1; chooseColumn(Number(event.target.value)); });
  byId("search").addEventListener("input", (event) => { words = event.target.value.trim().toLowerCase(); drawCards(); });
  document.querySelectorAll(".scripted").forEach((one) => { one.hidden = false; });
  drawCards();
  if (page.scores) {
    const choices = () => page.components.map((one, number) => option(number, `Component ${one.number}`));
    byId("across").append(...choices());
    byId("up").append(...choices(), option("order", "Order of samples"));
    byId("up").value = page.components.length > 1 ? "1" : "order";
    byId("color").append(option("", "none"), ...page.scores.columns.flatMap((one, number) => one.color === "none" ? [] : [option(number, one.name)]));
    byId("color").value = String(page.scores.label ?? "");
    ["across", "up", "color"].forEach((id) => byId(id).addEventListener("change", drawScores));
  }
  const drawCharts = () => { if (page.path) drawPath(); if (page.scores) drawScores(); };
  drawCharts();
  let width = innerWidth; // on a phone, scrolling resizes the window in height only
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; drawCharts(); } });
  let closed = [];
  addEventListener("beforeprint", () => { closed = [...document.querySelectorAll("details[data-print]:not([open])")]; closed.forEach((one) => { one.open = true; }); });
  addEventListener("afterprint", () => closed.forEach((one) => { one.open = false; }));
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
})();
