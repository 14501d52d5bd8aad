#!/usr/bin/env python3
"""Tests the recorder with long runs, full disks and killed programs.

A program (tests/bench/recorder_load.c) records with always new tags, stacks, steps and marks, while
its memory and disk use are measured; then `tidemark` reads the files. Exit code 1 if a proof fails.

  long       with a limited history: memory and disk use stay as the guide says
  unlimited  without a limit: memory stays flat
  threads    many short threads: nothing is lost silently
  kill       killed at random moments: everything recorded is there, and without its shared
             memory all whole chunks
  disk       a disk that fills up (a tmpfs, which root can mount), a limit on file sizes, a deleted
             folder: the program ends normally, the loss is reported, the rest can be read

Examples:
  scripts/prove_endurance.py --build build/release              all; a few minutes
  scripts/prove_endurance.py --build build/release long --events 1e9 --rate 5e6
"""
import argparse
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
MIB = 1 << 20
RENAMED = 3  # records of a step in addition to its events: a range's start and end, a mark
NAMED = 1000  # events of a step
BLOCK_BYTES = 48 * 4096  # kinds of live objects in a recording


class Proofs:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.failed = False
        self.tidemark = options.build.resolve() / "tidemark"
        self.load = folder / "recorder_load"
        self.environment = {**os.environ, "TIDEMARK_RUNTIME_DIR": str(folder / "run"),
                            "LD_LIBRARY_PATH": str(options.build.resolve())}
        subprocess.run(["cc", "-O2", f"-I{ROOT / 'replay' / 'c_api'}",
                        ROOT / "tests" / "bench" / "recorder_load.c", "-o", self.load,
                        f"-L{options.build.resolve()}", "-ltidemark", "-lpthread"], check=True)

    def check(self, is_so, what):
        print(f"  {'ok    ' if is_so else 'FAILED'} {what}", flush=True)
        self.failed = self.failed or not is_so

    def start(self, path, limit=0, events=1e6, rate=0, threads=1, progress="", **more):
        return subprocess.Popen(
            [str(each) for each in (self.load, path, int(limit), int(events), rate, threads,
                                    progress)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment, **more)

    def info(self, path):
        """The answer of `tidemark info` for a recording, and how many events it reports as missing."""
        done = subprocess.run([self.tidemark, "info", "--json", path], capture_output=True,
                              text=True, env=self.environment, check=False)
        if done.returncode != 0:
            return None, 0
        answer = json.loads(done.stdout)
        found = re.search(r"(\d+) events are missing", " ".join(answer["warnings"]))
        return answer, int(found[1]) if found else 0

    def measured(self, program, folder):
        """Runs it to its end; returns that and, in MiB, its own memory after a third of the time, the
        peak of its memory, and the peak of its disk use."""
        memory, disk = [0.0], 0.0
        while program.poll() is None:
            with contextlib.suppress(OSError, TypeError):  # it is just ending
                status = pathlib.Path(f"/proc/{program.pid}/status").read_text()
                memory.append(int(re.search(r"RssAnon:\s+(\d+)", status)[1]) / 1024)
                disk = max(disk, sum(each.stat().st_size for each in folder.iterdir()) / MIB)
            time.sleep(0.1)
        output, error = program.communicate()
        if program.returncode != 0:
            sys.exit(f"scripts/prove_endurance.py: the program ended with {program.returncode}: {error}")
        ended = json.loads(output)
        third = max(memory[:len(memory) // 3 + 1])
        print(f"  {ended['events']:,} events in {ended['seconds']:.0f} s "
              f"({ended['events'] / ended['seconds'] / 1e6:.2f} M/s), {ended['dropped']:,} dropped, "
              f"{ended['lost']:,} lost; memory {max(memory):.0f} MiB ({third:.0f} after a third), "
              f"disk {disk:.0f} MiB")
        return ended, third, max(memory), disk

    def long(self):
        limit = self.options.limit
        folder = self.folder / "long"
        folder.mkdir()
        ended, _, memory, disk = self.measured(
            self.start(folder / "a.tml", limit, self.options.events, self.options.rate), folder)
        names = min(64, limit / MIB / 8)
        self.check(memory < 16 + 6 * names, f"memory is below {16 + 6 * names:.0f} MiB")
        most = limit / MIB * 13 / 8 + 5 * BLOCK_BYTES / MIB + 2
        self.check(disk < most, f"the disk's share is below {most:.0f} MiB")
        self.check(ended["lost"] == 0 and ended["closed"], "everything published is written")
        for piece in sorted(folder.iterdir()):
            answer, _ = self.info(piece)
            self.check(answer is not None and not any(answer["anomalies"].values()) or
                       ended["dropped"] > 0, f"{piece.name} is read without irregularities")
        done = subprocess.run([self.tidemark, "replay", piece, "-p", "torch", "--json"], capture_output=True,
                              env=self.environment, check=False)
        self.check(done.returncode == 0, "and replayed")
        shutil.rmtree(folder)

    def unlimited(self):
        folder = self.folder / "unlimited"
        folder.mkdir()
        ended, third, memory, _ = self.measured(
            self.start(folder / "a.tml", 0, self.options.events / 10, self.options.rate), folder)
        steps = self.options.events / 10 / NAMED
        self.check(memory - third < 2 + steps * 1500 / MIB,
                   "memory grows only by the names, below 1.5 KB a step")
        answer, missing = self.info(folder / "a.tml")
        self.check(answer is not None and ended["closed"] and
                   (missing > 0) == (ended["dropped"] > 0), "it can be read, and says what is missing")
        if answer and missing == 0:
            self.check(answer["events"] == ended["events"] + RENAMED * steps, "every event is there")
        shutil.rmtree(folder)

    def threads(self):
        path = self.folder / "threads.tml"
        count = self.options.threads
        ended, error = self.start(path, events=10, threads=count).communicate()
        ended = json.loads(ended)
        print(f"  {count:,} threads in {ended['seconds']:.1f} s, {ended['dropped']:,} dropped")
        answer, missing = self.info(path)
        self.check(missing == ended["dropped"] and ended["lost"] == 0 and error == "",
                   "the reader misses what was counted as dropped")
        kinds = answer["kinds"]
        told = sum(kinds.get(kind, 0) for kind in ("allocate", "range_begin", "range_end"))
        self.check(missing > 0 or told + kinds["mark"] == count * (10 + RENAMED),
                   "and everything else is there")
        path.unlink()

    def kill(self):
        chance = random.Random(1)
        bad = []
        for round_ in range(self.options.rounds):
            path = self.folder / "killed.tml"
            progress = self.folder / "progress"
            progress.write_bytes(bytes(8))
            program = self.start(path, events=1e9, rate=2e6, progress=progress)
            while int.from_bytes(progress.read_bytes(), "little") == 0:
                time.sleep(0.001)
            time.sleep(chance.uniform(0, 0.15))
            program.kill()
            program.communicate()
            told = int.from_bytes(progress.read_bytes(), "little")
            if round_ % 2 == 1:  # as after a crash of the computer: only the file is left
                shutil.rmtree(self.folder / "run")
            answer, missing = self.info(path)
            there = -1 if answer is None else \
                answer["kinds"].get("allocate", 0) + answer["kinds"].get("free", 0)
            behind = 0 if round_ % 2 == 0 else told  # events that were not yet in the file
            if there < 0 or there > told + 1 or there + missing + behind < told:
                bad.append((round_, told, there, missing))
            shutil.rmtree(self.folder / "run", ignore_errors=True)
            path.unlink()
        self.check(not bad, f"{self.options.rounds} killed programs left everything that they had recorded "
                            f"{bad[:3] if bad else ''}")

    def ends_well(self, program, path, what, end_is_told=True):
        output, error = program.communicate()
        ended = json.loads(output) if program.returncode == 0 else {"lost": 0, "events": 0}
        self.check(program.returncode == 0 and ended["lost"] > 0 and error.count("\n") == 1,
                   f"{what}: the program continues, {ended['lost']:,} events are lost; it says "
                   f"\"{error.strip()}\"")
        if path is not None:
            answer, missing = self.info(path)
            kinds = answer["kinds"] if answer else {}
            there = kinds.get("allocate", 0) + kinds.get("free", 0)
            self.check(there > 0 and (not end_is_told or 0 <= there + missing - ended["events"] <=
                                      ended["events"] / NAMED * RENAMED),
                       f"{what}: {there:,} are read; {missing:,} are missing by it")

    def disk(self):
        path = self.folder / "limited.tml"
        # The shared file must fit below the limit too: 64 rings of 12 MiB.
        self.ends_well(self.start(path, events=3e7, rate=5e6, preexec_fn=limit_files), path,
                       "file sizes limited", end_is_told=False)
        path.unlink()
        gone = self.folder / "gone"
        gone.mkdir()
        program = self.start(gone / "a.tml", events=6e6, rate=2e6)
        time.sleep(0.5)
        shutil.rmtree(gone)
        self.ends_well(program, None, "folder removed")
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600m", "tidemark", disk],
                                 capture_output=True, check=False).returncode == 0
        if not mounted:
            print("  (no tmpfs can be mounted here: full disks are left out)")
            return
        try:
            self.ends_well(self.start(disk / "a.tml", events=6e6, rate=3e6), disk / "a.tml",
                           "the last 512 MiB are left")
            (disk / "a.tml").unlink()
            program = self.start(disk / "b.tml", events=6e6, rate=2e6)
            time.sleep(0.3)
            with contextlib.suppress(OSError), open(disk / "filler", "wb") as filler:
                while True:
                    filler.write(bytes(MIB))
            self.ends_well(program, disk / "b.tml", "no byte left", end_is_told=False)
        finally:
            subprocess.run(["umount", disk], check=False)


def limit_files():
    import resource

    most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000 * MIB, most))


def main():
    names = ["long", "unlimited", "threads", "kill", "disk"]
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("proofs", nargs="*", metavar="PROOF", help="not all")
    parser.add_argument("--build", type=pathlib.Path, required=True,
                        help="with libtidemark.so and tidemark")
    parser.add_argument("--events", type=float, default=1e8, help="of long; a tenth of unlimited")
    parser.add_argument("--rate", type=float, default=4e6, help="events a second (default: 4e6)")
    parser.add_argument("--limit", type=int, default=256 * MIB, help="bytes (default: 256 MiB)")
    parser.add_argument("--threads", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=200, help="of kill (default: 200)")
    parser.add_argument("--folder", type=pathlib.Path, help="where recordings go")
    options = parser.parse_args()
    unknown = set(options.proofs) - set(names)
    if unknown:
        parser.error(f"no such proof: {', '.join(unknown)}")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        proofs = Proofs(options, pathlib.Path(folder))
        for name in options.proofs or names:
            print(name, flush=True)
            getattr(proofs, name)()
    sys.exit(1 if proofs.failed else 0)


if __name__ == "__main__":
    main()
