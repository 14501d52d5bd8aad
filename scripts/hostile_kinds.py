"""The kinds of runs of scripts/hostile: each breaks one thing and makes calls that use it.

A new kind is a function of (chance, caller, inputs) and a line in KINDS. It raises a Fault, or
leaves that to the caller, which checks every call.
"""
import dataclasses
import json
import os
import re
import signal
import socket
import subprocess
import time
from typing import Callable

from hostile_calls import Fault, Limits
from hostile_mutants import mutant

# Every command on a trace {t}, with its output in {o}.
CALLS = {
    "info": [["{t}"], ["{t}", "--json"], ["{t}", "--csv"], ["{t}", "--drift"],
             ["{t}", "--lenient", "--json"], ["{t}", "--strict"], ["{t}", "{u}", "--json"]],
    "import": [["{t}", "-o", "{o}.tmk"], ["{t}", "--lenient", "--json", "-o", "{o}.tmk"],
               ["{t}", "{u}", "-o", "{o}"]],
    "export": [["{t}", "-o", "{o}.jsonl"], ["{t}", "-o", "{o}.csv"], ["{t}", "-o", "{o}.json"],
               ["{t}", "-o", "{o}.json", "-p", "torch", "-p", "vpmm", "--json"]],
    "cut": [["{t}", "--from", "#20", "--to", "#200", "-o", "{o}.tmk"],
            ["{t}", "--from", "1us", "-o", "{o}.jsonl", "--json"],
            ["{t}", "--step", "1", "-o", "{o}.tmk"],
            ["{t}", "--until", "reserved > 1MiB", "-o", "{o}.tmk"]],
    "minimize": [["{t}", "--keep", "reserved > 2MiB", "--time", "1", "-o", "{o}.jsonl"]],
    "replay": [["{t}"], ["{t}", "--json"], ["{t}", "-p", "torch", "--csv"],
               ["{t}", "-p", "vpmm", "--check", "--json"], ["{t}", "-p", "extent", "--touch"],
               ["{t}", "-p", "best-fit", "--decisions", "{o}.txt"],
               ["{t}", "-p", "torch", "--memory", "64MiB", "--overhead", "0", "--until-fail",
                "--dump-state", "{o}.pickle"],
               ["{t}", "--plot", "{o}.svg", "--picture", "unicode"], ["{t}", "--spread", "3"],
               ["{t}", "--gpu-memory", "50%", "--json"],
               ["{t}", "--gpu-memory", "30%", "--host-memory", "16MiB", "--spill", "s3fifo",
                "--over-reservation", "increase", "--timeline", "{o}.jsonl"]],
    "advise": [["{t}", "--budget", "2"], ["{t}", "--budget", "2", "--json"],
               ["{t}", "{u}", "--json"]],
    "compare": [["{t}"], ["{t}", "-p", "torch", "-p", "buddy", "--json"], ["{t}", "{u}"],
                ["{t}", "-p", "torch", "-p", "bfc", "--jitter", "2", "--csv"],
                ["{t}", "--gpu-memory", "50%", "--spill", "lru", "--json"],
                ["{t}", "--plot", "{o}.png", "--markdown"]],
    "sweep": [["{t}", "-o", "{o}", "-p", "torch", "-p", "bump", "--json"]],
    "view": [["{t}", "--no-settings", "--png", "{o}.png", "--size", "640x480"],
             ["{t}", "--no-settings", "--view", "events", "--csv", "{o}.csv"],
             ["{t}", "--no-settings", "--view", "blocks", "--goto", "peak", "--csv", "{o}.csv"],
             ["{t}", "--no-settings", "--view", "address-map", "--png", "{o}.png", "-p", "torch"],
             ["{t}", "{u}", "--no-settings", "--view", "compare", "--png", "{o}.png"]],
    "report": [["{t}", "-o", "{o}.html", "--no-advise"], ["{t}", "--text", "--no-advise"],
               ["{t}", "-o", "{o}.html", "-p", "torch", "-p", "bump", "--json", "--no-advise"]],
    "fit": [["{t}"], ["{t}", "--memory", "1GiB", "--json"], ["{t}", "-p", "torch", "--csv"]],
    "scale": [["{t}", "--tokens", "x2", "--json"],
              ["{t}", "--batch", "x1.5", "--fit", "1GiB", "-o", "{o}.tmk"]],
    "bound": [["{t}", "--iterations", "20", "--json"], ["{t}", "--iterations", "5", "-o", "{o}.csv"]],
    "gate": [["{t}", "-p", "torch", "--fail-if", "peak_reserved > 1MiB", "--junit", "{o}.xml"],
             ["{t}", "--write-baseline", "{o}.json", "--json"]],
    "verify": [["{t}"], ["{t}", "--json"]],
    "generate": [["mix:events=50,seed=4", "-o", "{o}.tmk"]],
}
# Commands that read no trace, and the kind of run that calls them.
OTHER_COMMANDS = {"live": "publisher", "machines": "side", "calibrate": "side", "policies": "plain",
                  "victims": "plain", "devices": "plain", "doctor": "plain", "completion": "plain",
                  "man": "plain", "cache": "cache", "record": "plain"}
