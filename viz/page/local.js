// The page's viewer in a worker of the page: its start, its files, and its progress.
const work = document.getElementById("work"), input = document.getElementById("files");
const overview = document.getElementById("overview"), answers = [];
const opened = [];  // files, for a viewer that is restarted
let worker = null, adviser = null;

function bytesOf(text) {
  const binary = atob(text), bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}
// The program, which the page carries compressed.
async function unpackProgram() {
  const text = document.getElementById("program").textContent.trim();
  if (text === "") throw new Error("the page is incomplete");
  const packed = new Blob([bytesOf(text)]).stream();
  return new Response(packed.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}
// Recordings that were put into the page (`tidemark page`), and the location of the first one, at which
// the page starts.
const carriedTraces = () => [...document.querySelectorAll("script.trace")].map(
  element => ({ name: element.dataset.name, data: new Blob([bytesOf(element.textContent)]) }));
function showWork(share, activity) {
  work.hidden = false;
  work.firstChild.textContent = activity;
  work.querySelector("progress").value = share;
}
function received({ data }) {
  if (data.message) {
    if (adviser === null) work.hidden = true;
    take(data.message, transport);
  } else if (data.activity !== undefined) {
    showWork(data.progress, data.activity);
  } else if (data.ready) {
    notice.textContent = "";
    sendSize();
    send(HIDDEN, document.hidden ? 1 : 0);
    screen_.focus();
  } else if (data.file !== undefined) {
    download(data.file, new Blob([data.bytes]));
  } else if (data.figures !== undefined) {
    answers.shift()?.(JSON.parse(data.figures));
  } else if (data.failed) {
    notice.textContent = "This page stopped: " + data.failed + ". Reload it.";
  }
}
let program = null;
function startWorker(onmessage) {
  const source = new Blob([document.getElementById("worker").textContent], { type: "text/javascript" });
  const address = URL.createObjectURL(source), started = new Worker(address);
  started.onmessage = onmessage;
  started.onerror = e => onmessage({ data: { failed: e.message || "its worker stopped" } });
  return started;
}
async function begin() {
  program ??= await unpackProgram();
  worker = startWorker(received);
  const started = worker;
  transport = {
    ready: () => worker === started,
    post: bytes => started.postMessage({ kind: "events", bytes }, [bytes.buffer]),
  };
  const place = new URLSearchParams(location.hash.slice(1)).get("goto")
    ?? document.querySelector("script.trace")?.dataset.goto ?? "";
  worker.postMessage({ kind: "begin", wasm: program, dark: !matchMedia("(prefers-color-scheme: light)").matches,
    location: place, advice: false });
}
// Hundreds of replays, in a worker of their own: the viewer continues meanwhile.
function advise() {
  adviser?.terminate();
  const started = startWorker(({ data }) => {
    if (data.activity !== undefined) return showWork(data.progress, data.activity);
    if (data.findings !== undefined) worker.postMessage({ kind: "findings", text: data.findings });
    if (data.findings === undefined && data.failed === undefined) return;
    work.hidden = true;
    started.terminate();
    if (adviser === started) adviser = null;
  });
  adviser = started;
  started.postMessage({ kind: "begin", wasm: program, dark: true, location: "", advice: true });
  for (const files of opened) started.postMessage({ kind: "add", files });
}
// Everything that the page shows, as text: for screen readers, and for the browser's own search.
function showOverview(text) {
  const lines = text.split("\n").filter(line => line !== "");
  overview.replaceChildren(...lines.map(line => Object.assign(document.createElement("p"), { textContent: line })));
}
// For programs that drive the page: the figures of `tidemark view --figures`.
function tidemarkFigures() {
  return new Promise(done => {
    answers.push(done);
    worker.postMessage({ kind: "figures" });
  });
}
function open(files) {
  if (files.length === 0) return;
  opened.push(files);
  document.title = "Tidemark - " + files[0].name;
  worker.postMessage({ kind: "add", files });
}
function choose() {
  input.value = "";
  input.click();
}
input.addEventListener("change", () => open([...input.files].map(data => ({ name: data.name, data }))));

// Files and folders that are dropped, with the folders' names before theirs.
async function filesOf(entry, folder = "") {
  if (entry.isFile)
    return [{ name: folder + entry.name, data: await new Promise((done, failed) => entry.file(done, failed)) }];
  const reader = entry.createReader(), found = [];
  for (;;) {  // a hundred at a time
    const some = await new Promise((done, failed) => reader.readEntries(done, failed));
    if (some.length === 0) break;
    for (const each of some) found.push(...await filesOf(each, `${folder}${entry.name}/`));
  }
  return found.sort((one, other) => one.name < other.name ? -1 : 1);
}
window.addEventListener("drop", async e => {
  const entries = [...e.dataTransfer.items].map(item => item.webkitGetAsEntry()).filter(entry => entry);
  open((await Promise.all(entries.map(entry => filesOf(entry)))).flat());
});
// The viewer works on one thing at a time and gets no messages meanwhile: cancelling ends it, and
// another starts without the files opened last.
work.querySelector("button").addEventListener("click", async () => {
  work.hidden = true;
  if (adviser !== null) {
    adviser.terminate();
    adviser = null;
    worker.postMessage({ kind: "findings", text: "[]" });
    return;
  }
  worker.terminate();
  const before = opened.splice(0).slice(0, -1);
  await begin();
  for (const files of before) open(files);
});
async function start() {
  const title = document.title;
  await begin();
  open(carriedTraces());
  if (title !== "Tidemark") document.title = title;  // set by whoever put the recordings in
}
start().catch(error => { notice.textContent = "This page can't start: " + error.message; });
