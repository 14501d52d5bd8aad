// The screen of the viewer in a page: draws what the viewer sends, reports mouse, fingers and keys.
// The messages are described in frame_encoder.h and browser_events.h. `transport` carries them: a
// WebSocket (socket.js), or a worker of the page (viz/page/local.js).
"use strict";
const WIDEST = 4096, NOTCH = 256, RATIO = 256, MOST_PASTED = 4000;
const SIZE = 1, MOVE = 2, LEAVE = 3, BUTTON = 4, WHEEL = 5, KEY = 6, PASTE = 7, DRAWN = 8, HIDDEN = 9, BLUR = 10;
const screen_ = document.getElementById("screen");
const notice = document.getElementById("notice");
const context = screen_.getContext("2d", { alpha: false });
const CURSORS = ["default", "text", "move", "ns-resize", "ew-resize", "nesw-resize", "nwse-resize", "pointer",
  "not-allowed"];
let transport = null;  // {ready(), post(bytes)}
let events = [];

// --- to the program ---

function send(...bytes) {
  if (!transport?.ready()) return;
  if (events.length === 0) queueMicrotask(flush);
  events.push(...bytes);
}
function flush() {
  if (transport?.ready()) transport.post(new Uint8Array(events));
  events = [];
}
const u16 = value => [value & 255, value >> 8 & 255];
const u32 = value => [...u16(value), ...u16(value >>> 16)];
const bounded = (value, least, most) => Math.max(least, Math.min(most, Math.round(value)));
const held = e => (e.ctrlKey || e.metaKey ? 1 : 0) | (e.shiftKey ? 2 : 0) | (e.altKey ? 4 : 0);

let size = { width: 0, height: 0 };
function sendSize() {
  const ratio = window.devicePixelRatio || 1;
  const width = screen_.clientWidth * ratio, height = screen_.clientHeight * ratio;
  const smaller = Math.min(1, WIDEST / Math.max(width, height, 1));
  size = { width: bounded(width * smaller, 64, WIDEST), height: bounded(height * smaller, 64, WIDEST) };
  send(SIZE, ...u16(size.width), ...u16(size.height), ...u16(bounded(ratio * smaller * RATIO, 1, 65535)));
}
new ResizeObserver(sendSize).observe(screen_);
function watchRatio() {  // the browser's zoom, another monitor
  const query = matchMedia(`(resolution: ${window.devicePixelRatio}dppx)`);
  query.addEventListener("change", () => { sendSize(); watchRatio(); }, { once: true });
}
watchRatio();