PLAIN = [["policies", "--json"], ["victims", "--json"], ["devices", "--json"], ["doctor", "--json"],
         ["completion", "bash"], ["man"], ["record", "-o", "x.tml", "--", "true"],
         ["policies", "extent"], ["machines", "--json"]]
# A side file {s} and the call that reads it.
SIDES = {
    "machine": ["replay", "query.tmk", "--machine", "{s}", "--gpu-memory", "50%", "--json"],
    "profile": ["replay", "mix.tmk", "-p", "torch", "--profile", "{s}", "--json"],
    "spec": ["sweep", "mix.tmk", "-o", "units", "--spec", "{s}", "--json"],
    "plan": ["replay", "mix.tmk", "-p", "plan:file={s}", "--json"],
    "baseline": ["gate", "mix.tmk", "-p", "torch", "--baseline", "{s}", "--fail-if",
                 "peak_reserved > +2%", "--json"],
}
VIEWS = [["--view", "events", "--csv"], ["--view", "blocks", "--goto", "peak", "--csv"],
         ["--view", "leaks", "--csv"], ["--view", "blocks", "--goto", "end", "--csv"],
         ["--view", "address-map", "--goto", "peak", "--size", "700x500", "--png"],
         ["--goto", "end", "--size", "700x500", "--png"],
         ["--view", "memory-now", "--goto", "peak", "--size", "640x480", "--png"],
         ["--view", "owners", "--size", "640x480", "--png"],
         ["--view", "blocks-over-time", "--size", "640x480", "--png"]]


def commands_left_out(build):
    """Commands of the program that no call here covers."""
    shown = subprocess.run([build / "tidemark", "--help"], capture_output=True, check=True).stdout
    listed = re.findall(r"^  ([a-z]+)(?:, [a-z]+)? {2,}",
                        shown.decode().split("Commands:")[1].split("\n\n")[0], re.MULTILINE)
    return [name for name in listed if name not in CALLS and name not in OTHER_COMMANDS
            and name != "help"]


def place(chance, caller, name, data):
    """A trace in the run's folder under a new name, sometimes a hostile one."""
    stem, dot, ending = name.partition(".")
    if chance.random() < 0.03:
        stem = chance.choice(["\x1b[31m", "a\nb", "-o", "=1+1", "\u202ecod", "x" * 200, "a b'\"$"])
    return caller.write(stem + dot + ending, data)


def filled(words, **values):
    for key, value in values.items():
        words = [word.replace("{" + key + "}", value) for word in words]
    return words


def trace(chance, caller, inputs):
    """Gives a command a changed trace of any format."""
    name = chance.choice(sorted(inputs.traces))
    first = place(chance, caller, name, mutant(chance, inputs.traces[name]))
    second = caller.write("second.tmk", inputs.traces["mix.tmk"])
    before = open(first, "rb").read()
    command = chance.choice(sorted(CALLS))
    words = filled(chance.choice(CALLS[command]), t=first, u=second, o=caller.path("out"))
    caller([caller.program("tidemark"), command, *words])
    if open(first, "rb").read() != before:
        raise Fault("the call changed the trace that it read")


def side(chance, caller, inputs):
    """A changed machine, profile, plan, baseline or unit of a sweep, with a valid trace."""
    name = chance.choice(sorted(inputs.sides))
    data = mutant(chance, inputs.sides[name])
    for each in ("mix.tmk", "query.tmk"):
        caller.write(each, inputs.traces[each])
    if name.startswith("unit"):
        for other, whole in inputs.sides.items():
            if other.startswith("unit"):
                caller.write("units/" + other.split(":")[1], data if other == name else whole)
        caller([caller.program("tidemark"), "sweep", "mix.tmk", "-o", "units", "-p", "torch", "-p",
                "bump", "--json"])
        caller([caller.program("tidemark"), "report", "units", "-o", "sweep.html", "--json"])
        return
    caller([caller.program("tidemark"), *filled(SIDES[name], s=caller.write("side.json", data))])


def plain(chance, caller, _):
    """Commands that read no trace, with few resources."""
    words = chance.choice(PLAIN)
    limits = Limits(files=chance.choice([8, 16, 256]),
                    address_space=chance.choice([1 << 27, 1 << 30, 4 << 30]))
    call = caller([caller.program("tidemark"), *words], limits, checked=False)
    if "--json" in words and call.code == 0:
        json.loads(call.out)


