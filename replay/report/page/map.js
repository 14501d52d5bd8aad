// The address map: occupied memory by address and time, from a bitmap of bytes.

const kSteps = 32;  // of shares: see html_map.cpp
const kWaiting = 0x80;

// From dark blue over green to yellow: ever lighter, whatever colours an eye sees.
const kRamp = ['#33348f', '#1f6a96', '#1b9a86', '#7cc35a', '#f3dc3a'];

function rampColour(share) {
  const at = Math.min(share * (kRamp.length - 1), kRamp.length - 1.001);
  return mixed(kRamp[Math.floor(at)], kRamp[Math.floor(at) + 1], at % 1);
}

class MapChart {
  constructor(canvas, page) {
    this.page = page;
    this.surface = new Surface(canvas, page.camera, {top: 4, bottom: 24});
    this.bitmaps = new Map();  // by run, unit and theme
  }

  draw() {
    const {page, surface} = this;
    const map = page.run.map;
    surface.begin(page.colours);
    if (!map || !map.planes[page.camera.unit]) return;
    this.drawOffsets(map);
    surface.drawAxis(true);
    const bitmap = this.bitmapOf(page.run);
    const share = (position) => position / this.extent() * map.columns;
    surface.clipToPlot();
    surface.context.imageSmoothingEnabled = false;
    const from = share(page.camera.begin);
    surface.context.drawImage(bitmap, from, 0, Math.max(share(page.camera.end) - from, 1e-3),
      map.rows, kLeft, surface.top, surface.plotWidth, surface.plotHeight);
    surface.drawPicked(page.picked);
    surface.drawPointer(page.hover);
    surface.context.restore();
  }

  // The bitmap ends with its own run, the axis with the longest.
  extent() {
    const {buckets} = this.page.run;
    return buckets[this.page.camera.unit][buckets.count];
  }

  drawOffsets(map) {
    const {surface} = this;
    const step = niceByteStep(map.bytes, surface.plotHeight / 48);
    for (let bytes = 0; bytes <= map.bytes; bytes += step)
      surface.text(roundBytesText(bytes), kLeft - 8,
        Math.max(surface.top + bytes / map.bytes * surface.plotHeight, surface.top + 6),
        surface.colours.faint, 'right');
  }

  // One pixel a cell, low addresses above, as in the viewer.
  bitmapOf(run) {
    const key = run.index + this.page.camera.unit + this.page.colours.plot;
    if (this.bitmaps.has(key)) return this.bitmaps.get(key);
    const map = run.map;
    const canvas = document.createElement('canvas');
    canvas.width = map.columns;
    canvas.height = map.rows;
    const context = canvas.getContext('2d');
    const image = context.createImageData(map.columns, map.rows);
    this.paint(map, map.planes[this.page.camera.unit], image.data);
    context.putImageData(image, 0, 0);
    this.bitmaps.set(key, canvas);
    return canvas;
  }

  paint(map, planes, pixels) {
    const colours = this.page.colours;
    const hole = channelsOf(colours.hole);
    const free = channelsOf(colours.free);
    const waiting = channelsOf(colours.active);
    const hues = map.classes.map((each, i) => channelsOf(this.classColour(map, i)));
    const cells = map.columns * map.rows;
    for (let cell = 0; cell < cells; ++cell) {
      const taken = Math.min(planes[cell] / kSteps, 1);
      const memory = Math.max(Math.min(planes[cells + cell] / kSteps, 1), taken);
      const kind = planes[2 * cells + cell];
      const hue = kind & kWaiting ? waiting : hues[kind & ~kWaiting] || hole;
      const at = 4 * cell;
      // What is taken is never invisible.
      const seen = taken > 0 ? 0.25 + 0.75 * taken : 0;
      for (let i = 0; i < 3; ++i) {
        const ground = hole[i] + (free[i] - hole[i]) * memory;
        pixels[at + i] = ground + (hue[i] - ground) * seen;
      }
      pixels[at + 3] = 255;
    }
  }

  // Classes that gather what has no name or no colour of its own are grey; sizes have an order,
  // and so have their colours.
  classColour(map, index) {
    if (map.by === 'size') return rampColour(index / Math.max(map.classes.length - 1, 1));
    if (map.classes[index][1]) return mixed(this.page.colours.plot, this.page.colours.faint, 0.8);
    let hue = 0;
    for (let i = 0; i < index; ++i) if (!map.classes[i][1]) ++hue;
    return category(this.page.colours, hue % 8 === 7 ? hue + 1 : hue);
  }

  // The text for a point of the canvas.
  textAt(position, y) {
    const {page, surface} = this;
    const map = page.run.map;
    const planes = map && map.planes[page.camera.unit];
    if (!planes || y < surface.top || y >= surface.bottom) return '';
    const height = (y - surface.top) / surface.plotHeight;
    const row = Math.min(Math.floor(height * map.rows), map.rows - 1);
    const column = Math.floor(position / this.extent() * map.columns);
    if (column >= map.columns) return 'after the end of this run';
    const cell = row * map.columns + column;
    const cells = map.columns * map.rows;
    const taken = Math.min(planes[cell] / kSteps, 1);
    const kind = planes[2 * cells + cell];
    let text = this.addressText(map, height * map.bytes, map.bytes / map.rows);
    if (taken > 0) {
      text += '\n' + (taken * 100).toFixed(0) + ' % taken, most by ' +
          (map.classes[kind & ~kWaiting] || ['?'])[0];
      if (kind & kWaiting) text += ', freed but awaited by the device';
    } else {
      text += '\n' + (planes[cells + cell] ? 'reserved, free' : 'no memory here');
    }
    return text;
  }

  addressText(map, offset, height) {
    for (const [begin, size, address, device] of map.pieces) {
      if (offset < begin || offset >= begin + size) continue;
      const at = BigInt(address) + BigInt(Math.floor(offset - begin));
      return '0x' + at.toString(16) + (device ? ', device ' + device : '') +
          ' (a row is ' + bytesText(height) + ')';
    }
    return bytesText(offset) + ' up the axis';
  }
}
