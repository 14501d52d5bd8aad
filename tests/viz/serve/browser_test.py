"""`tidemark view --serve` as users meet it: the real program, a client of Python's standard library,
and a real browser where there is one.

Usage: browser_test.py --program tidemark-view --live live_example
"""
import argparse
import contextlib
import os
import re
import signal
import socket
import socketserver
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

from browser import Browser, find_browser
from web_client import (CLOSED_BY_POLICY, CLOSED_GOING_AWAY, CLOSED_TAKEN, CLOSED_TOO_BIG, NotServed, Refused,
                        Served)

ROOT = Path(__file__).resolve().parents[3]
SAMPLE = str(ROOT / "traces" / "samples" / "torch" / "multistream.pickle.xz")
TIMELINE = (300, 300)  # pixels of a screen of 640 x 480 and of 1000 x 700
PROGRAM = LIVE = None
NOTICE = "document.getElementById('notice')?.textContent"  # also before the page is there
SHIFT = 8  # as developer tools count modifiers


def loaded(served, view=0):
    state = served.state(view)
    return state and state["page"] == "views" and not state["loading"]


class Proxy(socketserver.ThreadingTCPServer):
    """Forwards to a port as jupyter-server-proxy does: without the path before it. A context."""

    daemon_threads, allow_reuse_address = True, True

    def __init__(self, port):
        super().__init__(("127.0.0.1", 0), None)
        self.port, self.host, self.wires = port, None, []
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def link(self, path, token):
        return f"http://localhost:{self.server_address[1]}{path}?token={token}"

    def cut(self):
        """Ends all connections, without a word."""
        for wire in self.wires:
            with contextlib.suppress(OSError):
                wire.shutdown(socket.SHUT_RDWR)

    def __exit__(self, *error):
        self.shutdown()
        self.cut()
        self.server_close()

    def finish_request(self, request, _address):
        head = b""
        while b"\r\n\r\n" not in head:
            part = request.recv(1 << 16)
            if not part:
                return
            head += part
        head = re.sub(rb"^GET /user/me/proxy/1/?", b"GET /", head)
        if self.host:
            head = re.sub(rb"\r\nHost: [^\r]*", b"\r\nHost: " + self.host.encode(), head)
        with socket.create_connection(("127.0.0.1", self.port)) as wire:
            self.wires += [request, wire]
            wire.sendall(head)
            threading.Thread(target=self.pass_on, args=(request, wire), daemon=True).start()
            self.pass_on(wire, request)

    @staticmethod
    def pass_on(source, target):
        with contextlib.suppress(OSError):
            while part := source.recv(1 << 16):
                target.sendall(part)
            target.shutdown(socket.SHUT_WR)


