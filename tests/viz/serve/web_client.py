"""A browser's side of `tidemark view --serve`, by Python's standard library alone: requests, a
WebSocket, and the pixels that the messages make."""
import base64
import json
import os
import re
import select
import signal
import socket
import struct
import subprocess
import tempfile
import time
import urllib.parse
import zlib

PATIENCE = 60  # seconds: machines that test are slow and busy
CLOSED_NORMALLY, CLOSED_GOING_AWAY, CLOSED_TOO_BIG, CLOSED_BY_POLICY, CLOSED_TAKEN = 1000, 1001, 1009, 1008, 4001


class NotServed(Exception):
    """What the program said, and ended."""


class Served:
    """The program, serving. A context; ended with it."""

    def __init__(self, program, *arguments, environment=None, stdin=subprocess.DEVNULL):
        self.folder = tempfile.TemporaryDirectory(prefix="tidemark-serve-")
        self.states = os.path.join(self.folder.name, "state")
        self.process = subprocess.Popen(
            [program, "--serve", "0", "--built-in-font", "--no-cache", "--state-to", self.states, *arguments],
            stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, **(environment or {})})
        self.link = self.process.stdout.readline().strip()
        if not self.link:
            said = self.process.stderr.read()
            self.__exit__()
            raise NotServed(said)
        parts = urllib.parse.urlsplit(self.link)
        self.host, self.port, self.token = parts.hostname, parts.port, parts.query.partition("=")[2]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()
        self.folder.cleanup()

    def end(self, by=signal.SIGINT):
        """Its exit code, and what it said on standard error."""
        self.process.send_signal(by)
        code = self.process.wait(PATIENCE)
        return code, self.process.stderr.read()

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def state(self, view=0):
        """What a view shows, as the last line of its log; None before its first frame."""
        try:
            with open(f"{self.states}.{view}") as file:
                whole = [line for line in file if line.endswith("\n")]
        except FileNotFoundError:
            return None
        return json.loads(whole[-1]) if whole else None

    def request(self, target="/", method="GET", headers=None):
        """(status, headers, body) of a plain request, status 0 if it is cut off; `headers` replace Host and add others."""
        lines = {"Host": f"{self.host}:{self.port}", **(headers or {})}
        with socket.create_connection((self.host, self.port), PATIENCE) as wire:
            text = f"{method} {target} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in lines.items())
            wire.sendall(text.encode() + b"\r\n")
            answer = b""
            try:
                while part := wire.recv(1 << 16):
                    answer += part
            except ConnectionResetError:
                if not answer:
                    return 0, {}, b""
        head, _, body = answer.partition(b"\r\n\r\n")
        first, *rest = head.decode().split("\r\n")
        return int(first.split()[1]), dict(line.split(": ", 1) for line in rest), body

    def connect(self, **options):
        return Client(self, **options)


class Refused(Exception):
    """The upgrade was answered otherwise; `status` says how."""

    def __init__(self, status):
        super().__init__(status)
        self.status = status


