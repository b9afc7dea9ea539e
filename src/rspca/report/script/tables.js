// Tables of the page as files of comma-separated values, made in the browser.
function csvCell(value) {
  if (value === null || value === undefined) return "";
  const text = String(value);
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text; // no formula in a spreadsheet
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
const csv = (rows) => rows.map((row) => `${row.map(csvCell).join(",")}\n`).join("");

function featureRows() {
  const rows = page.components.flatMap((component) => {
    const loadings = decoded(component.loadings);
    return component.places.map((place, rank) =>
      [component.number, names[place], loadings[rank], ...extras.map((one) => one.values[place])]);
  });
  return [["component", FEATURE, "loading", ...extras.map((one) => one.name)], ...rows];
}

function scoreRows() {
  const scores = page.scores.components.map(decoded), properties = page.scores.columns.map(decoded);
  const heads = [SAMPLE, ...page.scores.columns.map((one) => one.name), ...page.components.map((one) => `component${one.number}`)];
  return [heads, ...page.scores.names.map((name, i) => [name, ...[...properties, ...scores].map((values) => values[i])])];
}

function labelRows() {
  const cells = page.labels.rows.flatMap((row, j) => row.map((cell, number) => (cell
    ? [j + 1, page.labels.names[number], cell.strength, cell.p, cell.extreme, cell.above ? "highest" : "lowest"] : null)));
  return [["component", "label", "share_between", "adjusted_p", "category", "its_scores"], ...cells.filter((one) => one)];
}

const records = (rows) => [Object.keys(rows[0]), ...rows.map((row) => Object.values(row))];

// Where each button goes, what the file is called, and the rows in it.
const downloads = [
  ["components", "components.csv", featureRows],
  ["scores", "scores.csv", () => scoreRows()],
  ["labels", "labels.csv", () => labelRows()],
  ["path", "path.csv", () => records(page.path.points)],
  ["comparison", "methods.csv", () => records(page.comparison.rows)],
  ["set-comparison", "sets.csv", () => records(page.set_comparison.rows)],
];

function addDownloads() {
  for (const [section, file, rows] of downloads) {
    const home = byId(section);
    if (!home) continue;
    const button = html("button", { type: "button", class: "download" }, `Download ${file}`);
    button.addEventListener("click", () => {
      const address = URL.createObjectURL(new Blob([csv(rows())], { type: "text/csv" }));
      html("a", { href: address, download: file }).click();
      setTimeout(() => URL.revokeObjectURL(address), 10000);
    });
    home.append(button);
  }
}
