#!/usr/bin/env python3
"""Runs PyTorch's own tests of its CUDA memory with and without tidemark.torch.use(), and names tests
with different results. The tests are those of PyTorch's source: folder/test/test_cuda.py and others.

  scripts/prove-on-gpu torch_tests --tests ~/pytorch/test
  scripts/prove-on-gpu torch_tests --tests ~/pytorch/test --policy torch --only test_cuda.py
  scripts/prove-on-gpu torch_tests --tests ~/pytorch/test --match mempool,graph,snapshot

A test that ends the process, or takes longer than --patience, counts as failed; the others still run.
Exit code 1 if a test that passes without Tidemark fails with it.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import queue
import subprocess
import sys
import threading

RUNNER = pathlib.Path(__file__).resolve().parent / "torch_tests_run.py"
FILES = ("test_cuda.py", "test_cuda_trace.py", "inductor/test_cudagraph_trees.py",
         "test_multiprocessing.py")


class Run:
    """The tests of a file under one policy: outcomes by name."""

    def __init__(self, folder, file, policy, options):
        self.folder, self.file, self.policy, self.options = folder, file, policy, options
        self.outcomes = {}
        self.messages = {}

    def go(self):
        while self._once():
            pass
        return self

    def _once(self):
        """One process. True if it ended during a test, and others are left."""
        done = json.dumps(sorted(self.outcomes))
        process = subprocess.Popen(
            [sys.executable, "-u", str(RUNNER), str(self.folder / self.file), self.policy,
             ",".join(self.options.match)],
            cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace",
            env={**os.environ, "PYTHONPATH": os.pathsep.join(
                [str(self.folder), os.environ.get("PYTHONPATH", "")])})
        lines = queue.Queue()

        def read():
            for line in process.stdout:
                lines.put(line)
            lines.put(None)

        threading.Thread(target=read, daemon=True).start()
        process.stdin.write(done)
        process.stdin.close()
        running, tail = None, collections.deque(maxlen=12)
        while True:
            try:
                line = lines.get(timeout=self.options.patience)
            except queue.Empty:
                process.kill()
                self._end(running, "timeout", "")
                return running is not None
            if line is None:
                break
            if not line.startswith("@@"):
                tail.append(line)
                continue
            event = json.loads(line[2:])
            if event["outcome"] == "begins":
                running = event["test"]
            else:
                self._end(event["test"], event["outcome"], event.get("message", ""))
                running = None
        process.wait()
        if running is not None:
            self._end(running, "crash", "".join(tail))
        elif process.returncode != 0 and not self.outcomes:
            self._end("(the file)", "crash", "".join(tail))
        return running is not None

    def _end(self, test, outcome, message):
        if test is not None:
            self.outcomes[test] = outcome
            self.messages[test] = message


def main():
    parser = argparse.ArgumentParser(prog="prove-on-gpu torch_tests", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", required=True, type=pathlib.Path, help="PyTorch's folder test")
    parser.add_argument("--policy", action="append", help="extent (default), torch, ...; repeats")
    parser.add_argument("--only", action="append", help=f"of {', '.join(FILES)}; repeats")
    parser.add_argument("--match", default=[], type=lambda text: text.split(","),
                        help="only tests whose names have one of these words")
    parser.add_argument("--side-by-side", action="store_true",
                        help="all policies at the same time, if tests don't need the whole GPU")
    parser.add_argument("--patience", type=float, default=120, help="seconds for one test")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="all outcomes, as JSON")
    options = parser.parse_args()
    policies = options.policy or ["extent"]
    everything, worse = {}, 0
    for file in options.only or FILES:
        runs = {policy: Run(options.tests.resolve(), file, policy, options)
                for policy in ["native", *policies]}
        with concurrent.futures.ThreadPoolExecutor(
                len(runs) if options.side_by_side else 1) as together:
            list(together.map(Run.go, runs.values()))
        native = runs["native"]
        for policy in ["native", *policies]:
            counts = collections.Counter(runs[policy].outcomes.values())
            print(f"{file} {policy}: " + ", ".join(f"{n} {what}" for what, n in
                                                   sorted(counts.items())), flush=True)
        for policy in policies:
            for test, outcome in sorted(runs[policy].outcomes.items()):
                before = native.outcomes.get(test, "absent")
                if outcome == before or {outcome, before} <= {"fail", "error", "crash"}:
                    continue
                worse += before == "ok"
                message = runs[policy].messages[test].strip().splitlines()[-6:]
                print(f"  {policy}: {test}: {before} -> {outcome}")
                for line in message:
                    print(f"      {line[:200]}")
        everything[file] = {policy: run.outcomes for policy, run in runs.items()}
        if options.output:
            options.output.write_text(json.dumps(everything, indent=1), encoding="utf-8")
    print(f"torch_tests: {worse} tests fail only with Tidemark")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
