// Draws the map on its canvas.
const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif';
const SMALL = FONT.replace("12px", "11px");
const MAX_LABELS = 300;
const MAX_REGIONS = 3000;
const THUMBS = [44, 32, 24]; // longer sides of pictures: the largest at which one in three has room

class Painter {
  constructor(canvas, view) {
    this.canvas = canvas;
    this.view = view;
    this.show = { labels: true, regions: Boolean(data.cov), thumbs: Boolean(data.thumbs) };
    this.matches = new Set();
    this.focus = -1;
    this.group = -1;
    this.images = new Map();
    this.widths = new Map();
    this.labels = data.labels.map((text, i) => data.short[i] || text);
    this.few = new Set(data.few);
    this.order = null;
    this.counts = { labels: 0, visible: 0, regions: 0, pictures: 0, pictured: 0 };
  }

  // A fixed order, so that the same names stay while one moves about: lonely objects first, then scattered.
  spreadOrder() {
    const crowd = new Float64Array(this.view.n);
    for (const cell of this.view.cells().values()) for (const i of cell) crowd[i] = Math.min(cell.length, 8);
    const key = (i) => Math.imul(i + 1, 2654435761) >>> 0;
    return this.view.placed.slice().sort((a, b) => crowd[a] - crowd[b] || key(a) - key(b));
  }

  radius() {
    return clamp(7.5 - 1.35 * Math.log10(Math.max(this.view.n, 1)), 2.2, 6) * clamp(Math.sqrt(this.view.scale / this.view.baseScale), 1, 1.6);
  }

  faded(i) {
    return this.group >= 0 && data.groups.codes[i] !== this.group;
  }

  paint() {
    const { view } = this;
    this.theme = colours();
    this.order = this.order || this.spreadOrder();
    const ctx = (this.ctx = sharpen(this.canvas, view.width, view.height));
    ctx.clearRect(0, 0, view.width, view.height);
    const visible = view.placed.filter((i) => view.isVisible(i, 12));
    this.counts = { labels: 0, visible: visible.length, regions: 0, pictures: 0, pictured: 0 };
    this.boxes = new Map();
    if (view.d === 1) this.line(view.height / 2 + view.cy * view.scale);
    if (view.d === 3) this.triad();
    else this.axisNames();
    if (this.show.regions && data.cov) this.regions(visible);
    const pictured = this.show.thumbs && data.thumbs ? this.thumbs(visible) : new Set();
    this.points(visible.filter((i) => !pictured.has(i)));
    this.rings();
    this.names(pictured);
  }

  line(y) {
    this.ctx.strokeStyle = this.theme.line;
    this.ctx.lineWidth = 1.5;
    this.ctx.beginPath();
    this.ctx.moveTo(0, y);
    this.ctx.lineTo(this.view.width, y);
    this.ctx.stroke();
  }

  // What the axes shown hold of the spread of the map; with one axis there is nothing to tell.
  axisNames() {
    const { ctx, view, theme } = this;
    if (view.d < 2) return;
    const [across, up] = view.axes.map((k) => `${view.d > 2 ? "dimension" : "axis"} ${k + 1}: ${Math.round(100 * data.shares[k])} % of the spread`);
    ctx.font = SMALL;
    ctx.fillStyle = theme.muted;
    ctx.textBaseline = "alphabetic";
    ctx.textAlign = "right";
    ctx.fillText(across, view.width - 10, view.height - 8);
    this.claim(view.width - 10 - ctx.measureText(across).width, view.height - 20, ctx.measureText(across).width, 16);
    ctx.save();
    ctx.translate(16, 10);
    ctx.rotate(-Math.PI / 2);
    ctx.fillText(up, 0, 0);
    ctx.restore();
    this.claim(4, 10, 16, ctx.measureText(up).width);
  }

  // The three axes, as a small star in the corner.
  triad() {
    const { ctx, theme, view } = this, x = 44, y = view.height - 44;
    ctx.font = FONT;
    ctx.strokeStyle = theme.muted;
    ctx.fillStyle = theme.muted;
    ctx.lineWidth = 1.2;
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    for (let k = 0; k < 3; k++) {
      const dx = 24 * view.turn[k], dy = -24 * view.turn[3 + k];
      ctx.beginPath();
      ctx.moveTo(x, y);
      ctx.lineTo(x + dx, y + dy);
      ctx.stroke();
      ctx.fillText(String(k + 1), x + 1.4 * dx, y + 1.4 * dy);
    }
  }

