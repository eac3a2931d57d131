// Shared by the scripts that follow: the data, colours and small helpers.
const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const dark = matchMedia("(prefers-color-scheme: dark)");

function colours() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  return { ink: read("--ink"), muted: read("--muted"), line: read("--line"), card: read("--card"), accent: read("--accent"), second: read("--second") };
}

// Black, one of the palette's colours, is invisible on a dark page.
function groupColour(code, theme) {
  if (code < 0 || code === data.groups.other) return theme.muted;
  const colour = data.palette[code % data.palette.length];
  return colour === "#000000" ? theme.ink : colour;
}

function groupShape(code) {
  return code < 0 ? 0 : Math.floor(code / data.palette.length);
}

const CORNERS = {
  2: [[0, -1.2], [1.1, 0.8], [-1.1, 0.8]],
  3: [[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]],
  4: [[0, 1.2], [1.1, -0.8], [-1.1, -0.8]],
  5: [[-0.4, -1.2], [0.4, -1.2], [0.4, -0.4], [1.2, -0.4], [1.2, 0.4], [0.4, 0.4], [0.4, 1.2], [-0.4, 1.2], [-0.4, 0.4], [-1.2, 0.4], [-1.2, -0.4], [-0.4, -0.4]],
};
CORNERS[6] = CORNERS[5].map(([x, y]) => [0.75 * (x - y), 0.75 * (x + y)]);

// Adds a marker to the current path: circle, square, triangle, diamond, triangle on its tip, plus, cross.
function addMarker(ctx, shape, x, y, r) {
  if (shape === 0) {
    ctx.moveTo(x + r, y);
    ctx.arc(x, y, r, 0, 2 * Math.PI);
  } else if (shape === 1) {
    ctx.rect(x - 0.88 * r, y - 0.88 * r, 1.76 * r, 1.76 * r);
  } else {
    CORNERS[shape].forEach(([dx, dy], k) => (k ? ctx.lineTo(x + dx * r, y + dy * r) : ctx.moveTo(x + dx * r, y + dy * r)));
    ctx.closePath();
  }
}

// Makes a canvas as sharp as the screen; returns its context in CSS pixels.
function sharpen(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  const ctx = canvas.getContext("2d");
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  return ctx;
}

function shortNumber(value) {
  const size = Math.abs(value);
  if (size >= 1e9) return +(value / 1e9).toPrecision(3) + "G";
  if (size >= 1e6) return +(value / 1e6).toPrecision(3) + "M";
  if (size >= 1e4) return +(value / 1e3).toPrecision(3) + "k";
  if (size !== 0 && size < 1e-3) return value.toExponential(1);
  return String(+value.toPrecision(3));
}

const count = (number) => number.toLocaleString("en");

// The k objects nearest to object i, in all dimensions of the map, with their distances.
function neighbours(i, k, placed) {
  const found = [];
  for (const j of placed) {
    if (j === i) continue;
    let sum = 0;
    for (const column of data.x) sum += (column[i] - column[j]) ** 2;
    if (found.length === k && sum >= found[k - 1][1]) continue;
    let at = found.length;
    while (at > 0 && found[at - 1][1] > sum) at--;
    found.splice(at, 0, [j, sum]);
    if (found.length > k) found.pop();
  }
  return found.map(([j, sum]) => [j, Math.sqrt(sum)]);
}
