// Surface: a canvas whose middle lies over the shared horizontal axis, and what all charts draw
// alike: axes, grid, the pointer's line. Lengths are CSS pixels; columns are the screen's own.

const kLeft = 76;
const kRight = 14;
const kFont = '12px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

// The page's colours as they are now.
function readColours() {
  const style = getComputedStyle(document.documentElement);
  const colours = {};
  for (const name of ['ground', 'panel', 'plot', 'grid', 'border', 'text', 'faint', 'accent',
    'reserved', 'allocated', 'active', 'requested', 'cached', 'free', 'hole', 'problem', 'warning'])
    colours[name] = style.getPropertyValue('--' + name).trim();
  colours.hues = [];
  for (let i = 0; i < 8; ++i) colours.hues.push(style.getPropertyValue('--hue' + i).trim());
  return colours;
}

function channelsOf(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

// `share` of `b` in `a`, opaque.
function mixed(a, b, share) {
  const other = channelsOf(b);
  const parts = channelsOf(a).map((part, i) => Math.round(part + (other[i] - part) * share));
  return '#' + parts.map((part) => part.toString(16).padStart(2, '0')).join('');
}

// The i-th colour of a row that never ends.
function category(colours, index) {
  const hue = colours.hues[index % 8];
  const round = Math.floor(index / 8) % 3;
  return round === 0 ? hue : mixed(hue, round === 1 ? colours.text : colours.plot, 0.42);
}

class Surface {
  constructor(canvas, camera, margins) {
    this.canvas = canvas;
    this.camera = camera;
    this.margins = margins;
    this.context = canvas.getContext('2d');
    this.width = this.height = this.ratio = 1;
  }

  // Fits the canvas to its element and clears it.
  begin(colours) {
    const box = this.canvas.getBoundingClientRect();
    this.ratio = Math.min(window.devicePixelRatio || 1, 3);
    this.width = Math.max(box.width, kLeft + kRight + 50);
    this.height = Math.max(box.height, 20);
    this.colours = colours;
    const columns = Math.round(this.width * this.ratio);
    const rows = Math.round(this.height * this.ratio);
    if (this.canvas.width !== columns || this.canvas.height !== rows) {
      this.canvas.width = columns;
      this.canvas.height = rows;
    }
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.context.font = kFont;
    this.fill(0, 0, this.width, this.height, colours.panel);
    this.fill(kLeft, this.top, this.plotWidth, this.plotHeight, colours.plot);
  }

  get top() {
    return this.margins.top;
  }

  get bottom() {
    return this.height - this.margins.bottom;
  }

  get plotWidth() {
    return this.width - kLeft - kRight;
  }

  get plotHeight() {
    return this.bottom - this.top;
  }

  // One for each pixel of the screen.
  get columns() {
    return Math.floor(this.plotWidth * this.ratio);
  }

  toX(position) {
    return kLeft + (position - this.camera.begin) / this.camera.length * this.plotWidth;
  }

  toPosition(x) {
    return this.camera.begin + (x - kLeft) / this.plotWidth * this.camera.length;
  }

  fill(x, y, width, height, colour) {
    this.context.fillStyle = colour;
    this.context.fillRect(x, y, width, height);
  }

  text(text, x, y, colour, align) {
    this.context.fillStyle = colour;
    this.context.textAlign = align || 'left';
    this.context.textBaseline = 'middle';
    this.context.fillText(text, x, y);
  }

  // `text` cut to `width`, or nothing where not even a few letters fit.
  textWithin(text, x, y, width, colour) {
    if (width < 24) return;
    let shown = text;
    while (shown.length > 1 && this.context.measureText(shown + '\u2026').width > width)
      shown = shown.slice(0, Math.floor(shown.length * 0.8));
    if (shown.length > 1 || shown === text)
      this.text(shown === text ? text : shown + '\u2026', x, y, colour);
  }

  clipToPlot() {
    this.context.save();
    this.context.beginPath();
    this.context.rect(kLeft, this.top, this.plotWidth, this.plotHeight);
    this.context.clip();
  }

  // Lines and, below the plot, labels of the horizontal axis.
  drawAxis(labels) {
    const {unit, begin, end} = this.camera;
    const step = Math.max(niceStep(this.camera.length, this.plotWidth / 110),
      unit === 'events' ? 1 : 0);
    for (let i = Math.ceil(begin / step); i * step <= end; ++i) {
      const x = Math.round(this.toX(i * step)) + 0.5;
      this.fill(x - 0.5, this.top, 1, this.plotHeight, this.colours.grid);
      if (labels && x < this.width - 10)
        this.text(unit === 'time' ? timeText(i * step, step) : countText(i * step),
          x, this.bottom + 11, this.colours.faint, x < kLeft + 20 ? 'left' : 'center');
    }
  }

  // Lines and labels of sizes from 0 to `top`.
  drawSizes(top) {
    const step = niceByteStep(top, this.plotHeight / 42);
    for (let bytes = 0; bytes <= top * 1.0001; bytes += step) {
      const y = Math.round(this.bottom - bytes / top * this.plotHeight);
      this.fill(kLeft, y, this.plotWidth, 1, this.colours.grid);
      this.text(roundBytesText(bytes), kLeft - 8, Math.max(y, this.top + 6),
        this.colours.faint, 'right');
    }
  }

  drawPointer(position) {
    if (position === null || position < this.camera.begin || position > this.camera.end) return;
    this.fill(Math.round(this.toX(position)), this.top, 1, this.plotHeight, this.colours.text);
  }

  // Hatches what lies behind a run's end.
  drawAfter(end, text) {
    const right = this.width - kRight;
    const x = Math.max(this.toX(end), kLeft);
    if (x > right - 1) return;
    this.context.save();
    this.context.beginPath();
    this.context.rect(x, this.top, right - x, this.plotHeight);
    this.context.clip();
    this.context.strokeStyle = mixed(this.colours.plot, this.colours.faint, 0.3);
    this.context.lineWidth = 1;
    this.context.beginPath();
    for (let at = x - this.plotHeight; at < right; at += 8) {
      this.context.moveTo(at, this.bottom);
      this.context.lineTo(at + this.plotHeight, this.top);
    }
    this.context.stroke();
    this.fill(x, this.top, 1, this.plotHeight, this.colours.faint);
    this.textWithin(text, x + 8, this.bottom - 12, right - x - 16, this.colours.faint);
    this.context.restore();
  }

  // The stretch that shift-drag has picked so far.
  drawPicked(picked) {
    if (!picked) return;
    const from = this.toX(Math.min(picked.from, picked.to));
    const to = this.toX(Math.max(picked.from, picked.to));
    this.context.globalAlpha = 0.25;
    this.fill(from, this.top, to - from, this.plotHeight, this.colours.accent);
    this.context.globalAlpha = 1;
  }
}
