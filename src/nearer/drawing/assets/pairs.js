// Every pair of dimensions at a glance; a click shows that pair on the map.
const MAX_PAIRED = 6;

class PairPlot {
  constructor(panel) {
    this.panel = panel;
    this.canvas = byId("pairs-canvas");
    this.shown = Math.min(data.d, MAX_PAIRED);
    byId("pairs").hidden = false;
    const more = data.d > MAX_PAIRED ? ` The first ${MAX_PAIRED} of ${data.d} dimensions are shown; the others can be chosen above.` : "";
    byId("pairs-text").textContent = "Each small map shows two dimensions. Click one to see it large." + more;
    this.canvas.addEventListener("click", (event) => {
      const box = this.canvas.getBoundingClientRect();
      const column = Math.floor((event.clientX - box.left) / this.cell), row = Math.floor((event.clientY - box.top) / this.cell);
      if (column <= row && row < this.shown - 1 && column >= 0) panel.choose([column, row + 1]);
    });
    panel.onAxes = () => this.paint();
    new ResizeObserver(() => this.paint()).observe(byId("pairs"));
  }

  paint() {
    const cells = this.shown - 1, width = Math.min(byId("pairs").clientWidth, 720);
    if (width < 20) return;
    this.cell = width / cells;
    this.canvas.style.height = width + "px";
    const ctx = sharpen(this.canvas, width, width), theme = colours(), { placed } = this.panel.view;
    const range = data.x.map((column) => placed.reduce((ends, i) => [Math.min(ends[0], column[i]), Math.max(ends[1], column[i])], [Infinity, -Infinity]));
    const dot = clamp(3.2 - 0.6 * Math.log10(Math.max(placed.length, 1)), 1, 3), inner = this.cell - 12;
    ctx.font = '11px system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif';
    for (let row = 0; row < cells; row++) {
      for (let column = 0; column <= row; column++) {
        const a = column, b = row + 1, left = column * this.cell + 6, top = row * this.cell + 6;
        const chosen = this.panel.view.axes[0] === a && this.panel.view.axes[1] === b;
        ctx.fillStyle = theme.card;
        ctx.fillRect(left, top, inner, inner);
        const scale = (inner - 16) / Math.max(range[a][1] - range[a][0], range[b][1] - range[b][0], 1e-300);
        const midA = (range[a][0] + range[a][1]) / 2, midB = (range[b][0] + range[b][1]) / 2;
        for (const i of placed) {
          ctx.fillStyle = data.groups ? groupColour(data.groups.codes[i], theme) : theme.accent;
          ctx.fillRect(left + inner / 2 + (data.x[a][i] - midA) * scale - dot / 2, top + inner / 2 - (data.x[b][i] - midB) * scale - dot / 2, dot, dot);
        }
        ctx.lineWidth = chosen ? 2.5 : 1;
        ctx.strokeStyle = chosen ? theme.second : theme.line;
        ctx.strokeRect(left, top, inner, inner);
        ctx.fillStyle = theme.muted;
        ctx.fillText(`${b + 1} by ${a + 1}`, left + 5, top + 14);
      }
    }
  }
}
