// What concerns the rest of the report.
charts.push(...makeCharts());

// A cell that a spreadsheet could take for a formula gets an apostrophe.
function csvCell(text) {
  const safe = /^'*[=+\-@\t\r\n＝＋－＠]/.test(text) ? "'" + text : text;
  return /[",\r\n]/.test(safe) ? '"' + safe.replace(/"/g, '""') + '"' : safe;
}

// A button that makes a CSV file of rows of cells, which are text already fit for it.
function offer(id, name, makeRows) {
  const button = byId(id);
  if (!button) return;
  button.addEventListener("click", () => {
    const link = document.createElement("a");
    const text = makeRows().map((row) => row.join(",") + "\r\n").join("");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
}

offer("download", "embedding.csv", () => [
  ["label", ...data.x.map((_, k) => `x${k + 1}`)],
  ...data.labels.map((label, i) => [csvCell(label), ...data.x.map((column) => (column[i] === null ? "" : column[i]))]),
]);
offer("download-neighbours", "neighbours.csv", () => [
  ["label", "rank", "neighbour", "distance"],
  ...panel.view.placed.flatMap((i) =>
    neighbours(i, 10, panel.view.placed).map(([j, far], rank) => [csvCell(data.labels[i]), rank + 1, csvCell(data.labels[j]), +far.toPrecision(6)])
  ),
]);
offer("download-distances", "distances.csv", () => [
  ["label", ...data.labels.map(csvCell)],
  ...data.labels.map((label, i) => [
    csvCell(label),
    ...data.labels.map((_, j) => (data.x[0][i] === null || data.x[0][j] === null ? "" : +Math.hypot(...data.x.map((column) => column[i] - column[j])).toPrecision(6))),
  ]),
]);

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
