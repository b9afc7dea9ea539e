// Tables of the page as files of comma-separated values, made in the browser.
function csvCell(value) {
  if (value === null || value === undefined) return "";
  const text = String(value);
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text; // no formula in a spreadsheet
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
const csv = (rows) => rows.map((row) => `${row.map(csvCell).join(",")}\n`).join("");

const measured = [[page.measure, "structure"], ["halves", "stable"]].filter(([, values]) =>
  page.components.every((one) => one[values]));

function featureRows() {
  const rows = page.components.flatMap((component) => {
    const loadings = decoded(component.loadings), known = measured.map(([, values]) => decoded(component[values]));
    return component.places.map((place, rank) => [component.number, names[place], loadings[rank],
      ...known.map((values) => values[rank]), ...extras.map((one) => one.values[place])]);
  });
  return [["component", FEATURE, "loading", ...measured.map(([head]) => head), ...extras.map((one) => one.name)], ...rows];
}

function scoreRows() {
  const scores = page.scores.components.map(decoded), properties = page.scores.columns.map(decoded);
  const heads = [SAMPLE, ...page.scores.columns.map((one) => one.name), ...page.components.map((one) => `component${one.number}`)];
  return [heads, ...page.scores.names.map((name, i) => [name, ...[...properties, ...scores].map((values) => values[i])])];
}

function labelRows() {
  const cells = page.labels.rows.flatMap((row, j) => row.map((cell, number) => (cell
    ? [j + 1, page.labels.names[number], cell.strength, cell.p, cell.extreme,
      cell.extreme === null ? (cell.above ? "rise" : "fall") : (cell.above ? "highest" : "lowest")] : null)));
  return [["component", "label", "share_between", "adjusted_p", "category", "its_scores"], ...cells.filter((one) => one)];
}

function overviewRows() {
  const rows = page.components.map((one) => [one.number, one.share, one.cumulative, one.variance, one.count,
    one.places.slice(0, 4).map((place) => names[place]).join(", "), one.separates, one.overlap, one.verdict?.p,
    one.certificate?.badge]);
  return [["component", "share", "together", "variance", FEATURES, "leading", "separates", "stable", "p", "proof"], ...rows];
}

function heatRows() { // every feature of the page, with all digits of the page
  const loadings = page.components.map((one) => {
    const values = decoded(one.loadings);
    return new Map(one.places.map((place, rank) => [place, values[rank]]));
  });
  return [[FEATURE, ...page.components.map((one) => `component${one.number}`)],
    ...names.map((name, place) => [name, ...loadings.map((one) => one.get(place) ?? 0)])];
}

// Lists of the cards, as rows of one table; of documents with the beginning of the text.
const listsOf = (list, heads, row) => [["component", ...heads],
  ...page.components.flatMap((one) => one[list].map((entry) => [one.number, ...row(entry)]))];
const associateRows = () => listsOf("associates", [FEATURE, page.measure], (one) => [one.name, one.structure]);
const runnerUpRows = () => listsOf("runners_up", [FEATURE, "halves"], (one) => [one.name, one.share]);
function topRows() {
  const texts = page.components.some((one) => one.top.some((sample) => sample.text));
  return listsOf("top", [SAMPLE, "score", ...(texts ? ["text"] : [])],
    (one) => [one.name, one.score, ...(texts ? [one.text] : [])]);
}
const some = (list) => page.components.some((one) => one[list].length);

function relationRows() {
  const pairs = page.overlap.flatMap((row, i) => row.map((shared, j) =>
    (i < j ? [i + 1, j + 1, shared, page.correlation.values[i][j]] : null)));
  const alike = page.correlation.of === "scores" ? "correlation_of_scores" : "cosine_of_loadings";
  return [["component", "other", `shared_${FEATURES}`, alike], ...pairs.filter((one) => one)];
}

function circleCsv() {
  const [a, b] = ["circle-across", "circle-up"].map((id) => Number(byId(id).value));
  return [[FEATURE, "role", `component${a + 1}`, `component${b + 1}`], ...circleRows(a, b)];
}

const records = (rows) => [Object.keys(rows[0]), ...rows.map((row) => Object.values(row))];

// Where each button goes, what the file is called, and the rows in it.
const downloads = [
  ["overview", "overview.csv", overviewRows],
  ["components", "components.csv", featureRows],
  ["scores", "scores.csv", () => scoreRows()],
  ["labels", "labels.csv", () => labelRows()],
  ["circle", "correlations.csv", circleCsv],
  ["heat", "loadings.csv", heatRows],
  ["test", "test.csv", () => records(page.test.rows)],
  ["relations", "relations.csv", relationRows],
  ["path", "path.csv", () => records(page.path.points)],
  ["comparison", "methods.csv", () => records(page.comparison.rows)],
  ["set-comparison", "sets.csv", () => records(page.set_comparison.rows)],
];

const ofCards = [
  ["associates", "associates.csv", associateRows],
  ["runners_up", "runners_up.csv", runnerUpRows],
  ["top", "largest_scores.csv", topRows],
];

function downloadButton(file, rows) {
  const button = html("button", { type: "button", class: "download", "aria-label": `Download ${file}` }, `↓ ${file}`);
  button.addEventListener("click", () => {
    const address = URL.createObjectURL(new Blob([csv(rows())], { type: "text/csv" }));
    html("a", { href: address, download: file }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  });
  return button;
}

function addDownloads() {
  for (const [section, file, rows] of downloads) byId(section)?.querySelector("h2").after(downloadButton(file, rows));
  const known = ofCards.filter(([list]) => some(list));
  if (!known.length) return;
  const buttons = known.map(([, file, rows]) => downloadButton(file, rows));
  document.querySelector("#components .cards").before(html("div", { class: "files" }, ...buttons));
}