  regions(visible) {
    const { ctx, view, theme } = this;
    if (visible.length > MAX_REGIONS) return;
    const factor = regionFactor();
    ctx.lineWidth = 1;
    const light = Math.min(1, 25 / visible.length); // many that overlap would hide the map
    for (const i of visible) {
      const cov = view.covariance(i);
      if (!cov) continue;
      const [xx, xy, yy] = cov, half = (xx + yy) / 2, root = Math.hypot((xx - yy) / 2, xy);
      const long = factor * Math.sqrt(half + root) * view.scale, short = view.d === 1 ? 5 : factor * Math.sqrt(Math.max(half - root, 0)) * view.scale;
      const angle = xy === 0 && xx >= yy ? 0 : Math.atan2(half + root - xx, xy);
      ctx.beginPath();
      ctx.ellipse(view.x[i], view.y[i], long, short, -angle, 0, 2 * Math.PI);
      const colour = data.groups ? groupColour(data.groups.codes[i], theme) : theme.accent;
      ctx.globalAlpha = light * (this.faded(i) ? 0.03 : 0.1);
      ctx.fillStyle = colour;
      ctx.fill();
      ctx.globalAlpha = Math.sqrt(light) * (this.faded(i) ? 0.08 : 0.45);
      ctx.strokeStyle = colour;
      ctx.stroke();
      this.counts.regions++;
    }
    ctx.globalAlpha = 1;
  }

  points(visible) {
    const { ctx, view, theme } = this, base = this.radius();
    const deep = view.d === 3 && visible.length <= 4000;
    if (deep) visible.sort((a, b) => view.depth[a] - view.depth[b]);
    let reach = 0;
    if (deep) for (const i of view.placed) reach = Math.max(reach, Math.abs(view.depth[i]));
    const batches = new Map();
    for (const i of visible) {
      const code = data.groups ? data.groups.codes[i] : null;
      if (deep) {
        const near = reach ? view.depth[i] / reach : 0;
        this.stamp([i], code, base * (1 + 0.3 * near), (0.7 + 0.3 * near) * (this.faded(i) ? 0.15 : 1));
      } else {
        const key = `${code} ${this.few.has(i)}`;
        if (!batches.has(key)) batches.set(key, { code, members: [] });
        batches.get(key).members.push(i);
      }
    }
    for (const { code, members } of batches.values()) this.stamp(members, code, base, this.faded(members[0]) ? 0.15 : 1);
    ctx.globalAlpha = 1;
    ctx.fillStyle = theme.ink;
  }

  stamp(members, code, radius, alpha) {
    const { ctx, view, theme } = this;
    // Too few answers to fix a position: hollow. All members are of one kind.
    const colour = code === null ? theme.accent : groupColour(code, theme), hollow = this.few.has(members[0]);
    ctx.globalAlpha = alpha;
    ctx.fillStyle = hollow ? theme.card : colour;
    ctx.strokeStyle = hollow ? colour : theme.card;
    ctx.lineWidth = hollow ? 1.6 : 0.8;
    ctx.beginPath();
    for (const i of members) addMarker(ctx, code === null ? 0 : groupShape(code), view.x[i], view.y[i], radius);
    ctx.fill();
    if (hollow || view.placed.length <= 4000) ctx.stroke();
  }

  rings() {
    const { ctx, view, theme } = this;
    ctx.lineWidth = 2.5;
    ctx.strokeStyle = theme.second;
    ctx.beginPath();
    for (const i of this.matches) {
      if (!view.isVisible(i, 12)) continue;
      ctx.moveTo(view.x[i] + this.radius() + 4, view.y[i]);
      ctx.arc(view.x[i], view.y[i], this.radius() + 4, 0, 2 * Math.PI);
    }
    ctx.stroke();
    if (this.focus >= 0) {
      ctx.strokeStyle = theme.ink;
      ctx.beginPath();
      ctx.arc(view.x[this.focus], view.y[this.focus], this.radius() + 4, 0, 2 * Math.PI);
      ctx.stroke();
    }
  }

  thumbs(visible) {
    const { ctx, view, theme } = this, free = this.boxes;
    let fitting = [];
    for (this.thumb of THUMBS) {
      this.boxes = new Map(Array.from(free, ([key, boxes]) => [key, boxes.slice()]));
      fitting = this.fitThumbs();
      if (3 * fitting.length >= view.placed.filter((i) => i in data.thumbs).length) break;
    }
    const shown = new Set(visible);
    this.counts.pictures = visible.filter((i) => i in data.thumbs && !this.faded(i)).length;
    const drawn = fitting.filter((i) => shown.has(i));
    for (const i of drawn) {
      const [width, height] = this.thumbSize(i), x = view.x[i] - width / 2, y = view.y[i] - height / 2;
      ctx.drawImage(this.image(i), x, y, width, height);
      ctx.lineWidth = 2;
      ctx.strokeStyle = data.groups ? groupColour(data.groups.codes[i], theme) : theme.line;
      ctx.strokeRect(x, y, width, height);
    }
    this.counts.pictured = drawn.length;
    return new Set(drawn);
  }

  // The objects whose pictures have room, in view or not, so that the size does not change while one moves about.
  fitThumbs() {
    return this.order.filter((i) => {
      if (!(i in data.thumbs) || this.faded(i) || !this.image(i).naturalWidth) return false;
      const [width, height] = this.thumbSize(i), x = this.view.x[i] - width / 2, y = this.view.y[i] - height / 2;
      if (this.blocked(x, y, width, height)) return false;
      this.claim(x, y, width, height);
      return true;
    });
  }

