// Line charts in SVG: drawn to the width at hand, styled by the page.
function svg(kind, attributes, parent, text) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

function niceTicks(low, high, wanted) {
  const raw = (high - low) / wanted || 1, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999);
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) ticks.push(+(k * step).toPrecision(12));
  return ticks;
}

function logTicks(low, high) {
  const ticks = [];
  const from = Math.floor(Math.log10(low)), to = Math.ceil(Math.log10(high)), every = Math.max(1, Math.ceil((to - from) / 6));
  for (let k = from; k <= to; k += every) ticks.push(10 ** k);
  const inside = ticks.filter((t) => t >= low * 0.999 && t <= high * 1.001);
  return inside.length >= 2 ? inside : [low, Math.sqrt(low * high), high];
}

class Chart {
  // series: {x, y, kind: "line" | "points" | "dashed" | "none" (band only), errors, low, high}
  constructor(id, options) {
    this.host = byId(id);
    this.options = options;
    if (!this.host) return;
    new ResizeObserver(() => this.paint()).observe(this.host);
  }

  paint() {
    if (!this.host) return;
    const { series, title, xTitle, percent, integers, limit, chosen } = this.options;
    const width = this.host.clientWidth;
    if (width < 80 || width === this.drawn) return;
    this.drawn = width;
    this.host.replaceChildren();
    const height = 270, box = { left: 58, right: width - 14, top: 34, bottom: height - 44 };
    const root = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, this.host);
    const rows = series.map((s) => s.x.map((x, k) => ({ x, y: s.y[k], k })).filter((p) => p.x !== null && p.y !== null));
    const all = rows.flat();
    const heading = svg("text", { x: 0, y: 14, class: "title" }, root, title);
    if (!all.length) {
      svg("text", { x: box.left, y: 70 }, root, "nothing was recorded");
      return;
    }
    const xs = all.map((p) => p.x), ys = all.map((p) => p.y);
    series.forEach((s) => {
      if (s.errors) s.errors.forEach((e, k) => e !== null && s.y[k] !== null && ys.push(s.y[k] - e, s.y[k] + e));
      if (s.low) ys.push(...s.low.filter((v) => v !== null), ...s.high.filter((v) => v !== null));
    });
    if (limit !== undefined) ys.push(...limit);
    let x0 = Math.min(...xs), x1 = Math.max(...xs), y0 = Math.min(...ys), y1 = Math.max(...ys);
    const log = !percent && y0 > 0 && y1 / y0 > 30;
    if (log) heading.textContent += ", logarithmic scale";
    const pad = integers ? 0.3 : 0;
    if (x0 === x1) [x0, x1] = [x0 - 0.5, x1 + 0.5];
    x0 -= pad; x1 += pad;
    if (log) [y0, y1] = [y0 / 1.15, y1 * 1.15];
    else {
      const room = (y1 - y0 || Math.abs(y0) || 1) * 0.07;
      y0 -= room; y1 += room;
    }
    const flat = (v) => (log ? Math.log10(v) : v);
    const px = (x) => box.left + ((x - x0) / (x1 - x0)) * (box.right - box.left);
    const py = (y) => box.bottom - ((flat(y) - flat(y0)) / (flat(y1) - flat(y0))) * (box.bottom - box.top);
    const yText = (y) => (percent ? +(100 * y).toFixed(2) + " %" : shortNumber(y));
    for (const tick of log ? logTicks(y0, y1) : niceTicks(y0, y1, 5)) {
      svg("line", { class: "grid", x1: box.left, x2: box.right, y1: py(tick), y2: py(tick) }, root);
      svg("text", { x: box.left - 8, y: py(tick) + 4, "text-anchor": "end" }, root, yText(tick));
    }
    const wanted = Math.max(2, Math.floor(width / 90));
    const whole = Array.from(new Set(xs)).sort((a, b) => a - b);
    const xTicks = integers && whole.length <= 12 ? whole : niceTicks(x0, x1, wanted).filter((t) => !integers || Number.isInteger(t));
    for (const tick of xTicks) svg("text", { x: px(tick), y: box.bottom + 18, "text-anchor": "middle" }, root, shortNumber(tick));
    svg("text", { x: (box.left + box.right) / 2, y: height - 6, "text-anchor": "middle" }, root, xTitle);
    if (limit !== undefined) {
      const [low, high] = limit, tall = py(low) - py(high);
      if (tall > 2) svg("rect", { class: "limit-band", x: box.left, width: box.right - box.left, y: py(high), height: tall }, root);
      else svg("line", { class: "limit", x1: box.left, x2: box.right, y1: py(high), y2: py(high) }, root);
      svg("text", { class: "limit-text", x: box.left + 4, y: tall > 16 ? py(high) + 13 : py(high) - 6 }, root, "noise ceiling");
    }
    const path = (points) => points.map(([x, y], k) => (k ? "L" : "M") + x.toFixed(1) + " " + y.toFixed(1)).join("");
    series.forEach((s, n) => {
      if (s.low) {
        const known = rows[n].filter((p) => s.low[p.k] !== null && s.high[p.k] !== null);
        const edge = [...known.map((p) => [px(p.x), py(s.high[p.k])]), ...known.reverse().map((p) => [px(p.x), py(s.low[p.k])])];
        if (edge.length > 2) svg("path", { class: "band", d: path(edge) + "Z" }, root);
      }
      if (s.kind === "none") return;
      svg("path", { class: "line" + (s.kind === "dashed" ? " dashed" : ""), d: path(rows[n].map((p) => [px(p.x), py(p.y)])) }, root);
      for (const p of rows[n]) {
        if (s.errors && s.errors[p.k] !== null) {
          svg("line", { class: "error", x1: px(p.x), x2: px(p.x), y1: py(p.y - s.errors[p.k]), y2: py(p.y + s.errors[p.k]) }, root);
        }
        if (s.kind !== "dashed" && rows[n].length <= 30) svg("circle", { class: "point", cx: px(p.x), cy: py(p.y), r: 3.5 }, root);
        if (chosen !== undefined && chosen === p.x) svg("circle", { class: "chosen", cx: px(p.x), cy: py(p.y), r: 9 }, root);
      }
    });
    this.listen(root, all, px, py, box, yText);
  }

  // The value under the pointer, in the top right corner.
  listen(root, all, px, py, box, yText) {
    const reading = svg("text", { class: "reading", x: box.right, y: 14, "text-anchor": "end" }, root, "");
    const dot = svg("circle", { class: "chosen", r: 0, cx: 0, cy: 0 }, root);
    root.addEventListener("pointermove", (event) => {
      const at = event.clientX - root.getBoundingClientRect().left;
      const p = all.reduce((best, q) => (Math.abs(px(q.x) - at) < Math.abs(px(best.x) - at) ? q : best));
      reading.textContent = `${yText(p.y)} at ${shortNumber(p.x)}`;
      dot.setAttribute("cx", px(p.x));
      dot.setAttribute("cy", py(p.y));
      dot.setAttribute("r", 5);
    });
    root.addEventListener("pointerleave", () => {
      reading.textContent = "";
      dot.setAttribute("r", 0);
    });
  }
}

