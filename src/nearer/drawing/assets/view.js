// Where each object is on the screen: projection, zoom, and a grid that finds the object at a place.
class View {
  constructor() {
    this.n = data.n;
    this.d = data.d;
    this.placed = [];
    for (let i = 0; i < this.n; i++) if (data.x.every((column) => column[i] !== null)) this.placed.push(i);
    this.axes = [0, Math.min(1, this.d - 1)];
    this.turn = [1, 0, 0, 0, 1, 0, 0, 0, 1];
    this.worldX = new Float64Array(this.n);
    this.worldY = new Float64Array(this.n);
    this.depth = new Float64Array(this.n);
    this.x = new Float64Array(this.n);
    this.y = new Float64Array(this.n);
    this.width = this.height = 1;
    this.scale = this.baseScale = 1;
    this.cx = this.cy = 0;
    this.mean = data.x.map((column) => this.placed.reduce((sum, i) => sum + column[i], 0) / Math.max(this.placed.length, 1));
    this.grid = null;
    this.project();
  }

  // World coordinates (two numbers per object) from the data.
  project() {
    const { worldX, worldY, depth, turn: t } = this;
    if (this.d === 3) {
      const [a, b, c] = data.x, [ma, mb, mc] = this.mean;
      for (const i of this.placed) {
        const u = a[i] - ma, v = b[i] - mb, w = c[i] - mc;
        worldX[i] = t[0] * u + t[1] * v + t[2] * w;
        worldY[i] = t[3] * u + t[4] * v + t[5] * w;
        depth[i] = t[6] * u + t[7] * v + t[8] * w;
      }
    } else {
      const across = data.x[this.axes[0]], up = this.d > 1 ? data.x[this.axes[1]] : null;
      for (const i of this.placed) {
        worldX[i] = across[i];
        worldY[i] = up ? up[i] : 0;
      }
    }
    this.locate();
  }

  // Screen positions from world coordinates.
  locate() {
    const left = this.width / 2 - this.cx * this.scale, top = this.height / 2 + this.cy * this.scale;
    for (const i of this.placed) {
      this.x[i] = left + this.worldX[i] * this.scale;
      this.y[i] = top - this.worldY[i] * this.scale;
    }
    this.grid = null;
  }

  resize(width, height) {
    const zoom = this.scale / this.baseScale;
    this.width = width;
    this.height = height;
    this.fitScale();
    this.scale = this.baseScale * zoom;
    this.locate();
  }

  fitScale() {
    const margin = Math.min(56, this.width / 8, this.height / 6), edge = Math.min(margin, 8);
    const factor = data.cov ? regionFactor() : 0;
    this.middle = [0, 0];
    // Half the width and height that points and regions need: room for names around points, and no region cut off.
    const points = [0, 0], regions = [0, 0];
    if (this.d === 3) {
      // The radius does not change with rotation, so neither does the scale.
      for (const i of this.placed) {
        const radius = Math.hypot(this.worldX[i], this.worldY[i], this.depth[i]);
        points.fill(Math.max(points[0], radius));
        regions.fill(Math.max(regions[0], radius + factor * this.widest(i)));
      }
    } else if (this.placed.length) {
      const places = this.placed.map((i) => {
        const cov = data.cov && this.covariance(i);
        return [this.worldX[i], this.worldY[i], cov ? factor * Math.sqrt(cov[0]) : 0, cov ? factor * Math.sqrt(cov[2]) : 0];
      });
      for (const k of [0, 1]) {
        const low = places.reduce((least, place) => Math.min(least, place[k] - place[2 + k]), Infinity);
        const high = places.reduce((most, place) => Math.max(most, place[k] + place[2 + k]), -Infinity);
        this.middle[k] = (low + high) / 2;
        regions[k] = (high - low) / 2;
        points[k] = places.reduce((most, place) => Math.max(most, Math.abs(place[k] - this.middle[k])), 0);
      }
    }
    const size = [this.width / 2, this.height / 2];
    const scale = Math.min(...size.flatMap((half, k) => [(half - margin) / points[k], (half - edge) / regions[k]]));
    this.baseScale = Number.isFinite(scale) && scale > 0 ? scale : 1;
  }

