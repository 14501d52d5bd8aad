// The charts: the curves of one run, one curve of all runs, the minimap.

const kRowHeight = 17;  // of annotations
const kMostRows = 3;

// Calls `visit(x, {min, max, last})` for each column of the screen that the curve reaches.
function forEachColumn(surface, curve, visit) {
  const {unit, begin, length} = surface.camera;
  const count = surface.columns;
  const until = curve.end(unit);
  for (let i = 0; i < count && begin + length * i / count < until; ++i)
    visit(kLeft + i / surface.ratio,
      curve.within(unit, begin + length * i / count, begin + length * (i + 1) / count));
}

// A line through a curve: in each column from its least to its most, joined to the one before.
function drawLine(surface, curve, top, colour, thickness, dash) {
  const scale = surface.plotHeight / top;
  const thin = 1 / surface.ratio;
  let before = null;
  surface.context.fillStyle = colour;
  forEachColumn(surface, curve, (x, range) => {
    const max = before === null ? range.max : Math.max(range.max, before);
    const min = before === null ? range.min : Math.min(range.min, before);
    before = range.last;
    if (dash && (x - kLeft) % dash > dash * 0.6 && max === min) return;
    const high = surface.bottom - max * scale;
    surface.context.fillRect(x, high - thickness / 2, thin, (max - min) * scale + thickness);
  });
}

// The area below a curve: to its least in one colour, from there to its most in another.
function drawArea(surface, curve, top, colour, upper) {
  const scale = surface.plotHeight / top;
  const thin = 1 / surface.ratio + 0.01;
  forEachColumn(surface, curve, (x, range) => {
    const low = range.min * scale;
    const high = range.max * scale;
    if (high > low) surface.fill(x, surface.bottom - high, thin, high - low, upper);
    surface.fill(x, surface.bottom - low, thin, low, colour);
  });
}

class RunChart {
  constructor(canvas, page) {
    this.page = page;
    this.surface = new Surface(canvas, page.camera, {top: 14, bottom: 24});
  }

  draw() {
    const {page, surface} = this;
    const run = page.run;
    const rows = Math.min(run.annotationRows, kMostRows);
    surface.margins.top = 14 + rows * kRowHeight;
    surface.begin(page.colours);
    const top = this.topOf(run);
    surface.drawSizes(top);
    surface.drawAxis(true);
    surface.clipToPlot();
    surface.drawAfter(run.curves.reserved.end(page.camera.unit), 'ended');
    this.drawCurves(run, top);
    this.drawEnd(run.limit, 'limit', top);
    this.drawEnd(run.capacity, 'capacity', top);
    surface.drawPicked(page.picked);
    surface.drawPointer(page.hover);
    surface.context.restore();
    this.drawAnnotations(run, rows);
    this.drawMarks(run);
    this.drawPeak(run, top);
  }

  // Where most is reserved, if that is in view.
  drawPeak(run, top) {
    const {page, surface} = this;
    if (!run.peak || page.hidden.has('reserved')) return;
    const x = surface.toX(page.camera.unit === 'time' ? run.peak.time : run.peak.event);
    if (x < kLeft || x > surface.width - kRight) return;
    const y = surface.bottom - run.curves.reserved.most() / top * surface.plotHeight;
    const context = surface.context;
    context.fillStyle = page.colours.text;
    context.beginPath();
    context.moveTo(x - 5, y - 9);
    context.lineTo(x + 5, y - 9);
    context.lineTo(x, y - 1);
    context.fill();
    const left = x > surface.width / 2;
    surface.text('peak ' + bytesText(run.curves.reserved.most()), left ? x - 9 : x + 9, y - 8,
      page.colours.text, left ? 'right' : 'left');
  }

  // The scale stays while one zooms, so that heights can be compared.
  topOf(run) {
    const most = Math.max(1, ...Object.values(run.curves).map((curve) => curve.most()));
    const end = [run.limit, run.capacity].filter((size) => size && size < most * 1.5);
    return Math.max(most, ...end) * 1.1;
  }

  drawCurves(run, top) {
    const {page, surface} = this;
    const colours = page.colours;
    const shows = (name) => !page.hidden.has(name);
    if (shows('reserved'))
      drawArea(surface, run.curves.reserved, top, colours.cached,
        mixed(colours.plot, colours.cached, 0.6));
    if (shows('active'))
      drawArea(surface, run.curves.active, top, colours.active,
        mixed(colours.plot, colours.active, 0.45));
    if (shows('allocated'))
      drawArea(surface, run.curves.allocated, top, colours.allocated,
        mixed(colours.plot, colours.allocated, 0.5));
    if (shows('requested'))
      drawLine(surface, run.curves.requested, top, mixed(colours.requested, '#ffffff', 0.3), 1.5, 7);
    if (shows('reserved'))
      drawLine(surface, run.curves.reserved, top, colours.reserved, 2, 0);
  }

