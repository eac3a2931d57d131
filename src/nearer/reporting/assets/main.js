// Start, and what concerns the whole page.
const panel = new MapPanel();
const pairPlot = data.d > 3 ? new PairPlot(panel) : null;
makeCharts();

function repaint() {
  panel.paintLegend();
  panel.paint();
  if (pairPlot) pairPlot.paint();
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

// A cell that a spreadsheet could take for a formula gets an apostrophe.
function csvCell(text) {
  const safe = /^'*[=+\-@\t\r\n＝＋－＠]/.test(text) ? "'" + text : text;
  return /[",\r\n]/.test(safe) ? '"' + safe.replace(/"/g, '""') + '"' : safe;
}

byId("download").addEventListener("click", () => {
  const rows = [["label", ...data.x.map((_, k) => `x${k + 1}`)].join(",")];
  for (let i = 0; i < data.n; i++) rows.push([csvCell(data.labels[i]), ...data.x.map((column) => (column[i] === null ? "" : column[i]))].join(","));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([rows.join("\r\n") + "\r\n"], { type: "text/csv;charset=utf-8" }));
  link.download = "embedding.csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
});

const copy = byId("copy");
if (copy) {
  copy.addEventListener("click", async () => {
    const range = document.createRange();
    range.selectNodeContents(byId("command"));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    let done = false;
    try {
      await navigator.clipboard.writeText(byId("command").textContent);
      done = true;
    } catch {
      done = document.execCommand("copy");
    }
    copy.textContent = done ? "Copied" : "Selected";
    setTimeout(() => (copy.textContent = "Copy"), 2000);
  });
}
document.documentElement.dataset.ready = "yes";
