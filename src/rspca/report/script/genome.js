// Loadings at the places of SNPs, one strip for each component.
function drawGenome() {
  const home = byId("genome-chart"), size = sized(home, 0, 1100);
  const [where, place] = ["chromosome", "position"].map((name) => extras.find((one) => one.name === name).values);
  const used = names.map((_, i) => i).filter((i) => where[i] !== null && place[i] !== null);
  const ends = new Map(); // chromosomes in their own order, each as long as its last SNP on the page
  [...new Set(used.map((i) => String(where[i])))].sort(collator.compare).forEach((one) => ends.set(one, 0));
  used.forEach((i) => ends.set(String(where[i]), Math.max(ends.get(String(where[i])), place[i])));
  const lengths = [...ends.values()], whole = lengths.reduce((sum, one) => sum + one, 0) || 1;
  const starts = new Map();
  let begun = 0;
  for (const [name, length] of ends) { starts.set(name, begun); begun += length; }
  const left = 34, wide = size.width - left - 8, strip = 46;
  const at = names.map((_, i) => (where[i] === null || place[i] === null ? null
    : (left + ((starts.get(String(where[i])) + place[i]) / whole) * wide).toFixed(1)));
  const height = strip * page.components.length + 30;
  const label = `Loadings of ${plural(page.components.length, "component")} along ${plural(ends.size, "chromosome")}`;
  const drawn = svg("svg", { viewBox: `0 0 ${size.width} ${height}`, role: "img", "aria-label": label, class: "chart" });
  let lastLabel = -Infinity;
  [...ends.keys()].forEach((name, number) => {
    const x = left + (starts.get(name) / whole) * wide, width = (ends.get(name) / whole) * wide;
    if (number % 2) drawn.append(svg("rect", { class: "band", x, y: 0, width, height: height - 30 }));
    const half = 4 * name.length; // of the label
    if (x + width / 2 - half - lastLabel > 5) {
      drawn.append(svg("text", { x: x + width / 2, y: height - 12, "text-anchor": "middle" }, name));
      lastLabel = x + width / 2 + half;
    }
  });
  page.components.forEach((component, number) => {
    const middle = strip * number + strip / 2, loadings = decoded(component.loadings);
    const unit = (strip / 2 - 4) / (most(loadings.map(Math.abs)) || 1);
    const line = (sign) => component.places.map((i, rank) => (Math.sign(loadings[rank]) === sign && at[i] !== null
      ? `M${at[i]} ${middle}v${(-unit * loadings[rank]).toFixed(1)}` : "")).join("");
    drawn.append(svg("line", { class: "grid", x1: left, x2: left + wide, y1: middle, y2: middle }),
      svg("path", { class: "rising", d: line(1) }), svg("path", { class: "falling", d: line(-1) }),
      svg("text", { x: left - 8, y: middle + 4, "text-anchor": "end" }, String(component.number)));
  });
  home.replaceChildren(drawn, html("p", { class: "key" }, "Chromosomes across, components from top to bottom; up and "
    + "blue: positive loadings, down and orange: negative ones, each component on its own scale."));
}