  // A line for what memory ends at, where that is near.
  drawEnd(bytes, name, top) {
    if (!bytes || bytes > top) return;
    const {surface} = this;
    const y = Math.round(surface.bottom - bytes / top * surface.plotHeight);
    for (let x = kLeft; x < surface.width - kRight; x += 10)
      surface.fill(x, y, 6, 1, surface.colours.problem);
    surface.text(name + ' ' + bytesText(bytes), surface.width - kRight - 4, y - 9,
      surface.colours.problem, 'right');
  }

  // Named stretches above the plot; what is too narrow to be read is a mere tick.
  drawAnnotations(run, rows) {
    if (!rows) return;
    const {page, surface} = this;
    const colours = page.colours;
    const time = page.camera.unit === 'time';
    surface.context.save();
    surface.context.beginPath();
    surface.context.rect(kLeft, 0, surface.plotWidth, surface.top);
    surface.context.clip();
    const until = new Float64Array(rows).fill(-1);
    for (const [begin, end, beginTime, endTime, depth, name] of run.annotations) {
      const left = surface.toX(time ? beginTime : begin);
      const right = surface.toX(time ? endTime : end + 1);
      if (depth >= rows || right < kLeft || left > surface.width || right < until[depth] + 0.5)
        continue;
      const y = 12 + depth * kRowHeight;
      const from = Math.max(left, kLeft);
      const width = Math.max(right - from - 1, 1);
      surface.fill(from, y, width, kRowHeight - 2, mixed(colours.plot, colours.faint, 0.28));
      surface.textWithin(name, from + 4, y + kRowHeight / 2 - 1, width - 8, colours.text);
      until[depth] = right;
    }
    surface.context.restore();
  }

  // Triangles for what went wrong, smaller ticks for the rest; one a column.
  drawMarks(run) {
    const {page, surface} = this;
    const context = surface.context;
    let before = -10;
    for (const [event, time, kind] of run.marks) {
      const x = surface.toX(page.camera.unit === 'time' ? time : event);
      if (x < kLeft || x > surface.width - kRight || x - before < 1) continue;
      before = x;
      const grave = kind.startsWith('out of memory');
      context.fillStyle = grave ? page.colours.problem : page.colours.faint;
      const half = grave ? 6 : 3;
      context.beginPath();
      context.moveTo(x - half, 0);
      context.lineTo(x + half, 0);
      context.lineTo(x, 11);
      context.fill();
      if (grave) surface.fill(x, 11, 1, surface.bottom - 11, page.colours.problem);
    }
  }
}

// Lines differ by colour and by dashes.
const kDashes = [0, 10, 5, 16];

// What a legend shows for such a line.
function dashedGround(colour, dash) {
  return dash ? `repeating-linear-gradient(90deg, ${colour} 0 ${dash * 0.6}px, transparent ` +
      `${dash * 0.6}px ${dash}px)` : colour;
}

class OverlayChart {
  constructor(canvas, page) {
    this.page = page;
    this.surface = new Surface(canvas, page.camera, {top: 14, bottom: 24});
  }

  draw() {
    const {page, surface} = this;
    surface.begin(page.colours);
    const shown = page.runs.filter((run) => !page.hiddenRuns.has(run.index));
    const top = 1.06 * Math.max(1, ...page.runs.map((run) => run.curves[page.series].most()));
    surface.drawSizes(top);
    surface.drawAxis(true);
    surface.clipToPlot();
    for (const run of shown.slice().reverse())
      drawLine(surface, run.curves[page.series], top, category(page.colours, run.index), 2,
        kDashes[run.index % kDashes.length]);
    surface.drawPicked(page.picked);
    surface.drawPointer(page.hover);
    surface.context.restore();
  }
}

// The whole run, whatever the charts show; its frame can be dragged.
class Minimap {
  constructor(canvas, page) {
    this.page = page;
    const whole = {
      get unit() { return page.camera.unit; },
      begin: 0,
      get end() { return page.camera.extent; },
      get length() { return page.camera.extent; },
    };
    this.surface = new Surface(canvas, whole, {top: 2, bottom: 2});
  }

  draw() {
    const {page, surface} = this;
    const colours = page.colours;
    surface.begin(colours);
    const run = page.run;
    const top = 1.06 * Math.max(1, run.curves.reserved.most());
    surface.drawAfter(run.curves.reserved.end(page.camera.unit), '');
    drawArea(surface, run.curves.reserved, top, mixed(colours.plot, colours.reserved, 0.45),
      mixed(colours.plot, colours.reserved, 0.45));
    drawArea(surface, run.curves.allocated, top, colours.allocated,
      mixed(colours.plot, colours.allocated, 0.6));
    const from = surface.toX(page.camera.begin);
    const to = Math.max(surface.toX(page.camera.end), from + 3);
    surface.context.globalAlpha = 0.6;
    surface.fill(kLeft, surface.top, from - kLeft, surface.plotHeight, colours.plot);
    surface.fill(to, surface.top, surface.width - kRight - to, surface.plotHeight, colours.plot);
    surface.context.globalAlpha = 1;
    surface.context.strokeStyle = colours.accent;
    surface.context.lineWidth = 2;
    surface.context.strokeRect(from, surface.top, to - from, surface.plotHeight);
    surface.text('whole run', kLeft - 8, surface.height / 2, colours.faint, 'right');
  }
}