class Client:
    """A browser with the page open. Keeps the pixels; reports each frame as drawn."""

    def __init__(self, served, view="", token=None, size=(640, 480), headers=None, reports=True):
        self.reports, self.number, self.frames, self.bytes = reports, 0, 0, 0
        self.size, self.pixels = (0, 0), bytearray()
        self.view_key, self.title, self.copied, self.closed = view, None, None, None
        self.wire = socket.create_connection((served.host, served.port), PATIENCE)
        self.wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        lines = {"Host": f"{served.host}:{served.port}", "Origin": f"http://{served.host}:{served.port}",
                 "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
                 "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(), **(headers or {})}
        target = f"/socket?token={served.token if token is None else token}&view={view}"
        text = f"GET {target} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in lines.items())
        self.wire.sendall(text.encode() + b"\r\n")
        self.rest = b""
        while b"\r\n\r\n" not in self.rest:
            self._read()
            if self.closed:
                raise Refused(0)
        head, _, self.rest = self.rest.partition(b"\r\n\r\n")
        status = int(re.match(rb"HTTP/1.1 (\d+)", head)[1])
        if status != 101:
            self.wire.close()
            raise Refused(status)
        if size:
            self.resize(*size)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.wire.close()

    # --- to the program ---

    def send(self, data, opcode=2):
        length = len(data)
        head = bytes([0x80 | opcode]) + (
            bytes([0x80 | length]) if length < 126 else
            b"\xfe" + struct.pack(">H", length) if length < 1 << 16 else b"\xff" + struct.pack(">Q", length))
        self.wire.sendall(head + b"\0\0\0\0" + data)  # a mask of zeros

    def resize(self, width, height, ratio=1.0):
        self.send(struct.pack("<BHHH", 1, width, height, round(ratio * 256)))

    def move(self, x, y, held=0):
        self.send(struct.pack("<BBHH", 2, held, x, y))

    def button(self, button, down, held=0):
        self.send(struct.pack("<BBBB", 4, held, button, down))

    def click(self, x, y):
        self.move(x, y)
        self.button(0, 1)
        self.button(0, 0)

    def wheel(self, notches, held=0):
        self.send(struct.pack("<BBhh", 5, held, 0, round(notches * 256)))

    def key(self, name, held=0, state=None):
        raw = name.encode()
        for each in ([1, 0] if state is None else [state]):
            self.send(struct.pack("<BBBB", 6, held, each, len(raw)) + raw)

    def paste(self, text):
        raw = text.encode()
        self.send(struct.pack("<BH", 7, len(raw)) + raw)

    def hide(self, hidden):
        self.send(bytes([9, hidden]))

    # --- from the program ---

    def _read(self):
        try:
            part = self.wire.recv(1 << 16)
        except ConnectionResetError:
            part = b""
        if not part:
            self.closed = self.closed or CLOSED_NORMALLY
        self.rest += part

    def take(self, seconds=PATIENCE):
        """Takes one message, if one comes in that time; whether one did."""
        end = time.monotonic() + seconds
        while not self.closed:
            if message := self._whole():
                self._handle(*message)
                return True
            if not select.select([self.wire], [], [], max(0, end - time.monotonic()))[0]:
                return False
            self._read()
        return False

    def _whole(self):
        """The first message that is here as a whole, as (opcode, data)."""
        if len(self.rest) < 2:
            return None
        length, begin = self.rest[1] & 127, 2
        if length >= 126:
            width = 2 if length == 126 else 8
            if len(self.rest) < 2 + width:
                return None
            length, begin = int.from_bytes(self.rest[2:2 + width], "big"), 2 + width
        if len(self.rest) < begin + length:
            return None
        opcode, data = self.rest[0] & 15, self.rest[begin:begin + length]
        self.rest = self.rest[begin + length:]
        self.bytes += begin + length
        return opcode, data

    def _handle(self, opcode, data):
        if opcode == 8:
            self.closed = int.from_bytes(data[:2], "big") or CLOSED_NORMALLY
        elif opcode == 2 and data[0] == 1:
            self._draw(data)
        elif opcode == 2 and data[0] == 2:
            self.copied = data[1:].decode()
        elif opcode == 2 and data[0] == 5:
            self.view_key = data[1:].decode()
        elif opcode == 2 and data[0] == 6:
            self.title = data[1:].decode()

    def _draw(self, data):
        self.number, width, height, count = struct.unpack_from("<IHHH", data, 1)
        colours = zlib.decompress(data[11 + 8 * count:])
        if self.size != (width, height):
            self.size, self.pixels = (width, height), bytearray(3 * width * height)
        at = 0
        for i in range(count):
            left, top, wide, high = struct.unpack_from("<HHHH", data, 11 + 8 * i)
            if left + wide > width or top + high > height:
                raise ValueError("a box outside of the screen")
            for y in range(top, top + high):
                begin = 3 * (y * width + left)
                self.pixels[begin:begin + 3 * wide] = colours[at:at + 3 * wide]
                at += 3 * wide
        if at != len(colours):
            raise ValueError("colours of no box")
        self.frames += 1
        if self.reports:
            try:
                self.send(struct.pack("<BI", 8, self.number))
            except (BrokenPipeError, ConnectionResetError):
                pass  # the program has closed; why is still to be read

    def until(self, met, what=""):
        """Takes messages until it is so."""
        end = time.monotonic() + PATIENCE
        while not met():
            if time.monotonic() > end or self.closed:
                raise AssertionError(f"waited for: {what}; closed: {self.closed}")
            self.take(0.05)

    def until_closed(self):
        end = time.monotonic() + PATIENCE
        while not self.closed and time.monotonic() < end:
            self.take(0.5)
        return self.closed

    def settle(self, seconds=0.5):
        """Until nothing has come for so long."""
        while self.take(seconds):
            pass