def shrinking(chance, caller, inputs):
    """A trace that gets shorter, or gets other bytes, while it is read: a copy overwrites it."""
    path = caller.write("long.tmk", inputs.long_trace)
    command = chance.choice(["info", "replay", "compare", "report", "fit", "export"])
    words = {"replay": ["-p", "torch"], "compare": ["-p", "torch", "-p", "buddy"],
             "report": ["-o", caller.path("o.html"), "--no-advise"], "fit": ["-p", "torch"],
             "export": ["-o", caller.path("o.jsonl")]}.get(command, [])
    call = [caller.program("tidemark"), command, path, *words]
    process = caller.start(call)
    time.sleep(chance.random() * 0.15)
    size = len(inputs.long_trace)
    with open(path, "r+b") as file:
        if chance.random() < 0.8:
            file.truncate(chance.choice([0, 4096, chance.randrange(size)]))
        else:
            file.seek(chance.randrange(size))
            file.write(chance.randbytes(8192))
    caller.finish(process, call)


def limits(chance, caller, inputs):
    """A valid trace with too little memory, too few files, a full disk, or no place to write."""
    name = chance.choice(["mix.tmk", "query.jsonl", "training.jsonl", "torch_snapshot-frames.pickle"])
    path = caller.write(name, inputs.traces[name])
    command = chance.choice(sorted(CALLS))
    words = filled(chance.choice(CALLS[command]), t=path, u=path, o=caller.path("out"))
    few = Limits(address_space=int(2 ** chance.uniform(25, 32)), files=chance.choice([6, 10, 20, 256]),
                 file_size=chance.choice([0, 1000, 1 << 30, 1 << 30]))
    settings = {}
    if chance.random() < 0.2:
        caller.environment["TMPDIR"] = "/nonexistent"
    if chance.random() < 0.1:
        settings["stdout"] = open("/dev/full", "wb")
    caller([caller.program("tidemark"), command, *words], few, checked=False, **settings)


def target(chance, caller, inputs):
    """An output that names its own input, another recording, a link to one, or no regular file."""
    kinds = [(command, words) for command, each in CALLS.items() for words in each
             if any("{o}" in word for word in words)]
    command, words = chance.choice(kinds)
    first = caller.write("run.tmk", inputs.traces["mix.tmk"])
    name = chance.choice(["torch_snapshot-frames.pickle", "left0.tml", "query.tmk"])
    other = caller.write("other." + name.rsplit(".", 1)[1], inputs.traces[name])
    output = next(word for word in words if "{o}" in word)
    at = caller.path("out" + output.replace("{o}", ""))
    how = chance.choice(["input", "link", "hard", "other", "symlink-other", "folder", "foreign"])
    victim = first if how in ("input", "link", "hard") else other
    if how == "link" or how == "symlink-other":
        os.symlink(victim, at)
    elif how == "hard":
        os.link(victim, at)
    elif how == "folder":
        os.mkdir(at)
    elif how == "foreign":
        victim = caller.write(os.path.basename(at), b'{"mine": "about tidemark"}\n' * 9)
    else:
        at = victim
    before = open(victim, "rb").read()
    filled_in = filled(words, t=first, u=first)
    filled_in = [at if word == output else word for word in filled_in]
    call = caller([caller.program("tidemark"), command, *filled_in], checked=False)
    if open(victim, "rb").read() != before:
        raise Fault(f"overwrites a file that it must not ({how}), with code {call.code}")


def cache(chance, caller, inputs):
    """A changed file of the viewer's cache, and what the viewer then draws."""
    name = chance.choice(["mix.tmk", "training.tmk", "query.tmk"])
    path = caller.write(name, inputs.traces[name])
    view = chance.choice(VIEWS)
    viewer = [caller.program("tidemark"), "view", path, "--no-settings", *view]
    truth = caller.path("truth" + view[-1].replace("--", "."))
    caller([*viewer, truth, "--no-cache"])
    caller([*viewer, caller.path("first" + view[-1].replace("--", "."))])
    kept = sorted(os.path.join(root, file) for root, _, files in os.walk(caller.path("cache"))
                  for file in files)
    if not kept:
        raise Fault("writes nothing to the user's cache")
    for victim in chance.sample(kept, min(len(kept), chance.choice([1, 1, 1, 2]))):
        spoil(chance, victim, kept)
    again = caller.path("again" + view[-1].replace("--", "."))
    caller([*viewer, again])
    for each in (truth, again):
        if not os.path.isfile(each):
            raise Fault(f"writes no {os.path.basename(each)}")
    if open(truth, "rb").read() != open(again, "rb").read():
        raise Fault("draws something else with a changed cache than without one")
    if chance.random() < 0.2:
        caller([caller.program("tidemark"), "cache", *chance.choice([[], ["--json"], ["--clear"]])])


