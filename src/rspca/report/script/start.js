// Puts everything in its place, and listens.
const root = document.documentElement;
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);
const nameTheme = () => { byId("theme").textContent = isDark() ? "Light theme" : "Dark theme"; };
byId("theme").addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; nameTheme(); });
prefersDark.addEventListener("change", nameTheme);
nameTheme();
document.querySelectorAll(".scripted").forEach((one) => { one.hidden = false; });

const option = (value, label) => html("option", { value }, label);
byId("sort").append(...columns.map((one, number) => option(number, one.head)));
byId("sort").addEventListener("change", (event) => { order.column = -1; chooseColumn(Number(event.target.value)); });
byId("search").addEventListener("input", (event) => { words = event.target.value.trim().toLowerCase(); drawCards(); });
drawCards();

if (page.scores) {
  const choices = () => page.components.map((one, number) => option(number, `Component ${one.number}`));
  const colors = page.scores.columns.map((one, number) => (one.color === "none" ? null : option(number, one.name)));
  byId("across").append(...choices());
  byId("up").append(...choices(), option("order", `Order of ${SAMPLES}`));
  byId("up").value = page.components.length > 1 ? "1" : "order";
  byId("color").append(option("", "none"), ...colors.filter((one) => one));
  byId("color").value = String(page.scores.label ?? "");
  ["across", "up", "color", "arrows"].forEach((id) => byId(id).addEventListener("change", drawScores));
}
if (page.circle) {
  ["circle-across", "circle-up"].forEach((id, place) => {
    byId(id).append(...page.components.map((one, number) => option(number, `Component ${one.number}`)));
    byId(id).value = String(place);
    byId(id).addEventListener("change", drawCircle);
  });
}
function drawCharts() {
  if (page.path) drawPath();
  if (page.genome) drawGenome();
  if (page.test) drawTest();
  if (page.circle) drawCircle();
  if (page.scores) drawScores();
}
drawCharts();
addDownloads();
let lastWidth = innerWidth; // scrolling on a phone changes the height of the window, which needs no drawing
addEventListener("resize", () => {
  if (innerWidth !== lastWidth) drawCharts();
  lastWidth = innerWidth;
});

let closedBefore = [];
function printing(on) { // all features are printed, not those of the screen only
  cards.forEach((card) => { card.printing = on; });
  drawCards();
}
addEventListener("beforeprint", () => {
  closedBefore = [...document.querySelectorAll("details[data-print]:not([open])")];
  closedBefore.forEach((one) => { one.open = true; });
  printing(true);
});
addEventListener("afterprint", () => {
  printing(false);
  closedBefore.forEach((one) => { one.open = false; });
});

// Wide tables: which sides have more to scroll to; style.css draws a shadow there, over the cells.
function markScroll(box) {
  const rest = box.scrollWidth - box.clientWidth - Math.abs(box.scrollLeft);
  box.classList.toggle("more-left", Math.abs(box.scrollLeft) > 1);
  box.classList.toggle("more-right", rest > 1);
}
const resized = new ResizeObserver((entries) => entries.forEach((one) => markScroll(one.target)));
document.querySelectorAll(".scroll").forEach((box) => {
  box.addEventListener("scroll", () => markScroll(box), { passive: true });
  resized.observe(box); // also when a table is opened, or filled
});
root.dataset.ready = String(Math.round(performance.now()));
