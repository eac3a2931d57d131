// The map as one uses it: pointer, keys, search, legend.
class MapPanel {
  constructor() {
    this.canvas = byId("canvas");
    this.stage = byId("stage");
    this.tip = byId("tip");
    this.stage.classList.toggle("strip", data.d === 1);
    this.view = new View();
    this.painter = new Painter(this.canvas, this.view);
    this.painter.changed = () => this.refresh();
    this.pointers = new Map();
    this.found = [];
    this.foundAt = -1;
    if (data.d === 3) this.view.rotate(0.5, 0.35);
    this.measure();
    new ResizeObserver(() => this.measure()).observe(this.stage);
    this.listenToPointer();
    this.listenToKeys();
    this.listenToTools();
    this.makeLegend();
    this.refresh();
    // For tests and tools: where an object is, in CSS pixels of the canvas.
    this.canvas.nearer = {
      position: (i) => [this.view.x[i], this.view.y[i]],
      state: () => ({ scale: this.view.scale, baseScale: this.view.baseScale, axes: this.view.axes, turn: this.view.turn.slice(), hover: this.painter.focus, ...this.painter.counts }),
    };
  }

  measure() {
    const { clientWidth: width, clientHeight: height } = this.stage;
    // A page that is not laid out yet, or hidden, has no size; the observer calls again when it has one.
    this.ready = width > 20 && height > 20;
    if (!this.ready) return;
    const first = this.view.width === 1;
    this.view.resize(width, height);
    if (first) this.view.reset();
    this.refresh();
  }