class Client(unittest.TestCase):
    """By messages."""

    def serve(self, *arguments, **options):
        served = self.enterContext(Served(PROGRAM, *(arguments or (SAMPLE, "--view", "timeline")), **options))
        return served

    def look(self, served, **options):
        client = self.enterContext(served.connect(**options))
        view = getattr(served, "views", 0)
        served.views = view + 1
        client.until(lambda: loaded(served, view), "the trace is loaded")
        client.settle()
        return client

    def test_mouse_keys_and_rest(self):
        served = self.serve()
        client = self.look(served)
        self.assertEqual(client.size, (640, 480))
        self.assertEqual(client.title, "Tidemark - multistream.pickle.xz")
        received, used = client.bytes, served.cpu_seconds()
        client.settle(1)
        self.assertEqual(client.bytes, received)
        self.assertLess(served.cpu_seconds() - used, 0.05)
        before = served.state()["window"]
        client.move(*TIMELINE)
        client.wheel(2)
        client.until(lambda: served.state()["window"] != before, "the wheel zooms")
        client.key("x")
        client.until(lambda: served.state()["unit"] == "time", "X shows time")
        client.key("f")
        client.until(lambda: served.state()["typing"], "F finds")
        client.paste("stream=7")
        client.until(lambda: served.state()["filter"] == "stream=7", "text is pasted")
        client.key("Escape")
        client.until(lambda: not served.state()["typing"], "Esc ends that")
        client.key("y")
        client.until(lambda: client.copied, "a place is copied")
        self.assertIn("view=timeline", client.copied)

    def test_no_other_file_can_be_opened(self):
        served = self.serve()
        client = self.look(served)
        client.key("o", held=1)  # Ctrl
        client.settle()
        self.assertEqual(served.state()["popup"], "")
        client.key("U", held=2)  # Shift
        client.until(lambda: served.state()["popup"] == "replay", "policies can be replayed: that only reads")
        client.paste("buddy")
        client.settle()
        client.key("Enter")
        client.settle()
        client.key("Enter")
        client.until(lambda: served.state()["runs"] == 2, "a replay")
        client.until(lambda: served.state()["main"] == ["compare"], "is compared")

    def test_two_browsers_have_views_of_their_own(self):
        served = self.serve()
        first, second = self.look(served), self.look(served, size=(800, 500))
        self.assertNotEqual(first.view_key, second.view_key)
        first.key("x")
        first.until(lambda: served.state(0)["unit"] == "time", "over time, which makes its peaks narrow")
        second.settle()
        self.assertEqual(served.state(1)["unit"], "events")
        self.assertEqual(second.size, (800, 500))

    def test_a_connection_that_breaks_finds_its_view_again(self):
        served = self.serve()
        client = self.look(served)
        client.key("x")
        client.until(lambda: served.state()["unit"] == "time")
        client.settle()
        # Gone without a word, in the middle of a message.
        client.wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.wire.sendall(b"\x82\xfe")
        client.wire.close()
        with served.connect(view=client.view_key) as again:
            again.until(lambda: again.frames > 0)
            again.settle()
            self.assertEqual(again.view_key, client.view_key)
            self.assertEqual(again.pixels, client.pixels)
            # Who comes back while the connection seems alive, or is a copy of the tab, takes the view.
            with served.connect(view=client.view_key) as copy:
                copy.until(lambda: copy.frames > 0)
                self.assertEqual(copy.view_key, client.view_key)
                self.assertEqual(again.until_closed(), CLOSED_TAKEN)
                copy.key("x")
                copy.until(lambda: served.state()["unit"] == "events")

    def test_only_the_link_opens_it(self):
        served = self.serve()
        page = f"/?token={served.token}"
        status, headers, body = served.request(page)
        self.assertEqual(status, 200)
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        self.assertEqual(headers["Cache-Control"], "no-store")
        self.assertNotIn(b"{{nonce}}", body)
        self.assertNotIn(b"http://", body)
        self.assertNotIn(b"https://", body)
        wrong = served.token[:-1] + ("0" if served.token[-1] != "0" else "1")
        for target, status in ((page, 200), ("/", 403), (f"/?token={wrong}", 403), ("/?token=", 403),
                               (f"/../../etc/passwd?token={served.token}", 404), (f"{SAMPLE}?token={served.token}", 404),
                               (f"/socket?token={served.token}", 426), ("/socket", 403)):
            self.assertEqual(served.request(target)[0], status, target)
        self.assertEqual(served.request(page, method="POST")[0], 405)
        self.assertEqual(served.request(page, headers={"Host": "evil.example"})[0], 421)
        for options, status in (({"token": wrong}, 403), ({"token": ""}, 403),
                                ({"headers": {"Host": f"evil.example:{served.port}"}}, 421),
                                ({"headers": {"Origin": "http://evil.example"}}, 403),
                                ({"headers": {"Origin": "null"}}, 403)):
            with self.assertRaises(Refused) as refused:
                served.connect(**options)
            self.assertEqual(refused.exception.status, status, options)

    def test_a_name_that_was_given_is_served(self):
        served = self.serve(SAMPLE, "--allow-host", "gpu.example.org")
        headers = {"Host": "gpu.example.org", "Origin": "https://gpu.example.org"}
        self.assertEqual(served.request(f"/?token={served.token}", headers=headers)[0], 200)
        self.look(served, headers=headers)

    def test_proxies_are_understood(self):
        served = self.serve()
        local = f"127.0.0.1:{served.port + 1}"  # ssh -L, VS Code: the other end has another port
        hub, tunnel = "hub.example.net", f"k7x2-{served.port}.euw.devtunnels.ms"
        for headers in ({"Host": local, "Origin": f"http://{local}"},
                        {"Host": hub, "Origin": f"https://{hub}", "X-Forwarded-Proto": "https"},
                        {"Host": "localhost", "Origin": f"http://localhost:{served.port}", "X-Forwarded-Host": tunnel},
                        {"Host": "127.0.0.1", "Origin": f"https://{tunnel}", "x-forwarded-host": f"{tunnel}, inner"}):
            self.assertEqual(served.request(f"/proxy/absolute/1/?token={served.token}", headers=headers)[0], 200)
            served.connect(headers=headers, size=None).wire.close()
        for headers, status in (({"Host": hub, "Origin": f"https://{hub}"}, 421),
                                ({"Host": hub, "Origin": "https://evil.example", "X-Forwarded-For": "10.1.2.3"}, 403),
                                ({"Host": hub, "Origin": f"https://{hub}", "X-Forwarded-Context": "/"}, 421)):
            with self.assertRaises(Refused) as refused:
                served.connect(headers=headers)
            self.assertEqual(refused.exception.status, status, headers)
        status, _, said = served.request(f"/socket?token={served.token}&from=https://{hub}")
        self.assertEqual((status, b"--allow-host hub.example.net" in said), (403, True))

    def test_what_is_too_much_or_wrong_is_cut_off_and_others_go_on(self):
        served = self.serve()
        client = self.look(served)
        for message, opcode, code in ((b"\x07" + bytes(20_000), 2, CLOSED_TOO_BIG), (b"\xff", 2, CLOSED_BY_POLICY),
                                      (b"\x02\x00", 2, CLOSED_BY_POLICY), (b"text", 1, CLOSED_BY_POLICY)):
            with served.connect() as other:
                other.send(message, opcode)
                self.assertEqual(other.until_closed(), code)
        with served.connect(size=None) as flood:
            try:
                for _ in range(200):
                    flood.wire.sendall((b"\x82\x81\0\0\0\0\x03") * 100)
            except OSError:
                pass  # it has been closed meanwhile
            self.assertIsNotNone(flood.until_closed())
        self.assertEqual(served.request("/?token=" + "a" * 20_000)[0], 0)
        client.key("x")
        client.until(lambda: served.state()["unit"] == "time")

    def test_so_many_look_and_one_more_is_refused_until_one_goes(self):
        served = self.serve()
        clients = [served.connect() for _ in range(8)]
        with self.assertRaises(Refused) as refused:
            served.connect()
        self.assertEqual(refused.exception.status, 503)
        # One of them that comes back needs no more room.
        clients[0].until(lambda: clients[0].view_key)
        clients.append(served.connect(view=clients[0].view_key))
        clients.pop(0).wire.close()
        clients.pop().wire.close()
        clients[0].until(lambda: self.joins(served, clients), "there is room again")
        for client in clients:
            client.wire.close()

    def joins(self, served, clients):
        try:
            clients.append(served.connect())
        except Refused:
            return False
        return True

    def test_who_says_nothing_is_cut_off_and_keeps_nobody_out(self):
        served = self.serve()
        silent = [socket.create_connection((served.host, served.port)) for _ in range(20)]
        silent[0].sendall(b"GET / HTTP/1.1\r\nHost: ")
        self.assertEqual(served.request(f"/?token={served.token}")[0], 200)
        for each in silent:
            each.close()

    def test_ctrl_c_says_goodbye(self):
        served = self.serve()
        client = self.look(served)
        served.process.send_signal(signal.SIGINT)
        self.assertEqual(client.until_closed(), CLOSED_GOING_AWAY)
        code, said = served.end()
        self.assertEqual(code, 0)
        self.assertIn(f"ssh -L {served.port}:127.0.0.1:{served.port}", said)

    def test_it_ends_with_its_input(self):
        served = self.serve(SAMPLE, "--end-with-input", stdin=subprocess.PIPE)
        self.assertIsNone(served.process.poll())
        served.process.stdin.close()
        self.assertEqual(served.process.wait(60), 0)

    def test_a_port_in_use_says_what_to_do(self):
        served = self.serve()
        for words, code, said in (([str(served.port), SAMPLE], 5, "--serve 0"), (["70000", SAMPLE], 2, "not a port"),
                                  ([SAMPLE, "--bind", "nowhere"], 2, "--bind"), ([], 2, "--attach"),
                                  ([SAMPLE, "--png", "x.png"], 2, "--png"), ([SAMPLE, "--view", "x"], 2, "--view")):
            done = subprocess.run([PROGRAM, "--serve", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
            self.assertIn(said, done.stderr)
        done = subprocess.run([PROGRAM, SAMPLE, "--bind", "::1"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--serve", done.stderr)

    def test_a_living_program_is_followed(self):
        with tempfile.TemporaryDirectory() as folder:
            environment = {"TIDEMARK_RUNTIME_DIR": f"{folder}/run", "TIDEMARK_RECORDINGS": f"{folder}/recordings"}
            program = subprocess.Popen([LIVE, "--name", "trainer", "--rate", "5000"], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, env={**os.environ, **environment})
            try:
                served = None
                while served is None:  # until it publishes
                    self.assertIsNone(program.poll())
                    with contextlib.suppress(NotServed):
                        served = self.serve("--attach", "trainer", "--view", "timeline", environment=environment)
                client = self.enterContext(served.connect())  # never at rest
                client.until(lambda: loaded(served), "there is something to see")
                extent = served.state()["extent"]
                client.until(lambda: served.state()["extent"] > extent, "it grows")
                program.kill()
                program.wait()
                client.until(lambda: served.state()["live"] == "ended", "it ends")
            finally:
                program.kill()
                program.wait()


class InBrowser(unittest.TestCase):
    """By Chromium."""

    def setUp(self):
        if find_browser() is None:
            self.skipTest("no Chromium here: the page was not opened")

    def test_mouse_keys_size_and_the_same_pixels(self):
        with Served(PROGRAM, SAMPLE, "--view", "timeline") as served, Browser(served.link) as browser:
            browser.wait(lambda: loaded(served), "the trace is loaded")
            browser.wheel(*TIMELINE, 2)
            browser.wait(lambda: served.state()["window"][0] > 0, "the wheel zooms")
            before = served.state()["window"]
            browser.drag(TIMELINE, (TIMELINE[0] + 100, TIMELINE[1]))
            browser.wait(lambda: served.state()["window"][0] < before[0], "dragging moves")
            browser.drag(TIMELINE, (TIMELINE[0] + 100, TIMELINE[1]), SHIFT)
            browser.wait(lambda: served.state()["measure"], "Shift-drag measures")
            browser.key("f")
            browser.wait(lambda: served.state()["typing"], "F finds")
            for letter in "relu":
                browser.key(letter)
            browser.wait(lambda: served.state()["filter"] == "relu", "what is typed is searched for")
            browser.key("Escape")
            browser.wait(lambda: not served.state()["typing"], "Esc ends that")
            browser.call("Emulation.setDeviceMetricsOverride", width=700, height=500, deviceScaleFactor=2, mobile=False)
            browser.wait(lambda: browser.evaluate("[screen_.width, screen_.height]") == [1400, 1000], "it is resized")
            self.assertEqual(browser.evaluate("document.title"), "Tidemark - multistream.pickle.xz")
            self.assertEqual(browser.said, [])  # no error, nothing that the page's rules forbid
            # A reload is a connection that breaks: the view is the same.
            kept = served.state()["window"], browser.evaluate("key")
            browser.call("Page.reload")
            browser.wait(lambda: browser.evaluate("typeof key !== 'undefined' && screen_.dataset.frame"), "it is back")
            self.assertEqual((served.state()["window"], browser.evaluate("key")), kept)
            self.assert_same_pixels(served, browser)

    def test_under_a_path_and_why_it_is_refused(self):
        with Served(PROGRAM, SAMPLE, "--view", "timeline") as served, Proxy(served.port) as proxy:
            with Browser(proxy.link("/user/me/proxy/1/", served.token)) as browser:
                browser.wait(lambda: loaded(served), "the trace is loaded")
                browser.evaluate("var cut = socket; 0")
                proxy.cut()
                browser.wait(lambda: browser.evaluate("socket !== cut && socket.readyState") == 1, "it connects again")
                self.assertEqual(browser.evaluate("notice.textContent"), "")
                browser.key("x")
                browser.wait(lambda: served.state()["unit"] == "time", "X shows time")
                # Without its last slash, as people type it; and by a proxy that hides where the page is from.
                proxy.host = f"127.0.0.1:{served.port}"
                browser.call("Page.navigate", url=proxy.link("/user/me/proxy/1", served.token))
                browser.wait(lambda: "--allow-host localhost" in (browser.evaluate(NOTICE) or ""),
                             "it says what to type")

    def assert_same_pixels(self, served, browser):
        """What the page shows is what another client makes of the same view."""
        browser.evaluate("send(LEAVE)")
        last = None
        while (shown := browser.pixels()) != last:
            last = shown
        pixels, width = shown
        key = browser.evaluate("key")
        with served.connect(view=key, size=None) as client:
            client.resize(width, len(pixels) // 4 // width, 2)
            client.until(lambda: client.frames > 0)
            client.settle()
            self.assertEqual(client.view_key, key)
            for colour in range(3):
                self.assertEqual(bytes(client.pixels[colour::3]), pixels[colour::4])
            browser.wait(lambda: "Another page" in browser.evaluate("notice.textContent"), "it says so")


def main():
    global PROGRAM, LIVE
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--live", required=True)
    words, rest = parser.parse_known_args()
    PROGRAM, LIVE = words.program, words.live
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