  reset() {
    this.fitScale();
    [this.cx, this.cy] = this.middle;
    this.scale = this.baseScale;
    this.locate();
  }

  zoomAt(factor, px, py) {
    const next = clamp(this.scale * factor, this.baseScale / 4, this.baseScale * 2000);
    const change = 1 / this.scale - 1 / next;
    this.cx += (px - this.width / 2) * change;
    this.cy -= (py - this.height / 2) * change;
    this.scale = next;
    this.locate();
  }

  pan(dx, dy) {
    this.cx -= dx / this.scale;
    this.cy += dy / this.scale;
    this.locate();
  }

  centre(i) {
    this.cx = this.worldX[i];
    this.cy = this.worldY[i];
    this.locate();
  }

  rotate(dx, dy) {
    const t = this.turn, ca = Math.cos(dx), sa = Math.sin(dx), cb = Math.cos(dy), sb = Math.sin(dy);
    for (let k = 0; k < 3; k++) {
      const x = t[k], y = t[3 + k], z = t[6 + k];
      const x1 = ca * x + sa * z, z1 = -sa * x + ca * z;
      t[k] = x1;
      t[3 + k] = cb * y - sb * z1;
      t[6 + k] = sb * y + cb * z1;
    }
    this.project();
  }

  isVisible(i, margin = 0) {
    return this.x[i] >= -margin && this.y[i] >= -margin && this.x[i] <= this.width + margin && this.y[i] <= this.height + margin;
  }

  cells() {
    if (!this.grid) {
      this.grid = new Map();
      for (const i of this.placed) {
        if (!this.isVisible(i, 40)) continue;
        const key = Math.floor(this.x[i] / 24) + 4096 * Math.floor(this.y[i] / 24);
        const cell = this.grid.get(key);
        if (cell) cell.push(i);
        else this.grid.set(key, [i]);
      }
    }
    return this.grid;
  }

  // Calls visit(i) for objects in the cells that a rectangle touches; stops when it returns true.
  some(x0, y0, x1, y1, visit) {
    const cells = this.cells();
    for (let row = Math.floor(y0 / 24); row <= Math.floor(y1 / 24); row++) {
      for (let column = Math.floor(x0 / 24); column <= Math.floor(x1 / 24); column++) {
        const cell = cells.get(column + 4096 * row);
        if (cell && cell.some(visit)) return true;
      }
    }
    return false;
  }

  nearest(px, py, reach) {
    let best = -1, least = reach * reach;
    this.some(px - reach, py - reach, px + reach, py + reach, (i) => {
      const distance = (this.x[i] - px) ** 2 + (this.y[i] - py) ** 2;
      if (distance < least || (distance === least && this.depth[i] > (this.depth[best] || 0))) {
        least = distance;
        best = i;
      }
      return false;
    });
    return best;
  }

  // An upper bound for the longest half-axis of the covariance of object i in space, whatever the rotation.
  widest(i) {
    if (!data.cov || data.cov[0][i] === null) return 0;
    return Math.sqrt(data.cov[0][i] + data.cov[3][i] + data.cov[5][i]);
  }

  // Covariance of object i as seen on the screen plane: [xx, xy, yy] in world units, or null.
  covariance(i) {
    const entry = (a, b) => {
      const low = Math.min(a, b), high = Math.max(a, b);
      return data.cov[low * this.d - (low * (low - 1)) / 2 + high - low][i];
    };
    if (entry(0, 0) === null) return null;
    if (this.d === 3) {
      const out = [0, 0, 0], t = this.turn;
      for (let a = 0; a < 3; a++) {
        for (let b = 0; b < 3; b++) {
          const value = entry(a, b);
          out[0] += t[a] * t[b] * value;
          out[1] += t[a] * t[3 + b] * value;
          out[2] += t[3 + a] * t[3 + b] * value;
        }
      }
      return out;
    }
    const [p, q] = this.axes;
    return this.d === 1 ? [entry(0, 0), 0, 0] : [entry(p, p), entry(p, q), entry(q, q)];
  }
}
