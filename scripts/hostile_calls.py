"""One call of a program under limits, and the checks that it must pass with any input."""
import dataclasses
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess

SECONDS = 60  # all inputs are small: a longer run hangs, even on a busy machine
ADDRESS_SPACE = 4 << 30
MEANT = {0: "done", 1: "answered no", 2: "refused", 3: "refused", 4: "out of memory",
         5: "not possible", 127: "not loaded"}
# Characters that must not reach a terminal: controls except newline, and bidirectional marks.
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class Fault(Exception):
    """Something that must not happen."""


@dataclasses.dataclass
class Call:
    words: list
    code: int
    out: bytes
    err: bytes

    def line(self):
        return f"$ {shlex.join(self.words)}  -> {self.code}"

    def told(self):
        return (f"{self.line()}\n{self.out.decode('utf-8', 'backslashreplace')[:3000]}"
                f"{self.err.decode('utf-8', 'backslashreplace')[:3000]}")


@dataclasses.dataclass(frozen=True)
class Limits:
    address_space: int = ADDRESS_SPACE
    files: int = 256
    file_size: int = 1 << 30

    def words(self):
        """A program that sets the limits and then executes what follows: no code of ours runs between
        fork and exec."""
        return ["prlimit", f"--as={self.address_space}", f"--nofile={self.files}",
                f"--fsize={self.file_size}", "--core=0"]


class Caller:
    """Calls the programs of a build in a separate folder, and checks each call."""

    def __init__(self, build, folder):
        self.build = pathlib.Path(build).resolve()
        self.folder = pathlib.Path(folder)
        self.calls = []
        self.started = []
        self.environment = {
            "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(self.folder / "home"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "TIDEMARK_RUNTIME_DIR": str(self.folder / "runtime"),
            "TIDEMARK_RECORDINGS": str(self.folder / "recordings")}

    def path(self, name):
        return str(self.folder / name)

    def write(self, name, data):
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        return str(target)

    def program(self, name):
        return str(self.build / name)

    def start(self, words, limits=Limits(), **settings):
        process = subprocess.Popen(
            [*limits.words(), *words], cwd=self.folder, env=self.environment,
            stdin=settings.pop("stdin", subprocess.DEVNULL),
            stdout=settings.pop("stdout", subprocess.PIPE), stderr=subprocess.PIPE, **settings)
        self.started.append(process)
        return process

    def __call__(self, words, limits=Limits(), checked=True, **settings):
        """Runs it to its end. With `checked`, its output must be fit for people or programs."""
        return self.finish(self.start(words, limits, **settings), words, checked)

    def finish(self, process, words, checked=True):
        try:
            out, err = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            self.calls.append(Call(words, -1, out or b"", err or b""))
            raise Fault(f"hangs: not done after {SECONDS} s") from None
        call = Call(words, process.returncode, out or b"", err or b"")
        self.calls.append(call)
        check_end(call)
        if checked:
            check_texts(call)
        return call

    def outcome(self):
        return MEANT.get(self.calls[-1].code, "done") if self.calls else "done"

    def end(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()


def check_end(call):
    """Checks that it ended by itself with one of its exit codes, and that a failure has a
    message."""
    if call.code < 0 and -call.code != signal.SIGPIPE:
        raise Fault(f"ended by {signal.Signals(-call.code).name}: {call.err[-300:]!r}")
    for word in (b"check failed", b"terminate called", b"Sanitizer", b"runtime error"):
        if word in call.err:
            raise Fault(f"says '{word.decode()}': {call.err[-300:]!r}")
    if call.code > 0 and call.code not in MEANT:
        raise Fault(f"ended with code {call.code}, which means nothing: {call.err[-300:]!r}")
    if call.code in (2, 3, 5, 127) and len(call.err.strip()) < 10 and call.out.strip() == b"":
        raise Fault(f"failed with code {call.code} without a sentence")


def check_texts(call):
    for stream in (call.out, call.err):
        text = stream.decode("utf-8", "surrogateescape")
        found = RAW.search(text) or re.search("[\udc80-\udcff]", text)
        if found:
            around = text[max(0, found.start() - 30):found.end() + 30]
            raise Fault(f"prints {found.group()!r} raw: {around!r}")
    if "--json" in call.words and call.code in (0, 1, 4) and call.out.strip():
        check_json(call.out.decode())


def no_constant(word):
    raise ValueError(f"{word} is not a number of JSON")


def check_json(text):
    """One value, or one per line."""
    try:
        json.loads(text, parse_constant=no_constant)
    except ValueError as whole:
        try:
            for line in text.splitlines():
                json.loads(line, parse_constant=no_constant)
        except ValueError:
            raise Fault(f"prints invalid JSON: {whole}: {text[:200]!r}") from None
