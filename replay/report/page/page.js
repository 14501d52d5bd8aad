// Page: what is shown, and the controls around the charts.

const kCurves = {
  reserved: 'Reserved',
  active: 'Waiting for the device',
  allocated: 'Allocated',
  requested: 'Requested',
};

function element(id) {
  return document.getElementById(id);
}

// An entry of a legend: a colour and a name, as a button if `toggle` is given.
function legendEntry(name, colour, pressed, toggle) {
  const entry = document.createElement(toggle ? 'button' : 'span');
  const swatch = document.createElement('i');
  const label = document.createElement('bdi');
  swatch.style.background = colour;
  label.textContent = name;
  entry.append(swatch, label);
  entry.title = name;
  if (toggle) {
    entry.type = 'button';
    entry.setAttribute('aria-pressed', String(pressed));
    entry.addEventListener('click', toggle);
  }
  return entry;
}

function valueText(bytes) {
  return bytes === null ? 'ended' : bytesText(bytes);
}

function flip(set, value) {
  if (!set.delete(value)) set.add(value);
}

class Page {
  constructor(runs) {
    this.runs = runs;
    this.run = runs[0];
    this.series = 'reserved';
    this.hidden = new Set();
    this.hiddenRuns = new Set();
    this.hover = null;
    this.picked = null;
    this.frame = 0;
    this.colours = readColours();
    this.camera = new Camera(() => this.redraw());
    this.charts = [
      new Minimap(element('minimap'), this),
      new RunChart(element('chart'), this),
    ];
    this.map = new MapChart(element('map'), this);
    this.charts.push(this.map);
    if (runs.length > 1) this.charts.push(new OverlayChart(element('overlay-chart'), this));
    this.pair = new PairMaps(element('pair-maps'), this);
    new MinimapInput(this.charts[0].surface, this);
    for (const chart of this.charts.slice(1)) new Input(chart.surface, this);
    this.connect();
    this.setUnit(runs.some((run) => run.buckets.time[run.buckets.count] > 1) ? 'time' : 'events');
    element('by-time').disabled = this.camera.unit === 'events';
  }

  connect() {
    const camera = this.camera;
    const middle = () => (camera.begin + camera.end) / 2;
    element('closer').addEventListener('click', () => camera.zoom(0.5, middle()));
    element('wider').addEventListener('click', () => camera.zoom(2, middle()));
    element('all').addEventListener('click', () => camera.fit());
    element('peak').addEventListener('click', () => this.goToPeak());
    element('by-time').addEventListener('click', () => this.setUnit('time'));
    element('by-events').addEventListener('click', () => this.setUnit('events'));
    for (const run of this.runs) element('run').append(new Option(run.label, run.index));
    element('run').addEventListener('change', (event) => this.showRun(Number(event.target.value)));
    for (const [name, title] of Object.entries(kCurves))
      element('series').append(new Option(title, name));
    element('series').addEventListener('change', (event) => {
      this.series = event.target.value;
      this.redraw();
    });
    element('run-pick').hidden = element('overlay').hidden = this.runs.length < 2;
    window.addEventListener('resize', () => this.redraw());
    const theme = window.matchMedia('(prefers-color-scheme: dark)');
    theme.addEventListener('change', () => this.recolour());
    window.addEventListener('beforeprint', () => this.paper(true));
    window.addEventListener('afterprint', () => this.paper(false));
  }

  // Paper is white.
  paper(on) {
    document.documentElement.classList.toggle('paper', on);
    this.recolour();
    this.draw();
  }

  recolour() {
    this.colours = readColours();
    this.redraw();
  }

  showRun(index) {
    this.run = this.runs[index];
    element('run').value = String(index);
    this.redraw();
  }

  // The same stretch is shown by the other axis.
  setUnit(unit) {
    const buckets = this.run.buckets;
    const extent = Math.max(...this.runs.map((run) => run.buckets[unit][run.buckets.count]), 1);
    const before = this.camera.unit;
    const there = (position) =>
      buckets[unit][Math.max(lastIndexAtMost(buckets[before], buckets.count + 1, position), 0)];
    const whole = this.camera.fits();
    const begin = whole ? 0 : there(this.camera.begin);
    const end = whole ? extent : there(this.camera.end);
    this.hover = null;
    element('by-time').setAttribute('aria-pressed', String(unit === 'time'));
    element('by-events').setAttribute('aria-pressed', String(unit === 'events'));
    this.camera.setAxis(unit, extent, begin, end);
  }

  goToPeak() {
    const camera = this.camera;
    const peak = this.run.peak ? this.run.peak[camera.unit === 'time' ? 'time' : 'event'] : 0;
    const half = Math.min(camera.length / 2, camera.extent / 40);
    camera.show(peak - half, peak + half);
    this.hover = peak;
    this.announce();
  }