  refresh() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.paint();
    });
  }

  paint() {
    if (!this.ready) return;
    this.painter.paint();
    const { labels, visible, pictures, pictured } = this.painter.counts;
    const parts = [], some = [];
    if (this.painter.show.labels && labels < visible) some.push(`names shown for ${count(labels)} of ${count(visible)} objects`);
    if (pictured < pictures) some.push(`pictures for ${count(pictured)} of ${count(pictures)} that have one`);
    if (some.length) {
      const text = some.join(", "), more = document.documentElement.classList.contains("print") ? "." : " in view: zoom in or point at an object for more.";
      parts.push(text[0].toUpperCase() + text.slice(1) + more);
    }
    if (this.painter.show.regions && data.cov) {
      parts.push(visible > MAX_REGIONS ? "Zoom in to see the regions of uncertainty." : "Regions of uncertainty: 90 %, by resampling the answers.");
    }
    byId("status").textContent = parts.join(" ");
    if (this.painter.focus >= 0) this.placeTip();
  }

  // Pointing at objects, moving, turning, pinching.
  listenToPointer() {
    const { canvas, view } = this;
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, place(event));
    });
    canvas.addEventListener("pointermove", (event) => {
      const now = place(event), before = this.pointers.get(event.pointerId);
      if (!before) {
        this.point(view.nearest(now[0], now[1], 16));
        return;
      }
      this.pointers.set(event.pointerId, now);
      if (this.pointers.size === 2) {
        const [other] = Array.from(this.pointers).filter(([id]) => id !== event.pointerId).map(([, at]) => at);
        const spread = (at) => Math.hypot(at[0] - other[0], at[1] - other[1]) || 1;
        view.zoomAt(spread(now) / spread(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
      } else if (this.pointers.size === 1) {
        this.drag(now[0] - before[0], now[1] - before[1], event.shiftKey);
      }
      this.refresh();
    });
    const release = (event) => {
      if (event.type === "pointerup" && event.pointerType === "touch") this.point(view.nearest(...place(event), 24));
      this.pointers.delete(event.pointerId);
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("pointerleave", () => this.pointers.size || this.point(-1));
    canvas.addEventListener("dblclick", (event) => this.zoom(2, ...place(event)));
    canvas.addEventListener("wheel", (event) => {
      // In a notebook, the wheel scrolls past a map that nobody has clicked.
      if (document.body.className === "framed" && document.activeElement !== canvas) return;
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 20 : 1;
      this.zoom(Math.exp(clamp(-event.deltaY * lines, -240, 240) * 0.0022), ...place(event));
    }, { passive: false });
  }

  drag(dx, dy, shift) {
    if (data.d === 3 && !shift && !byId("drag-moves").checked) this.view.rotate(dx * 0.01, dy * 0.01);
    else this.view.pan(dx, data.d === 1 ? 0 : dy);
  }

  zoom(factor, x = this.view.width / 2, y = this.view.height / 2) {
    this.view.zoomAt(factor, x, data.d === 1 ? this.view.height / 2 : y);
    this.refresh();
  }

  listenToKeys() {
    const steps = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] };
    this.canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const key = event.key;
      if (key in steps) this.drag(...steps[key].map((v) => (data.d === 3 && !event.shiftKey ? -v / 3 : v)), event.shiftKey);
      else if (key === "+" || key === "=") this.zoom(1.4);
      else if (key === "-" || key === "_") this.zoom(1 / 1.4);
      else if (key === "0" || key === "Home") this.view.reset();
      else if (key === "n" || key === "N") this.step(1);
      else if (key === "p" || key === "P") this.step(-1);
      else if (key === "Escape") this.point(-1);
      else return;
      event.preventDefault();
      this.refresh();
    });
  }

  step(by) {
    const { placed } = this.view;
    if (!placed.length) return;
    const at = placed.indexOf(this.painter.focus);
    this.go(placed[at < 0 ? (by > 0 ? 0 : placed.length - 1) : (at + by + placed.length) % placed.length]);
  }

  go(i) {
    if (!this.view.isVisible(i, -20)) this.view.centre(i);
    this.point(i);
    byId("announce").textContent = this.describe(i).filter(Boolean).join(", ");
    this.refresh();
  }

  describe(i) {
    const group = data.groups && data.groups.codes[i] >= 0 ? data.groups.names[data.groups.codes[i]] : "";
    const near = neighbours(i, 5, this.view.placed).map(([j]) => data.short[j] || data.labels[j]);
    const answers = data.answers ? `in ${count(data.answers[i])} ${data.answers[i] === 1 ? "answer" : "answers"}${this.painter.few.has(i) ? ": too few to fix a position" : ""}` : "";
    return [data.labels[i], group, near.length ? `nearest: ${near.join(", ")}` : "", answers];
  }

  point(i) {
    if (i === this.painter.focus) return;
    this.painter.focus = i;
    this.tip.hidden = i < 0;
    this.canvas.dataset.hover = i < 0 ? "" : String(i);
    if (i >= 0) {
      const [label, ...more] = this.describe(i);
      this.tip.replaceChildren();
      if (data.thumbs && i in data.thumbs) {
        const image = document.createElement("img");
        image.src = data.thumbs[i];
        image.alt = "";
        this.tip.append(image);
      }
      for (const [kind, text] of [["strong", label], ...more.map((line) => ["span", line])]) {
        if (!text) continue;
        const line = document.createElement(kind);
        line.dir = "auto";
        line.textContent = text;
        this.tip.append(line);
      }
    }
    this.refresh();
  }

  placeTip() {
    const { view, tip } = this, i = this.painter.focus;
    const width = tip.offsetWidth, height = tip.offsetHeight;
    let x = view.x[i] + 16, y = view.y[i] + 16;
    if (x + width > view.width - 6) x = view.x[i] - width - 16;
    if (y + height > view.height - 6) y = view.y[i] - height - 16;
    tip.style.transform = `translate(${clamp(x, 6, Math.max(6, view.width - width - 6))}px, ${clamp(y, 6, Math.max(6, view.height - height - 6))}px)`;
  }

  listenToTools() {
    byId("zoom-in").addEventListener("click", () => this.zoom(1.5));
    byId("zoom-out").addEventListener("click", () => this.zoom(1 / 1.5));
    byId("zoom-reset").addEventListener("click", () => {
      this.view.reset();
      this.refresh();
    });
    byId("with-regions").hidden = !data.cov;
    byId("with-thumbs").hidden = !(data.thumbs && Object.keys(data.thumbs).length);
    byId("with-move").hidden = data.d !== 3;
    for (const name of ["labels", "regions", "thumbs"]) {
      const box = byId("show-" + name);
      box.checked = true;
      box.addEventListener("change", () => {
        this.painter.show[name] = box.checked;
        this.refresh();
      });
    }
    const search = byId("search");
    search.addEventListener("input", () => this.find(search.value));
    search.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && this.found.length) {
        event.preventDefault();
        this.foundAt = (this.foundAt + (event.shiftKey ? -1 : 1) + this.found.length) % this.found.length;
        this.go(this.found[this.foundAt]);
      }
    });
    if (data.d > 3) this.makeAxes();
  }

  find(text) {
    const wanted = text.trim().toLowerCase();
    this.found = wanted ? this.view.placed.filter((i) => data.labels[i].toLowerCase().includes(wanted)) : [];
    this.found.sort((a, b) => data.labels[a].length - data.labels[b].length || a - b);
    this.foundAt = -1;
    this.painter.matches = new Set(this.found);
    byId("announce").textContent = !wanted ? "" : this.found.length === 1 ? "1 object found" : `${count(this.found.length)} objects found`;
    byId("search").setAttribute("aria-invalid", wanted && !this.found.length ? "true" : "false");
    if (this.found.length === 1) this.go(this.found[0]);
    else this.point(-1);
    this.refresh();
  }

  makeAxes() {
    byId("axes").hidden = false;
    ["axis-x", "axis-y"].forEach((id, which) => {
      const select = byId(id);
      for (let k = 0; k < data.d; k++) select.add(new Option(`dimension ${k + 1} (${Math.round(100 * data.shares[k])} %)`, k));
      select.value = this.view.axes[which];
      select.addEventListener("change", () => {
        const axes = this.view.axes.slice();
        const other = axes[which];
        axes[which] = Number(select.value);
        if (axes[0] === axes[1]) axes[1 - which] = other;
        this.choose(axes);
      });
    });
  }

  choose(axes) {
    this.view.axes = axes;
    byId("axis-x").value = axes[0];
    byId("axis-y").value = axes[1];
    this.view.project();
    this.view.reset();
    this.refresh();
    if (this.onAxes) this.onAxes(axes);
  }

  makeLegend() {
    if (!data.groups) return;
    const legend = byId("legend");
    data.groups.names.forEach((name, code) => {
      const button = document.createElement("button"), swatch = document.createElement("canvas"), text = document.createElement("span");
      button.type = "button";
      button.setAttribute("aria-pressed", "false");
      text.dir = "auto";
      text.textContent = name;
      button.append(swatch, text);
      button.addEventListener("click", () => {
        this.painter.group = this.painter.group === code ? -1 : code;
        legend.querySelectorAll("button").forEach((other, k) => other.setAttribute("aria-pressed", String(k === this.painter.group)));
        this.refresh();
      });
      legend.append(button);
    });
    if (data.groups.codes.some((code) => code < 0)) {
      const rest = document.createElement("span");
      rest.className = "small";
      rest.textContent = "grey: no group";
      legend.append(rest);
    }
    this.paintLegend();
  }

  paintLegend() {
    const theme = colours();
    byId("legend").querySelectorAll("canvas").forEach((swatch, code) => {
      const ctx = sharpen(swatch, 12, 12);
      ctx.fillStyle = groupColour(code, theme);
      ctx.beginPath();
      addMarker(ctx, groupShape(code), 6, 6, 4.6);
      ctx.fill();
    });
  }
}
