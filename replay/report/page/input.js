// Input: what wheel, mouse, fingers and keys do to the camera, alike in all charts.

class Input {
  constructor(surface, page) {
    this.surface = surface;
    this.page = page;
    this.pointers = new Map();  // those that are down, by id
    const canvas = surface.canvas;
    canvas.addEventListener('wheel', (event) => this.wheel(event), {passive: false});
    canvas.addEventListener('pointerdown', (event) => this.down(event));
    canvas.addEventListener('pointermove', (event) => this.move(event));
    canvas.addEventListener('pointerup', (event) => this.up(event));
    canvas.addEventListener('pointercancel', (event) => this.up(event));
    canvas.addEventListener('pointerleave', () => page.leave());
    canvas.addEventListener('dblclick', () => page.camera.fit());
    canvas.addEventListener('keydown', (event) => this.key(event));
  }

  pointerPosition(event) {
    const box = this.surface.canvas.getBoundingClientRect();
    return {x: event.clientX - box.left, y: event.clientY - box.top};
  }

  // Scrolling down over what is seen whole scrolls the page.
  wheel(event) {
    const camera = this.page.camera;
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (camera.fits() && (sideways || event.deltaY > 0)) return;
    event.preventDefault();
    const step = event.deltaMode === 1 ? 30 : 1;
    if (sideways) {
      camera.pan(event.deltaX * step / this.surface.plotWidth * camera.length);
    } else {
      const factor = Math.pow(1.0022, Math.max(-300, Math.min(300, event.deltaY * step)));
      camera.zoom(factor, this.surface.toPosition(this.pointerPosition(event).x));
    }
  }

  down(event) {
    if (event.button > 1) return;
    const point = this.pointerPosition(event);
    const position = this.surface.toPosition(point.x);
    this.pointers.set(event.pointerId, point);
    try {
      this.surface.canvas.setPointerCapture(event.pointerId);
    } catch (notThere) {
      // A pointer that a test made up cannot be captured; nothing depends on it.
    }
    if (event.shiftKey) this.page.picked = {from: position, to: position};
  }

  move(event) {
    const point = this.pointerPosition(event);
    const before = this.pointers.get(event.pointerId);
    if (before && this.pointers.size === 2) this.pinch(event.pointerId, point);
    else if (before && this.page.picked) this.page.picked.to = this.surface.toPosition(point.x);
    else if (before)
      this.page.camera.pan((before.x - point.x) / this.surface.plotWidth *
          this.page.camera.length);
    if (before) this.pointers.set(event.pointerId, point);
    this.page.pointAt(this.surface, point, event);
  }

  // Two fingers: what is between them follows them.
  pinch(id, point) {
    const [one, other] = [...this.pointers].map(([each, at]) => (each === id ? point : at));
    const [first, second] = [...this.pointers.values()];
    const before = Math.max(Math.abs(first.x - second.x), 8);
    const now = Math.max(Math.abs(one.x - other.x), 8);
    this.page.camera.zoom(before / now, this.surface.toPosition((one.x + other.x) / 2));
  }

  up(event) {
    this.pointers.delete(event.pointerId);
    const picked = this.page.picked;
    if (!picked) return;
    this.page.picked = null;
    const [from, to] = [Math.min(picked.from, picked.to), Math.max(picked.from, picked.to)];
    if (this.surface.toX(to) - this.surface.toX(from) > 3) this.page.camera.show(from, to);
    this.page.redraw();
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const camera = this.page.camera;
    const middle = this.page.hover === null ? (camera.begin + camera.end) / 2 : this.page.hover;
    const actions = {
      ArrowLeft: () => camera.pan(-camera.length / 10),
      ArrowRight: () => camera.pan(camera.length / 10),
      a: () => camera.pan(-camera.length / 10),
      d: () => camera.pan(camera.length / 10),
      '+': () => camera.zoom(0.8, middle),
      '=': () => camera.zoom(0.8, middle),
      w: () => camera.zoom(0.8, middle),
      '-': () => camera.zoom(1.25, middle),
      s: () => camera.zoom(1.25, middle),
      Home: () => camera.fit(),
      0: () => camera.fit(),
      g: () => this.page.goToPeak(),
      G: () => this.page.goToPeak(),
      Escape: () => this.page.leave(),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }
}

// The minimap: a click or a drag moves the charts' window there.
class MinimapInput {
  constructor(surface, page) {
    const canvas = surface.canvas;
    let held = false;
    const go = (event) => {
      const box = canvas.getBoundingClientRect();
      const position = surface.toPosition(event.clientX - box.left);
      const half = page.camera.length / 2;
      page.camera.show(position - half, position + half);
    };
    canvas.addEventListener('pointerdown', (event) => {
      held = true;
      go(event);
    });
    canvas.addEventListener('pointermove', (event) => held && go(event));
    for (const end of ['pointerup', 'pointercancel', 'pointerleave'])
      canvas.addEventListener(end, () => { held = false; });
    const keys = new Input(surface, page);
    keys.down = keys.move = keys.wheel = () => {};
  }
}
