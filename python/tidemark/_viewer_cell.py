"""The HTML that a notebook shows for a viewer: a frame, at an address that the browser can reach.

Only the browser knows where it runs: on the kernel's machine, behind an SSH tunnel that forwards
only Jupyter's port, or behind a hub. So the cell tries the addresses there: jupyter-server-proxy if
this Jupyter has it, else the viewer's own port. If neither answers, it says what to do.
"""

from __future__ import annotations

import html
import json
import secrets
import socket
import urllib.parse

FRAME = ('<iframe {} width="100%" height="{}" allow="clipboard-write; fullscreen" '
         'style="border: 0"></iframe>')

TEXT = """\
<p>The viewer runs at <a href="{url}" target="_blank">port {port}</a>. <span>If you see nothing
here, your browser can't reach that port. Either <code>pip install jupyter-server-proxy</code> where
Jupyter runs and restart Jupyter, or forward the port: <code>ssh -L {port}:127.0.0.1:{port}
{machine}</code>, or <i>Ports</i> in VS Code.</span> <button>Try again</button></p>
"""

SCRIPT = """\
<script>
(() => {
  const cell = document.getElementById(CELL), own = new URL(LINK);
  const frame = cell.querySelector("iframe"), text = cell.querySelector("p");
  const reason = cell.querySelector("span");
  const config = document.getElementById("jupyter-config-data");  // of JupyterLab and Notebook 7
  const base = config ? JSON.parse(config.textContent).baseUrl : document.body.dataset.baseUrl;
  async function through(proxy) {
    const answer = await fetch(proxy + own.search), said = await answer.text();
    const isText = (answer.headers.get("content-type") ?? "").startsWith("text/plain");
    if (!answer.ok && isText && said.includes("viewer")) reason.textContent = said;
    return answer.ok && said.includes("<title>Tidemark</title>");
  }
  async function address() {
    const proxy = base && `${base}proxy/${own.port}/`;
    try { if (proxy && await through(proxy)) return proxy + own.search; } catch { /* none */ }
    await fetch(own.origin, { mode: "no-cors" });  // without the token, and fails if nobody answers
    return own.href;
  }
  async function show() {
    try {
      frame.src = await address();
      frame.hidden = false;
      text.hidden = true;
    } catch { /* the text stays */ }
  }
  cell.querySelector("button").addEventListener("click", show);
  show();
})();
</script>
"""


def frame(url: str, height: int) -> str:
    """A frame with that address, for every browser."""
    return FRAME.format(f'src="{html.escape(url)}"', height)


def cell(url: str, height: int) -> str:
    """A cell that finds an address which the browser can reach, or says what to do."""
    name = f"tidemark-{secrets.token_hex(8)}"
    script = SCRIPT.replace("CELL", json.dumps(name)).replace(
        "LINK", json.dumps(url).replace("<", "\\u003c"))
    text = TEXT.format(url=html.escape(url), port=urllib.parse.urlsplit(url).port,
                         machine=html.escape(socket.gethostname()))
    return f'<div id="{name}">\n{FRAME.format("hidden", height)}\n{text}</div>\n{script}'