  thumbSize(i) {
    const { naturalWidth: width, naturalHeight: height } = this.image(i), ratio = this.thumb / Math.max(width, height);
    return [width * ratio, height * ratio];
  }

  image(i) {
    if (!this.images.has(i)) {
      const image = new Image();
      image.onload = () => this.changed && this.changed();
      image.src = data.thumbs[i];
      this.images.set(i, image);
    }
    return this.images.get(i);
  }

  names(pictured) {
    const { ctx, view, theme } = this;
    if (!this.show.labels && !this.matches.size && this.focus < 0) return;
    ctx.font = FONT;
    ctx.textAlign = "left";
    ctx.textBaseline = "middle";
    ctx.direction = "ltr";
    ctx.lineJoin = "round";
    ctx.lineWidth = 3;
    ctx.strokeStyle = theme.card;
    ctx.fillStyle = theme.ink;
    const first = [...new Set([...(this.focus >= 0 ? [this.focus] : []), ...Array.from(this.matches).slice(0, MAX_LABELS)])];
    let failures = 0;
    for (const i of first) this.name(i, pictured, true);
    if (!this.show.labels) return;
    for (const i of this.order) {
      if (this.counts.labels >= MAX_LABELS || failures > 1000) break;
      if (!view.isVisible(i) || this.faded(i) || this.matches.has(i) || i === this.focus) continue;
      if (!this.name(i, pictured, false)) failures++;
    }
  }

  // Tries the places around an object for its name; returns whether one was free.
  name(i, pictured, forced) {
    const { ctx, view } = this, text = this.labels[i], height = 15;
    if (!text.trim() || (forced && !view.isVisible(i))) return false;
    if (!this.widths.has(i)) this.widths.set(i, ctx.measureText(text).width);
    const width = this.widths.get(i), x = view.x[i], y = view.y[i];
    const [gap, above] = pictured.has(i) ? this.thumbSize(i).map((side) => side / 2 + 3) : [this.radius() + 4, this.radius() + 4];
    let spots = [[x + gap, y - height / 2], [x - gap - width, y - height / 2], [x - width / 2, y - above - height], [x - width / 2, y + above]];
    if (view.d === 1) {
      spots = [];
      for (let k = 0; k < 6; k++) for (const sign of [-1, 1]) spots.push([x - width / 2, sign < 0 ? y - above - height - 17 * k : y + above + 17 * k]);
    }
    for (const [left, top] of spots) {
      if (left < 2 || top < 2 || left + width > view.width - 2 || top + height > view.height - 2) continue;
      if (this.blocked(left, top, width, height)) continue;
      if (!forced && view.some(left, top, left + width, top + height, (j) => j !== i && this.inside(j, left, top, width, height))) continue;
      this.claim(left, top, width, height);
      if (view.d === 1) this.stem(x, y, top < y ? top + height : top);
      ctx.strokeText(text, left, top + height / 2);
      ctx.fillText(text, left, top + height / 2);
      this.counts.labels++;
      return true;
    }
    return false;
  }

  stem(x, from, to) {
    const { ctx, theme } = this;
    ctx.save();
    ctx.strokeStyle = theme.line;
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.moveTo(x, from + Math.sign(to - from) * (this.radius() + 1));
    ctx.lineTo(x, to);
    ctx.stroke();
    ctx.restore();
    this.claim(x - 1, Math.min(from, to), 2, Math.abs(to - from));
  }

  inside(j, left, top, width, height) {
    const r = this.radius() * 0.8;
    return this.view.x[j] > left - r && this.view.x[j] < left + width + r && this.view.y[j] > top - r && this.view.y[j] < top + height + r;
  }

  keys(left, top, width, height) {
    const keys = [];
    for (let row = Math.floor(top / 32); row <= Math.floor((top + height) / 32); row++) {
      for (let column = Math.floor(left / 32); column <= Math.floor((left + width) / 32); column++) keys.push(column + 4096 * row);
    }
    return keys;
  }

  blocked(left, top, width, height) {
    return this.keys(left, top, width, height).some((key) =>
      (this.boxes.get(key) || []).some(([x, y, w, h]) => x < left + width + 2 && x + w + 2 > left && y < top + height && y + h > top)
    );
  }

  claim(left, top, width, height) {
    for (const key of this.keys(left, top, width, height)) {
      if (!this.boxes.has(key)) this.boxes.set(key, []);
      this.boxes.get(key).push([left, top, width, height]);
    }
  }
}

// Half-axes of a region in standard deviations: it holds the object with a probability of 90 %.
function regionFactor() {
  return data.d === 1 ? 1.6448536269514722 : Math.sqrt(-2 * Math.log(0.1));
}
