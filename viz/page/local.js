// The page's viewer in a worker of the page: its start, its files, and how far it is.
const work = document.getElementById("work"), input = document.getElementById("files");
const opened = [];  // files, for a viewer that is begun anew
let worker = null;

// What the page carries: compressed, as text.
async function carried(id) {
  const text = document.getElementById(id).textContent.trim();
  if (text === "") return null;
  const bytes = await (await fetchData(text)).arrayBuffer();
  return bytes;
}
function fetchData(text) {
  const binary = atob(text), bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = binary.charCodeAt(i);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
}
function showWork(share, activity) {
  work.hidden = false;
  work.firstChild.textContent = activity;
  work.querySelector("progress").value = share;
}
function received({ data }) {
  if (data.message) {
    work.hidden = true;
    take(data.message, transport);
  } else if (data.activity !== undefined) {
    showWork(data.progress, data.activity);
  } else if (data.ready) {
    notice.textContent = "";
    sendSize();
    send(HIDDEN, document.hidden ? 1 : 0);
    screen_.focus();
  } else if (data.failed) {
    notice.textContent = "This page could not go on: " + data.failed + ". Load it anew.";
  }
}
let program = null;
async function begin() {
  program ??= await carried("program");
  if (program === null) throw new Error("the page is not complete");
  const source = new Blob([document.getElementById("worker").textContent], { type: "text/javascript" });
  worker = new Worker(URL.createObjectURL(source));
  worker.onmessage = received;
  worker.onerror = e => received({ data: { failed: e.message || "its worker stopped" } });
  const started = worker;
  transport = {
    ready: () => worker === started,
    post: bytes => started.postMessage({ kind: "events", bytes }, [bytes.buffer]),
  };
  const place = new URLSearchParams(location.hash.slice(1)).get("goto") ?? "";
  worker.postMessage({ kind: "begin", wasm: program, dark: !matchMedia("(prefers-color-scheme: light)").matches,
    location: place });
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
// The viewer works on one thing at a time and hears nothing meanwhile: cancelling ends it, and another
// begins without what was opened last.
work.querySelector("button").addEventListener("click", async () => {
  worker.terminate();
  work.hidden = true;
  const before = opened.splice(0).slice(0, -1);
  await begin();
  for (const files of before) open(files);
});
async function start() {
  await begin();
  const trace = await carried("trace");
  if (trace !== null)
    open([{ name: document.getElementById("trace").dataset.name, data: new Blob([trace]) }]);
}
start().catch(error => { notice.textContent = "This page can't begin: " + error.message; });