function sendMove(e) {
  const x = e.clientX * size.width / screen_.clientWidth, y = e.clientY * size.height / screen_.clientHeight;
  send(MOVE, held(e), ...u16(bounded(x, 0, 65535)), ...u16(bounded(y, 0, 65535)));
}
let buttons = 0;
const fingers = new Map();  // that are down: where each is
let spread = 0;             // between two of them, when a move was last sent
const distance = ([a, b]) => Math.hypot(a.x - b.x, a.y - b.y);
// Two fingers zoom about their middle; a drag that one of them had started is released.
function sendFingers() {
  const two = [...fingers.values()].slice(0, 2), now = distance(two);
  const middle = { clientX: (two[0].x + two[1].x) / 2, clientY: (two[0].y + two[1].y) / 2 };
  if (spread > 0 && now > 0) sendZoom(middle, now / spread);
  spread = now;
}
function isSecondFinger(e) {
  if (e.pointerType !== "touch") return false;
  if (e.type === "pointerdown" || fingers.has(e.pointerId)) fingers.set(e.pointerId, { x: e.clientX, y: e.clientY });
  if (e.type === "pointerup" || e.type === "pointercancel") {
    const were = fingers.size;
    fingers.delete(e.pointerId);
    spread = 0;
    return were > 1;
  }
  if (fingers.size < 2) return false;
  if (buttons !== 0) {
    buttons = 0;
    send(BLUR);
  }
  sendFingers();
  return true;
}
function sendPointer(e) {
  if (isSecondFinger(e)) return;
  sendMove(e);
  for (let button = 0; button < 3; ++button)
    if ((e.buttons ^ buttons) & 1 << button)
      send(BUTTON, held(e), button, e.buttons >> button & 1);
  buttons = e.buttons;
}
screen_.addEventListener("pointerdown", e => {
  screen_.focus();
  screen_.setPointerCapture(e.pointerId);
  sendPointer(e);
  e.preventDefault();
});
screen_.addEventListener("pointermove", sendPointer);
screen_.addEventListener("pointerup", sendPointer);
screen_.addEventListener("pointercancel", e => { isSecondFinger(e); buttons = 0; send(BLUR); });
screen_.addEventListener("pointerleave", () => { if (buttons === 0) send(LEAVE); });
screen_.addEventListener("contextmenu", e => e.preventDefault());
const STEP = Math.log(1.25);  // of a notch, as the viewer zooms
const notches = count => u16(bounded(count * NOTCH, -32768, 32767));
function sendZoom(at, factor) {
  sendMove({ ...at, ctrlKey: false });
  send(WHEEL, 0, ...notches(0), ...notches(Math.log(factor) / STEP));
}
let controlIsDown = false;  // really: a pinch on a trackpad comes as a wheel with Ctrl
function turnWheel(e) {
  e.preventDefault();
  if (e.ctrlKey && !controlIsDown) {
    sendZoom({ clientX: e.clientX, clientY: e.clientY }, Math.exp(-e.deltaY / 100));
    return;
  }
  const unit = [100, 3, 1][e.deltaMode];  // of a notch: pixels, lines, pages
  sendMove(e);
  send(WHEEL, held(e), ...notches(-e.deltaX / unit), ...notches(-e.deltaY / unit));
}
screen_.addEventListener("wheel", turnWheel, { passive: false });

// Texts that can be selected, and found by the browser, over their pictures. A click on one of them that
// selects nothing is the viewer's.
const texts = document.getElementById("texts");
const isSelecting = () => !getSelection().isCollapsed && texts.contains(getSelection().anchorNode);
let waiting = null;  // texts for after the selection
function showTexts(lines) {
  waiting = isSelecting() ? lines : null;
  if (waiting !== null) return;
  const share = screen_.clientWidth / size.width;
  const spans = lines.split("\n").filter(line => line !== "").map(line => {
    const [left, top, width, height] = line.split(" ", 4).map(each => Number(each) * share);
    const span = document.createElement("span");
    span.textContent = line.split(" ").slice(4).join(" ");
    Object.assign(span.style, { left: `${left}px`, top: `${top}px`, font: `${height * 0.8}px/${height}px sans-serif` });
    return { span, width };
  });
  texts.replaceChildren(...spans.map(each => each.span));
  const widths = spans.map(each => each.span.offsetWidth);  // all at once: the browser lays out once
  spans.forEach(({ span, width }, i) => { span.style.transform = `scaleX(${width / Math.max(widths[i], 1)})`; });
}
document.addEventListener("selectionchange", () => { if (waiting !== null) showTexts(waiting); });
texts.addEventListener("pointermove", e => { if (e.buttons === 0) sendMove(e); });
texts.addEventListener("wheel", turnWheel, { passive: false });
texts.addEventListener("click", e => {
  if (isSelecting()) return;
  sendMove(e);
  for (const down of [1, 0]) send(BUTTON, held(e), 0, down);
});

// Left to the browser: tabs, reloading, its zoom, its tools; and pasting, which comes as text.
function isBrowsers(e) {
  if (/^F\d+$/.test(e.key)) return e.key !== "F1" && e.key !== "F3";
  if (!e.ctrlKey && !e.metaKey || e.altKey) return false;
  return /^[0-9ntwrlv+=-]$/i.test(e.key) || /^c$/i.test(e.key) && isSelecting();
}
function sendKey(e, state) {
  const name = new TextEncoder().encode(e.key);
  if (name.length >= 1 && name.length <= 32) send(KEY, held(e), state, name.length, ...name);
}
window.addEventListener("keydown", e => {
  if (e.key === "Control") controlIsDown = true;
  if (e.isComposing || isBrowsers(e)) return;
  sendKey(e, e.repeat ? 2 : 1);
  if (e.metaKey) sendKey(e, 0);  // macOS doesn't say when it comes up
  e.preventDefault();
});
window.addEventListener("keyup", e => {
  if (e.key === "Control") controlIsDown = false;
  sendKey(e, 0);
});
window.addEventListener("blur", () => {
  buttons = 0;
  controlIsDown = false;
  send(BLUR);
});
// A file that is dropped must not replace the page.
for (const kind of ["dragover", "drop"]) window.addEventListener(kind, e => e.preventDefault());
document.addEventListener("paste", e => {
  const text = new TextEncoder().encode(
    e.clipboardData.getData("text/plain").slice(0, MOST_PASTED).replace(/\s+/g, " "));
  send(PASTE, ...u16(text.length), ...text);
});
const sendHidden = () => send(HIDDEN, document.hidden ? 1 : 0);
document.addEventListener("visibilitychange", sendHidden);

