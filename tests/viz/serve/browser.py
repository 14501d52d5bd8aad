"""Chromium without a screen, driven as its developer tools do: real mouse and keys."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

from web_client import PATIENCE

NAMES = ("chromium", "chromium-browser", "google-chrome")


def find_browser():
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """A page. A context; ended with it."""

    def __init__(self, link, size=(1000, 700)):
        self.profile = tempfile.TemporaryDirectory(prefix="tidemark-browser-", ignore_cleanup_errors=True)
        to_read, self.to_write = os.pipe()
        self.from_read, from_write = os.pipe()
        command = [find_browser(), "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
                   f"--window-size={size[0]},{size[1]}", f"--user-data-dir={self.profile.name}",
                   "--disable-background-networking", "--disable-background-timer-throttling",
                   "--disable-renderer-backgrounding", "--no-first-run", "about:blank"]
        # It wants to read from 3 and write to 4.
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{to_read} 4>&{from_write}', "bash", *command],
            pass_fds=(to_read, from_write), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.rest, self.last, self.session, self.said = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1],
                  deviceScaleFactor=1, mobile=False)
        self.call("Runtime.enable")
        self.call("Log.enable")
        self.call("Page.enable")
        self.call("Page.navigate", url=link)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.kill()
        self.process.wait()
        os.close(self.to_write)
        os.close(self.from_read)
        self.profile.cleanup()

    def call(self, method, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_write, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + PATIENCE
        while True:
            while b"\0" not in self.rest:
                if not select.select([self.from_read], [], [], max(0, end - time.monotonic()))[0]:
                    raise AssertionError(f"the browser doesn't answer {method}")
                part = os.read(self.from_read, 1 << 16)
                if not part:
                    raise AssertionError("the browser has ended")
                self.rest += part
            one, _, self.rest = self.rest.partition(b"\0")
            answer = json.loads(one)
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise AssertionError(answer["error"])
                return answer["result"]
            if answer.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
                self.said.append(answer["params"])

    def evaluate(self, text):
        result = self.call("Runtime.evaluate", expression=text, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise AssertionError(result["exceptionDetails"])
        return result["result"].get("value")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def drag(self, begin, end, modifiers=0):
        held = {"button": "left", "buttons": 1, "clickCount": 1, "modifiers": modifiers}
        self.mouse("mouseMoved", *begin, modifiers=modifiers)
        self.mouse("mousePressed", *begin, **held)
        for step in range(1, 6):
            self.mouse("mouseMoved", *(a + (b - a) * step / 5 for a, b in zip(begin, end)), **held)
        self.mouse("mouseReleased", *end, **{**held, "buttons": 0})

    def wheel(self, x, y, notches):
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=-100 * notches)

    def zoom(self, seconds):
        """Zooms by the wheel over the plot, in and out, and returns how many frames a second came."""
        return self.evaluate("""(async () => {
          const first = Number(screen_.dataset.frame), begin = performance.now();
          for (let now = begin; now - begin < MILLISECONDS; now = performance.now()) {
            const inwards = (now - begin) % 3000 < 1500 ? 1 : -1;
            sendMove({ clientX: innerWidth * 0.3, clientY: innerHeight * 0.27 });
            send(WHEEL, 0, 0, 0, ...u16(inwards * 96));
            await new Promise(done => setTimeout(done, 16));
          }
          return (Number(screen_.dataset.frame) - first) / ((performance.now() - begin) / 1000);
        })()""".replace("MILLISECONDS", str(1000 * seconds)))

    def key(self, name, text=None, modifiers=0):
        code = f"Key{name.upper()}" if len(name) == 1 and name.isalpha() else name
        down = {"key": name, "code": code, "modifiers": modifiers}
        text = name if text is None and len(name) == 1 and not modifiers else text
        self.call("Input.dispatchKeyEvent", type="keyDown", **down, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **down)

    def wait(self, met, what=""):
        end = time.monotonic() + PATIENCE
        while not (value := met()):
            if time.monotonic() > end:
                raise AssertionError(f"waited for: {what}; the page said: {self.said}")
            time.sleep(0.02)
        return value

    def pixels(self):
        """What the canvas shows, as rows of (red, green, blue, alpha) in one piece; and its width."""
        text = self.evaluate(
            "(() => { const c = document.getElementById('screen'), d = c.getContext('2d')"
            ".getImageData(0, 0, c.width, c.height).data; let t = ''; for (let i = 0; i < d.length; i += 8192)"
            " t += String.fromCharCode(...d.subarray(i, i + 8192)); return btoa(t); })()")
        return base64.b64decode(text), self.evaluate("document.getElementById('screen').width")
