// The page's worker: the viewer itself, compiled, and its files. exports.cpp has the other side.
"use strict";
let module = null, timer = null, folders = 0, progressAt = 0, advises = false;

function turn() {
  timer = null;
  const pause = module._page_turn();
  if (pause >= 0) timer = setTimeout(turn, 1e3 * pause);
  else if (advises) module._page_send_findings();
}
function soon() {
  if (timer !== null) clearTimeout(timer);
  timer = setTimeout(turn, 0);
}
function add(files) {
  const folder = `/files/${++folders}`, paths = [];
  module.FS.mkdirTree(folder);
  // Files are read in place, a part at a time: nothing of a file is copied before it is needed.
  module.FS.mount(module.WORKERFS, { blobs: files.map(({ name, data }) => ({ name, data })) }, folder);
  for (const { name } of files) paths.push(`${folder}/${name}`);
  const text = module.stringToNewUTF8(paths.join("\n"));
  module._page_add(text);
  module._free(text);
  soon();
}
function put(bytes) {
  const room = module._page_room(bytes.length);
  module.HEAPU8.set(bytes, room);
  return room;
}
const handlers = {
  async begin({ wasm, dark, location, advice }) {
    advises = advice;
    module = await createTidemark({
      wasmBinary: wasm,
      message: bytes => postMessage({ message: bytes }, [bytes.buffer]),
      progress(share, activity) {  // ten times a second: each is a message
        const now = Date.now();
        if (now < progressAt + 100) return;
        progressAt = now;
        postMessage({ progress: share, activity });
      },
      file(path) {
        const bytes = module.FS.readFile(path);
        module.FS.unlink(path);
        postMessage({ file: path.split("/").pop(), bytes }, [bytes.buffer]);
      },
      text: text => postMessage(advises ? { findings: text } : { figures: text }),
      printErr: text => console.warn(text),
    });
    const place = module.stringToNewUTF8(location);
    const opened = module._page_open(dark ? 1 : 0, advises ? 1 : 0, place);
    module._free(place);
    postMessage(opened ? { ready: true } : { failed: "the viewer could not start" });
    if (!advises) soon();
  },
  add: ({ files }) => add(files),
  events({ bytes }) {
    module._page_take(put(bytes), bytes.length);
    soon();
  },
  findings({ text }) {
    const bytes = new TextEncoder().encode(text);
    module._page_take_findings(put(bytes), bytes.length);
    soon();
  },
  figures: () => module._page_send_figures(),
};
let last = Promise.resolve();  // one after the other: the first ones wait for the start
onmessage = ({ data }) => {
  last = last.then(() => handlers[data.kind](data))
    .catch(error => postMessage({ failed: String(error.message ?? error) }));
};
