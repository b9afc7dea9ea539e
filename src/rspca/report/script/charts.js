// Axes, and the chart of the path over k.
function ticks(low, high, wanted) {
  const rough = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((one) => one * power >= rough);
  const found = [];
  for (let at = Math.ceil(low / step); at * step <= high + 1e-9 * step; at++) {
    found.push(Number((at * step).toPrecision(12)));
  }
  return found;
}

// Shares at the ticks of an axis, with as many decimals as tell two of them apart.
function sharesOf(marks) {
  const step = marks.length > 1 ? 100 * (marks[1] - marks[0]) : 1;
  const decimals = Math.min(8, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  return (share) => `${(100 * share).toFixed(decimals)}\u00a0%`;
}

function sized(home, ratio, widest = 760) { // in pixels, so that text has the same size on a phone and on a desk
  const width = Math.max(300, Math.min(widest, Math.round(home.clientWidth - 24)));
  return { left: 62, right: 14, top: 34, bottom: 50, width, height: 84 + Math.round(ratio * width) };
}

// The frame of a chart; x and y are { at: value to pixel, ticks, say: value to text, label }.
function chart(label, size, x, y) {
  const [right, bottom] = [size.width - size.right, size.height - size.bottom];
  const across = (value) => svg("g", {},
    svg("line", { class: "grid", x1: size.left, x2: right, y1: y.at(value), y2: y.at(value) }),
    svg("text", { x: size.left - 8, y: y.at(value) + 4, "text-anchor": "end" }, y.say(value)));
  const up = (value) => svg("g", {},
    svg("line", { class: "grid", x1: x.at(value), x2: x.at(value), y1: size.top, y2: bottom }),
    svg("text", { x: x.at(value), y: bottom + 18, "text-anchor": "middle" }, x.say(value)));
  const viewBox = `0 0 ${size.width} ${size.height}`;
  return svg("svg", { viewBox, role: "img", "aria-label": label, class: "chart" },
    ...y.ticks.map(across), ...x.ticks.map(up),
    svg("text", { class: "axis", x: (size.left + right) / 2, y: size.height - 6, "text-anchor": "middle" }, x.label),
    svg("text", { class: "axis", x: 4, y: 18 }, y.label));
}

// Where a name may go, best first: [side: 1 right of the mark, -1 left, 0 above or below it; pixels down].
const beside = (to) => [[to, 0], [to, -10], [to, 10], [-to, 0], [-to, -10], [-to, 10], [0, -17], [0, 17]];
const farther = (to) => [24, 38, 52, 66].flatMap((far) => [[to, -far], [to, far], [-to, -far], [-to, far]]);
const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
const around = ([x, y], reach) => ({ left: x - reach, right: x + reach, top: y - reach, bottom: y + reach });
const along = ([x1, y1], [x2, y2]) => { // small boxes on a line
  const steps = Math.ceil(Math.hypot(x2 - x1, y2 - y1) / 6);
  return Array.from({ length: steps }, (_, i) => around([x1 + ((x2 - x1) * i) / steps, y1 + ((y2 - y1) * i) / steps], 2));
};
let ruler = null;
function widthOf(text) { // in the font of names
  ruler ??= document.createElement("canvas").getContext("2d");
  ruler.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width + 2;
}

// Names of marks, { name, at: [x, y], to: 1 or -1 }, inside the axes and as far as they cover neither a mark nor each
// other. Lines, each from one point to another, are covered where nothing near the mark is free. Where there are other
// points too, as in a biplot, names rather go farther away: first from points and lines, then from lines.
function namesOf(marked, size, lines, points = [], reach = 6) {
  const longest = size.width < 480 ? 18 : 28, group = svg("g", { class: "names" });
  const area = { left: size.left + 2, right: size.width - 6, top: size.top + 2, bottom: size.height - size.bottom - 2 };
  const taken = marked.map((one) => around(one.at, reach)), onLines = lines.flatMap(([from, to]) => along(from, to));
  const behind = points.map((point) => around(point, 3));
  const free = (boxes) => (box) => box.left >= area.left && box.right <= area.right && box.top >= area.top
    && box.bottom <= area.bottom && boxes.every((other) => !overlap(box, other));
  for (const { name, at: [x, y], to } of marked) {
    const text = name.length > longest ? `${name.slice(0, longest - 1)}…` : name, wide = widthOf(text);
    const box = ([side, down]) => {
      const wished = side > 0 ? x + reach + 1 : side < 0 ? x - reach - 1 - wide : x - wide / 2;
      const left = Math.abs(down) > 10 ? Math.max(area.left, Math.min(wished, area.right - wide)) : wished;
      return { left, right: left + wide, top: y + down - 7, bottom: y + down + 7, far: Math.abs(down) > 17 };
    };
    const near = beside(to).map(box), far = farther(to).map(box);
    const tries = points.length
      ? [[...taken, ...onLines, ...behind], [...taken, ...onLines], taken].flatMap((boxes) => [[near, boxes], [far, boxes]])
      : [[near, [...taken, ...onLines]], [near, taken], [far, taken]];
    const found = tries.reduce((first, [places, boxes]) => first ?? places.find(free(boxes)), undefined);
    if (!found) continue;
    taken.push(found);
    const middle = (found.top + found.bottom) / 2, end = Math.max(found.left, Math.min(x, found.right));
    if (found.far) group.append(svg("line", { x1: x, y1: y, x2: end, y2: middle < y ? found.bottom - 1 : found.top + 1 }));
    group.append(svg("text", { x: found.left + 1, y: middle + 4 }, text));
  }
  return group;
}

function drawPath() {
  const home = byId("path-chart"), size = sized(home, 0.5);
  const { points, suggested } = page.path;
  const ks = points.map((one) => one.k), first = points[0], last = points[points.length - 1];
  const low = Math.log(first.k), span = Math.log(last.k) - low || 1;
  const highest = most(points.map((one) => one.upper ?? one.share)), lowest = least(points.map((one) => one.share));
  const floor = lowest < 0.5 * highest ? 0 : lowest - 0.1 * (highest - lowest || highest);
  const marks = ks.filter((k) => k === first.k || k === last.k || k === suggested);
  const hasRoom = (k) => marks.every((one) => Math.abs(Math.log(k / one)) * size.width > 50 * span);
  ks.forEach((k) => { if (hasRoom(k)) marks.push(k); });

  const [wide, tall] = [size.width - size.left - size.right, size.height - size.top - size.bottom];
  const x = {
    at: (k) => size.left + ((Math.log(k) - low) / span) * wide,
    ticks: marks, say: String, label: `${capitalized(FEATURES)} k, on a log scale`,
  };
  const shares = ticks(floor, highest, 5);
  const y = {
    at: (share) => size.top + ((highest - share) / (highest - floor || 1)) * tall,
    ticks: shares, say: sharesOf(shares), label: "Share of the first principal component",
  };
  const label = `Share of the variance of the first principal component against k, from ${percent(first.share)} at `
    + `k = ${first.k} to ${percent(last.share)} at k = ${last.k}; suggested k = ${suggested}`;
  const line = (some, value) =>
    some.map((one, i) => `${i ? "L" : "M"}${x.at(one.k).toFixed(1)} ${y.at(value(one)).toFixed(1)}`).join("");
  const bounded = points.filter((one) => one.upper !== null), upper = line(bounded, (one) => one.upper);
  const back = line([...bounded].reverse(), (one) => one.share).replace("M", "L");
  const dot = (one) => one.k === suggested ? { class: "dot chosen", r: 6 } : { class: "dot", r: 3.5 };
  const drawn = chart(label, size, x, y);
  drawn.append(
    svg("line", { class: "suggested", x1: x.at(suggested), x2: x.at(suggested), y1: size.top, y2: size.top + tall }),
    svg("path", { class: "between", d: bounded.length ? `${upper}${back}Z` : "" }),
    svg("path", { class: "line", d: line(points, (one) => one.share) }),
    svg("path", { class: "upper", d: upper }),
    ...points.map((one) => svg("circle", { ...dot(one), cx: x.at(one.k), cy: y.at(one.share) })));
  const key = html("p", { class: "key" }, html("span", { class: "swatch" }), "found");
  if (bounded.length) key.append(html("span", { class: "swatch bound" }), "proven: nothing lies above");
  home.replaceChildren(drawn, key);
  if (points.every((one) => one.held_out !== null)) home.append(...heldOut(points, suggested, size, x));
}

function heldOut(points, suggested, size, x) { // the mean over folds, with one standard error on both sides
  const low = Math.min(0, least(points.map((one) => one.held_out - one.held_out_se)));
  const high = most(points.map((one) => one.held_out + one.held_out_se)), bottom = size.height - size.bottom;
  const shares = ticks(low, high, 5);
  const y = {
    at: (share) => size.top + ((high - share) / (high - low || 1)) * (bottom - size.top),
    ticks: shares, say: sharesOf(shares), label: "Share of the held-out variance",
  };
  const drawn = chart(`Held-out variance against k; suggested k = ${suggested}`, size, x, y);
  const line = points.map((one, i) => `${i ? "L" : "M"}${x.at(one.k).toFixed(1)} ${y.at(one.held_out).toFixed(1)}`);
  const dot = (one) => one.k === suggested ? { class: "dot chosen", r: 6 } : { class: "dot", r: 3.5 };
  drawn.append(
    svg("line", { class: "suggested", x1: x.at(suggested), x2: x.at(suggested), y1: size.top, y2: bottom }),
    svg("path", { class: "line", d: line.join("") }),
    ...points.map((one) => svg("line", {
      class: "error", x1: x.at(one.k), x2: x.at(one.k),
      y1: y.at(one.held_out - one.held_out_se), y2: y.at(one.held_out + one.held_out_se),
    })),
    ...points.map((one) => svg("circle", { ...dot(one), cx: x.at(one.k), cy: y.at(one.held_out) })));
  return [drawn, html("p", { class: "key" }, html("span", { class: "swatch" }), "held out, with one standard error")];
}

function drawTest() { // variance of each component, and the band of permuted data
  const home = byId("test-chart"), size = sized(home, 0.4), { rows } = page.test;
  const [wide, bottom] = [size.width - size.left - size.right, size.height - size.bottom];
  const high = most(rows.map((one) => Math.max(one.variance, one.high)));
  const x = {
    at: (number) => size.left + ((number - 0.5) / rows.length) * wide,
    ticks: rows.map((one) => one.number), say: String, label: "Component",
  };
  const y = {
    at: (value) => size.top + ((high - value) / (high || 1)) * (bottom - size.top),
    ticks: ticks(0, high, 5), say: (value) => short(value), label: `Variance at k ${FEATURES}`,
  };
  const point = (value) => (one, i) => `${i ? "L" : "M"}${x.at(one.number).toFixed(1)} ${y.at(value(one)).toFixed(1)}`;
  const upper = rows.map(point((one) => one.high)).join("");
  const back = [...rows].reverse().map(point((one) => one.low)).join("").replace("M", "L");
  const drawn = chart(`Variance of each component, and of permuted data; ${page.test.suggested} are more than chance`,
    size, x, y);
  const dot = (one) => one.number <= page.test.suggested ? { class: "dot chosen", r: 6 } : { class: "dot", r: 3.5 };
  drawn.append(
    svg("path", { class: "between", d: `${upper}${back}Z` }),
    svg("path", { class: "upper", d: upper }),
    svg("path", { class: "line", d: rows.map(point((one) => one.variance)).join("") }),
    ...rows.map((one) => svg("circle", { ...dot(one), cx: x.at(one.number), cy: y.at(one.variance) })));
  home.replaceChildren(drawn, html("p", { class: "key" }, html("span", { class: "swatch" }), "data",
    html("span", { class: "swatch bound" }), "permuted columns, 95 %"));
}
