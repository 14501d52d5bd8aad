// The address maps of two runs of one trace beside one another: one clock, which a slider moves or
// plays, and one scale of bytes. What comes after the moment is not drawn yet.

const kPairGap = 16;
const kPairHead = 36;
const kPairTurn = 8000;  // milliseconds of a whole run

class PairMaps {
  constructor(canvas, page) {
    this.canvas = canvas;
    this.page = page;
    this.moment = element('pair-moment');
    this.played = null;  // when playing: the time of the last step
    const peak = page.runs[0].peak;
    if (peak) this.moment.value = String(peak.time / Math.max(this.extentOf('time'), 1));
    this.moment.addEventListener('input', () => page.redraw());
    element('pair-play').addEventListener('click', () => this.play(this.played === null));
  }

  extentOf(unit) {
    const {buckets} = this.page.run;
    return buckets[unit][buckets.count];
  }

  // The shown run and, of the others of its trace, the one that needs least.
  runs() {
    const {run, runs, camera} = this.page;
    const drawn = (each) => each.map && each.map.planes[camera.unit];
    const others = runs.filter((each) => each !== run && each.trace === run.trace && drawn(each));
    if (!drawn(run) || !others.length) return null;
    const most = (each) => each.curves.reserved.most();
    return [run, others.reduce((best, each) => (most(each) < most(best) ? each : best))];
  }

  play(on) {
    element('pair-play').setAttribute('aria-pressed', String(on));
    element('pair-play').textContent = on ? 'Stop' : 'Play';
    if (on && Number(this.moment.value) >= 1) this.moment.value = '0';
    this.played = on ? performance.now() : null;
    if (on) requestAnimationFrame((now) => this.step(now));
  }

  step(now) {
    if (this.played === null) return;
    const share = Number(this.moment.value) + Math.max(now - this.played, 0) / kPairTurn;
    this.played = Math.max(now, this.played);
    this.moment.value = String(Math.min(share, 1));
    this.page.redraw();
    if (share >= 1) this.play(false);
    else requestAnimationFrame((next) => this.step(next));
  }

  draw() {
    const pair = this.runs();
    element('pair').hidden = !pair;
    if (!pair) return;
    const {canvas, page} = this;
    const box = canvas.getBoundingClientRect();
    const ratio = Math.min(window.devicePixelRatio || 1, 3);
    canvas.width = Math.round(box.width * ratio);
    canvas.height = Math.round(box.height * ratio);
    const context = canvas.getContext('2d');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = kFont;
    context.imageSmoothingEnabled = false;
    context.fillStyle = page.colours.panel;
    context.fillRect(0, 0, box.width, box.height);
    const most = Math.max(...pair.map((run) => run.map.bytes));
    const width = (box.width - kPairGap) / 2;
    pair.forEach((run, index) => this.drawRun(context, run, index * (width + kPairGap), width,
      (box.height - kPairHead) * run.map.bytes / most));
    this.describe(pair);
  }

  drawRun(context, run, left, width, height) {
    const {colours} = this.page;
    const share = Number(this.moment.value);
    context.save();
    context.beginPath();
    context.rect(left, 0, width, kPairHead + height);
    context.clip();
    context.fillStyle = colours.text;
    context.fillText(run.label, left, 12);
    context.fillStyle = colours.faint;
    context.fillText(this.figuresOf(run), left, 28);
    context.fillStyle = colours.plot;
    context.fillRect(left, kPairHead, width, height);
    if (share > 0)
      context.drawImage(this.page.map.bitmapOf(run), 0, 0, share * run.map.columns, run.map.rows,
        left, kPairHead, share * width, height);
    context.fillStyle = colours.text;
    context.fillRect(left + Math.round(share * (width - 1)), kPairHead, 1, height);
    context.restore();
  }

  valueOf(run, name) {
    const {unit} = this.page.camera;
    return run.curves[name].at(unit, Number(this.moment.value) * this.extentOf(unit));
  }

  figuresOf(run) {
    return valueText(this.valueOf(run, 'reserved')) + ' reserved, ' +
        valueText(this.valueOf(run, 'allocated')) + ' allocated';
  }

  describe(pair) {
    const {unit} = this.page.camera;
    const extent = this.extentOf(unit);
    const [here, other] = pair.map((run) => this.valueOf(run, 'reserved'));
    const apart = here === null || other === null ? 'after the end'
      : here === other ? 'both reserve the same'
        : pair[1].label + ' reserves ' + bytesText(Math.abs(here - other)) +
            (other < here ? ' less' : ' more');
    element('pair-words').textContent =
        positionText(unit, Number(this.moment.value) * extent, extent / 1000) + ': ' + apart + '.';
  }
}