// --- from the program ---

// Written to and read from the stream directly: a Blob would go through the browser's other
// processes.
async function inflate(bytes, size) {
  const stream = new DecompressionStream("deflate"), reader = stream.readable.getReader();
  const writer = stream.writable.getWriter(), whole = new Uint8Array(size);
  writer.write(bytes).catch(() => {});  // the reader hears of it as well
  writer.close().catch(() => {});
  for (let at = 0;;) {
    const { done, value } = await reader.read();
    if (done) return whole;
    whole.set(value, at);
    at += value.length;
  }
}
function resize(width, height) {
  if (screen_.width === width && screen_.height === height) return;
  screen_.width = width;
  screen_.height = height;
}
function drawn(number, from) {
  screen_.dataset.frame = number;
  if (from === transport) send(DRAWN, ...u32(number));
}
// A frame whose colours aren't compressed.
function drawPlain(bytes, from) {
  const view = new DataView(bytes.buffer);
  const count = view.getUint16(9, true);
  resize(view.getUint16(5, true), view.getUint16(7, true));
  let next = 11 + 8 * count;
  for (let i = 0, box = 11; i < count; ++i, box += 8) {
    const width = view.getUint16(box + 4, true), height = view.getUint16(box + 6, true);
    const pixels = new Uint8ClampedArray(bytes.buffer, next, 4 * width * height);
    context.putImageData(new ImageData(pixels, width, height), view.getUint16(box, true), view.getUint16(box + 2, true));
    next += pixels.length;
  }
  drawn(view.getUint32(1, true), from);
}
async function draw(bytes, from) {
  const view = new DataView(bytes.buffer);
  const number = view.getUint32(1, true), count = view.getUint16(9, true);
  let size = 0;  // of the boxes' colours
  for (let box = 11; box < 11 + 8 * count; box += 8)
    size += 3 * view.getUint16(box + 4, true) * view.getUint16(box + 6, true);
  const colours = await inflate(bytes.subarray(11 + 8 * count), size);
  resize(view.getUint16(5, true), view.getUint16(7, true));
  let next = 0;
  for (let i = 0, box = 11; i < count; ++i, box += 8) {
    const image = context.createImageData(view.getUint16(box + 4, true), view.getUint16(box + 6, true));
    const pixels = new Uint32Array(image.data.buffer);
    for (let j = 0; j < pixels.length; ++j, next += 3)
      pixels[j] = colours[next] | colours[next + 1] << 8 | colours[next + 2] << 16 | 0xff000000;
    context.putImageData(image, view.getUint16(box, true), view.getUint16(box + 2, true));
  }
  drawn(number, from);
}
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    screen_.focus();
  }
}
function download(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
const save = () => screen_.toBlob(image => download("tidemark.png", image));
async function take(bytes, from) {
  const text = () => new TextDecoder().decode(bytes.subarray(1));
  switch (bytes[0]) {
    case 1: return draw(bytes, from);
    case 2: return copy(text());
    case 3: return save();
    case 4: screen_.style.cursor = CURSORS[bytes[1]] ?? "none"; return;
    case 5: store(text()); return;
    case 6: document.title = text(); return;
    case 7: return drawPlain(bytes, from);
    case 8: return choose();
    case 9: return showOverview(text());
    case 10: return advise();
    case 11: return showTexts(text());
  }
}