def spoil(chance, victim, all_of_them):
    """Replaces one file of a cache by another one, or removes it."""
    how = chance.random()
    data = open(victim, "rb").read()
    if how < 0.75:
        open(victim, "wb").write(mutant(chance, data))
    elif how < 0.85:
        other = open(chance.choice(all_of_them), "rb").read()
        open(victim, "wb").write(other)
    else:
        os.unlink(victim)
        if how < 0.9:
            os.mkfifo(victim)
        elif how < 0.95:
            os.symlink(chance.choice(["/dev/zero", "/etc/passwd", "nowhere"]), victim)
        elif how < 0.97:
            os.mkdir(victim)


def publisher(chance, caller, inputs):
    """Changed files of a killed or lying publisher, with every command that reads them."""
    private = caller.write("private.tml", b"the only copy\n" * 100)
    for left in inputs.published:
        spoilt = mutant(chance, left.data) if chance.random() < 0.6 else left.data
        path = caller.write(left.path, spoilt)
        if left.size > len(left.data):
            os.truncate(path, chance.choice([left.size, left.size, 1 << 41, len(spoilt)]))
        if chance.random() < 0.1:
            os.unlink(path)
            chance.choice([os.mkfifo, os.mkdir, lambda at: os.symlink(private, at)])(path)
    folder = "recordings" if chance.random() < 0.7 else "runtime"
    for each in (folder, "runtime", "recordings"):
        os.makedirs(caller.path(each), exist_ok=True)
        os.chmod(caller.path(each), 0o700)
    if chance.random() < 0.05:
        os.chmod(caller.path(folder), 0o777)
    tidemark = caller.program("tidemark")
    caller([tidemark, "live", *chance.choice([[], ["--json"], ["--recordings"], ["--csv"]])])
    if chance.random() < 0.4:
        caller([tidemark, "view", "--attach", "victim", "--no-settings", "--size", "640x480",
                "--png", caller.path("live.png")])
    caller([tidemark, "live", "--recover"])
    for left in inputs.published:
        if left.path.endswith(".tml") and os.path.isfile(caller.path(left.path)):
            caller([tidemark, chance.choice(["info", "replay"]), caller.path(left.path), "--json"])
    if open(private, "rb").read() != b"the only copy\n" * 100:
        raise Fault("changes the target of a link")


def browser(chance, caller, inputs):
    """Visitors without a token, partial requests and noise; one with the token must get in at once."""
    path = caller.write("run.tmk", inputs.traces["mix.tmk"])
    words = [caller.program("tidemark-view"), path, "--serve", "--no-settings"]
    process = caller.start(words, Limits(files=chance.choice([24, 64, 256])))
    link = re.search(rb"http://127\.0\.0\.1:(\d+)(/\S*)", process.stdout.readline())
    if link is None:
        if process.wait(10) in (2, 3, 5):
            return  # too few files to start, and it said so
        raise Fault("--serve prints no link")
    port, page = int(link[1]), link[2].decode()
    crowd = []
    for _ in range(chance.choice([1, 5, 90])):
        try:
            visitor = socket.create_connection(("127.0.0.1", port), 2)
            visitor.sendall(chance.choice([
                b"", b"GET / HT", b"GET /socket?token=x HTTP/1.1\r\nUpgrade: websocket\r\n\r\n",
                chance.randbytes(300), b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 5000]))
            crowd.append(visitor)
        except OSError:
            pass
    begin = time.monotonic()
    answer = visit(port, page)
    if b" 200 " not in answer[:20]:
        raise Fault(f"a visitor with the link isn't let in ({answer[:60]!r}) with {len(crowd)} others")
    if time.monotonic() - begin > 5:
        raise Fault(f"a visitor waits {time.monotonic() - begin:.1f} s with {len(crowd)} others")
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        raise Fault("doesn't end within 5 s of SIGTERM") from None
    finally:
        for visitor in crowd:
            visitor.close()
    if process.returncode not in (0, 130, 143, -signal.SIGTERM):
        raise Fault(f"ended by SIGTERM with {process.returncode}")


def visit(port, page):
    end = time.monotonic() + 12
    while time.monotonic() < end:
        try:
            with socket.create_connection(("127.0.0.1", port), 5) as visitor:
                visitor.sendall(f"GET {page} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
                                "Connection: close\r\n\r\n".encode())
                if answer := visitor.recv(4096):
                    return answer
        except OSError:
            time.sleep(0.05)
    return b""


@dataclasses.dataclass(frozen=True)
class Kind:
    run: Callable[..., None]
    weight: int  # of a hundred runs


KINDS = {
    "trace": Kind(trace, 52), "side": Kind(side, 8), "plain": Kind(plain, 1),
    "shrinking": Kind(shrinking, 3), "limits": Kind(limits, 10), "target": Kind(target, 8),
    "cache": Kind(cache, 8), "publisher": Kind(publisher, 8), "browser": Kind(browser, 2)}
