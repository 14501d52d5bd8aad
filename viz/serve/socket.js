// The connection of a served page to its viewer, and how it reconnects.
let socket = null, wait = 500;  // wait: milliseconds before it tries to connect again

let key = "";  // of our view; kept where the browser lets us, so that it outlives a reload
function store(text) {
  key = text;
  try { sessionStorage.setItem("view", key); } catch { /* it lives as long as the page */ }
}
try { key = sessionStorage.getItem("view") ?? ""; } catch { /* as above */ }
// Beside the page, under whatever path a proxy has it.
function address() {
  const found = new URL(location.pathname.replace(/\/?$/, "/socket") + location.search, location.href);
  found.searchParams.set("view", key);
  return found;
}
// Why there is no connection, in the program's words: a refused WebSocket doesn't give a reason.
async function reason() {
  try {
    const answer = await fetch(address().href + "&from=" + location.origin, { signal: AbortSignal.timeout(5000) });
    const text = answer.headers.get("content-type")?.startsWith("text/plain") ? (await answer.text()).trim() : "";
    if (text && text.length < 500) return text;
  } catch { /* nobody answers */ }
  return "No connection to the viewer: it has ended, or the tunnel is closed.";
}
function connect() {
  const target = address();
  target.protocol = target.protocol.replace("http", "ws");
  const opened = new WebSocket(target);
  let last = Promise.resolve();  // messages are taken one after the other
  const carrier = {
    ready: () => opened.readyState === WebSocket.OPEN,
    post: bytes => opened.send(bytes),
  };
  socket = opened;
  transport = carrier;
  opened.binaryType = "arraybuffer";
  opened.onopen = () => {
    events = [];
    sendSize();
    sendHidden();
  };
  opened.onmessage = e => {
    if (wait > 0) notice.textContent = "";
    wait = 0;
    last = last.then(() => take(new Uint8Array(e.data), carrier)).catch(console.error);
  };
  opened.onclose = async e => {
    const text = { 1001: "The viewer has ended.", 1008: "The viewer doesn't understand this page: reload it.",
      4001: "Another page shows this view now. Reload this page for a view of its own." };
    if (e.code === 4001) store("");
    if (e.code in text) {
      notice.textContent = text[e.code];
      return;
    }
    // Immediately after a working connection: proxies end silent ones after a while.
    if (wait > 0) notice.textContent = await reason() + " Trying again...";
    setTimeout(connect, wait);
    wait = Math.min(8000, Math.max(500, wait * 2));
  };
}
screen_.focus();
connect();
