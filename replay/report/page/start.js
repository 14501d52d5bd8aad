// Start: reads the data, makes the page, and does what tests ask for.

const kSelfTest = '#self-test=';

async function readMap(map) {
  if (!map) return null;
  map.planes = {};
  for (const unit of ['time', 'events'])
    if (map[unit]) map.planes[unit] = await unpack(map[unit]);
  return map;
}

async function readRuns(data) {
  const buckets = [];
  for (const trace of data.traces) buckets.push(await readBuckets(trace));
  const runs = [];
  for (const [index, run] of data.runs.entries()) {
    const trace = data.traces[run.trace];
    const annotations = trace.annotations || [];
    runs.push({
      ...run,
      index,
      annotations,
      annotationRows: annotations.reduce((rows, each) => Math.max(rows, each[4] + 1), 0),
      buckets: buckets[run.trace],
      curves: await readCurves(run, buckets[run.trace]),
      map: await readMap(run.map),
    });
  }
  return runs;
}

// One command of a test as the events that a user would cause: "wheel:0.5:-240" at half of the
// chart's width, "drag:0.7:0.3", "pick:0.2:0.4", "move:0.5", "touch:..." and the like.
function selfTest(page, command) {
  const [name, ...values] = command.split(':');
  const canvas = element(name === 'hover-map' ? 'map' : 'chart');
  const surface = page.charts.find((chart) => chart.surface.canvas === canvas).surface;
  const box = canvas.getBoundingClientRect();
  const at = (share, extra) => ({
    clientX: box.left + kLeft + Number(share) * surface.plotWidth,
    clientY: box.top + surface.top + 0.5 * surface.plotHeight,
    bubbles: true, cancelable: true, pointerId: 1, button: 0, ...extra,
  });
  const pointer = (type, share, extra) =>
    canvas.dispatchEvent(new PointerEvent(type, at(share, extra)));
  const drag = (extra) => {
    pointer('pointerdown', values[0], extra);
    pointer('pointermove', values[1], extra);
    pointer('pointerup', values[1], extra);
  };
  const commands = {
    wheel: () => canvas.dispatchEvent(new WheelEvent('wheel', at(values[0],
      {deltaY: Number(values[1])}))),
    drag: () => drag({}),
    pick: () => drag({shiftKey: true}),
    pinch: () => {
      pointer('pointerdown', 0.4, {pointerId: 2});
      pointer('pointerdown', 0.6, {pointerId: 3});
      pointer('pointermove', 0.8, {pointerId: 3});
      pointer('pointerup', 0.4, {pointerId: 2});
      pointer('pointerup', 0.8, {pointerId: 3});
    },
    move: () => pointer('pointermove', values[0], {}),
    'hover-map': () => pointer('pointermove', values[0], {}),
    key: () => canvas.dispatchEvent(new KeyboardEvent('keydown',
      {key: values[0], bubbles: true, cancelable: true})),
    double: () => canvas.dispatchEvent(new MouseEvent('dblclick', at(0.5, {}))),
    click: () => element(values[0]).click(),
    legend: () => element('legend').children[Number(values[0])].click(),
    run: () => {
      element('run').value = values[0];
      element('run').dispatchEvent(new Event('change'));
    },
    slide: () => {
      element('pair-moment').value = values[0];
      element('pair-moment').dispatchEvent(new Event('input'));
    },
  };
  commands[name]();
}

// What a test may ask for: the state, and a few pixels.
function stateOf(page) {
  const {begin, end, unit, extent} = page.camera;
  const sample = (id) => {
    const canvas = element(id);
    if (!canvas.width || canvas.closest('[hidden]')) return [];
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    return new Set(new Uint32Array(pixels.buffer)).size;
  };
  // The colours from top to bottom at a share of the chart's width.
  const column = (id, share) => {
    const canvas = element(id);
    const ratio = canvas.width / canvas.getBoundingClientRect().width;
    const x = Math.floor((kLeft + share * (canvas.width / ratio - kLeft - kRight)) * ratio);
    const {data} = canvas.getContext('2d').getImageData(x, 0, 1, canvas.height);
    const hex = (at) => '#' + [0, 1, 2].map((part) =>
      data[at + part].toString(16).padStart(2, '0')).join('');
    return [...new Set(Array.from({length: canvas.height}, (_, y) => hex(4 * y)))];
  };
  return {
    unit, begin, end, extent,
    run: page.run.index,
    hidden: [...page.hidden],
    readout: element('readout').textContent,
    tip: element('tip').hidden ? '' : element('tip').textContent,
    peaks: page.runs.map((run) => run.curves.reserved.most()),
    colours: {chart: sample('chart'), map: sample('map')},
    pair: element('pair').hidden ? '' : element('pair-words').textContent,
    columns: {early: column('chart', 0.01), late: column('chart', 0.9),
      pair: element('pair').hidden ? [] : column('pair-maps', 0.3)},
    allocated: page.colours.allocated,
    wider: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  };
}

async function start() {
  const hash = decodeURIComponent(window.location.hash);
  const commands = hash.startsWith(kSelfTest)
    ? hash.slice(kSelfTest.length).split(',').filter(Boolean) : [];
  const data = JSON.parse(element('data').textContent);
  const runs = await readRuns(data);
  if (!runs.length) return;
  element('charts').hidden = false;
  const page = new Page(runs);
  page.draw();
  for (const command of commands) {
    selfTest(page, command);
    page.draw();
  }
  if (hash.startsWith(kSelfTest))
    document.documentElement.dataset.state = JSON.stringify(stateOf(page));
}

start().catch((reason) => {
  document.documentElement.dataset.failed = String(reason && reason.stack || reason);
  const note = document.createElement('p');
  note.textContent = 'The charts could not be drawn (' + reason + '). The rest of the page is whole.';
  element('words').prepend(note);
});