  // The pointer is over a chart.
  pointAt(surface, point, event) {
    const position = surface.toPosition(point.x);
    const inside = position >= this.camera.begin && position <= this.camera.end;
    this.hover = inside ? position : null;
    const text = inside ? this.textAt(position, surface, point.y) : '';
    this.showTip(text, event);
    this.announce();
    this.redraw();
  }

  leave() {
    this.hover = null;
    this.showTip('');
    this.announce();
    this.redraw();
  }

  step() {
    return this.camera.length / Math.max(this.charts[1].surface.plotWidth, 1);
  }

  textAt(position, surface, y) {
    const {unit} = this.camera;
    const lines = [positionText(unit, position, this.step())];
    if (surface === this.map.surface) {
      lines.push(this.map.textAt(position, y));
    } else if (this.charts[3] && surface === this.charts[3].surface) {
      for (const run of this.runs)
        if (!this.hiddenRuns.has(run.index))
          lines.push(run.label + ': ' + valueText(run.curves[this.series].at(unit, position)));
    } else {
      for (const name of ['reserved', 'allocated', 'active', 'requested'])
        lines.push(kCurves[name] + ': ' + valueText(this.curveAt(name, position)));
      lines.push(...this.namesAt(position));
    }
    return lines.join('\n');
  }

  // Of active memory only what isn't allocated any more is waiting.
  curveAt(name, position) {
    const value = this.run.curves[name].at(this.camera.unit, position);
    return name === 'active' && value !== null ? value - this.run.curves.allocated.at(this.camera.unit, position)
      : value;
  }

  // Annotations and marks at a position.
  namesAt(position) {
    const time = this.camera.unit === 'time';
    const near = 5 * this.step();
    const names = this.run.annotations
      .filter((each) => position >= (time ? each[2] : each[0]) &&
        position <= (time ? each[3] : each[1] + 1)).map((each) => 'in ' + each[5]);
    const marks = this.run.marks
      .filter((mark) => Math.abs((time ? mark[1] : mark[0]) - position) < near)
      .map((mark) => mark[2] + (mark[4] ? ' ' + mark[4] : '') +
        (mark[3] ? ', ' + bytesText(mark[3]) : ''));
    return names.slice(0, 4).concat(marks.slice(0, 3));
  }

  showTip(text, event) {
    const tip = element('tip');
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const box = tip.getBoundingClientRect();
    const room = document.documentElement.clientWidth;
    const right = event.clientX + 16 + box.width < room;
    tip.style.left = window.scrollX +
        Math.max(4, right ? event.clientX + 16 : event.clientX - 16 - box.width) + 'px';
    tip.style.top = window.scrollY + event.clientY + 18 + 'px';
  }

  // What the tip says of the curves, where it can be read aloud and stays.
  announce() {
    const position = this.hover;
    element('readout').textContent = position === null ? ''
      : this.textAt(position, this.charts[1].surface, 0).replace(/\n/g, ' \u00b7 ');
  }

  redraw() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  draw() {
    element('map-figure').hidden = !this.run.map;
    this.drawLegends();
    for (const chart of this.charts) chart.draw();
    this.pair.draw();
    document.documentElement.dataset.drawn = String(this.charts.length);
  }

  drawLegends() {
    const state = [this.run.index, ...this.hidden, '/', ...this.hiddenRuns, this.colours.plot,
      this.series].join();
    if (state === this.legendState) return;
    this.legendState = state;
    element('chart-name').textContent = this.run.label;
    element('chart').setAttribute('aria-label', 'Memory over time under ' + this.run.label);
    element('overlay-chart').setAttribute('aria-label', 'Curves of all runs');
    const looks = {
      requested: dashedGround(mixed(this.colours.requested, '#ffffff', 0.3), 7),
    };
    element('legend').replaceChildren(...Object.entries(kCurves).map(([name, title]) =>
      legendEntry(title, looks[name] || this.colours[name], !this.hidden.has(name), () => {
        flip(this.hidden, name);
        this.redraw();
      })), legendEntry('Reserved, but free', this.colours.cached));
    element('overlay-legend').replaceChildren(...this.runs.map((run) =>
      legendEntry(run.label,
        dashedGround(category(this.colours, run.index), kDashes[run.index % kDashes.length]),
        !this.hiddenRuns.has(run.index),
        () => {
          flip(this.hiddenRuns, run.index);
          this.redraw();
        })));
    this.drawMapLegend();
  }

  drawMapLegend() {
    const map = this.run.map;
    if (!map) return;
    element('map-about').textContent = 'Addresses downwards, ' + bytesText(map.bytes) +
        ' in all, gaps left out; coloured by ' + map.by + '.';
    element('map').setAttribute('aria-label', 'Address map of ' + this.run.label);
    const entries = map.classes.map((each, i) =>
      legendEntry(each[0], this.map.classColour(map, i)));
    entries.push(legendEntry('waiting', this.colours.active));
    entries.push(legendEntry('reserved, free', this.colours.free));
    element('map-legend').replaceChildren(...entries);
  }
}