function makeCharts() {
  const { history, dimensions, learning_curve: learning, ceiling } = data, made = [];
  if (history) {
    const epochs = history.epoch || history.objective.map((_, k) => k);
    const work = history.n_gradients && history.n_gradients.some((v) => v) ? ["n_gradients", "gradients of single comparisons"] : null;
    made.push(new Chart("chart-objective", { title: "Objective", xTitle: work ? work[1] : "epoch", series: [{ x: work ? history[work[0]] : epochs, y: history.objective, kind: "line" }] }));
    if (history.step_size) made.push(new Chart("chart-steps", { title: "Step size", xTitle: "epoch", integers: true, series: [{ x: epochs, y: history.step_size, kind: "line" }] }));
  }
  if (dimensions) {
    made.push(new Chart("chart-dimensions", {
      title: "Held-out answers satisfied", xTitle: "dimensions", percent: true, integers: true, limit: ceiling, chosen: data.chosen === null ? undefined : data.chosen,
      series: [{ x: dimensions.n_components, y: dimensions.accuracy, errors: dimensions.standard_error, kind: "points" }],
    }));
  }
  if (learning) {
    const order = learning.n_comparisons.map((_, k) => k).sort((a, b) => learning.n_comparisons[a] - learning.n_comparisons[b]);
    const pick = (name) => learning[name] && order.map((k) => learning[name][k]);
    const x = pick("n_comparisons"), y = pick("accuracy"), guessed = pick("extrapolated") || x.map(() => 0);
    const last = guessed.lastIndexOf(0);
    const part = (keep) => y.map((v, k) => (keep(k) ? v : null));
    const series = [{ x, y: part((k) => !guessed[k]), kind: "points" }, { x, y: part((k) => guessed[k] || k === last), kind: "dashed" }];
    if (learning.low && learning.high) series.unshift({ x, y, kind: "none", low: pick("low"), high: pick("high") });
    made.push(new Chart("chart-learning", { title: "Held-out answers satisfied", xTitle: "comparisons", percent: true, limit: ceiling, series }));
  }
  return made;
}
