// Start of the map, and what it needs of the page around it.
const panel = new MapPanel();
const pairPlot = data.d > 3 ? new PairPlot(panel) : null;
const charts = []; // of the report

function repaint() {
  panel.paintLegend();
  panel.measure();
  panel.paint();
  if (pairPlot) pairPlot.paint();
  for (const chart of charts) chart.paint();
}
dark.addEventListener("change", repaint);
window.addEventListener("beforeprint", () => {
  document.documentElement.classList.add("print");
  repaint();
});
window.addEventListener("afterprint", () => {
  document.documentElement.classList.remove("print");
  repaint();
});
