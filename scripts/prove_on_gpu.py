#!/usr/bin/env python3
"""Proves on a GPU that Tidemark's statements about PyTorch programs are true; prints a table.

For each workload (scripts/prove_workloads.py) it runs the program, asks `tidemark` about the
recorded snapshot, and runs the program again to see:

  verify   every decision of every run is reproduced; peaks and counters equal torch's own
  advise   a peak of reserved memory is predicted under the advised settings; the real one is
           within 1 % of it
  replay   the same under fixed settings, even if advise found nothing
  fit      a run survives the smallest predicted limit, set as a real one; with 3 % less, it fails

It also measures how much memory each process needs in addition to the allocator's. With --edges, it
creates random programs at the edges of the allocator's rules (scripts/prove_edges.py) and verifies
them; with --only none, only these. "5 for 4" means 5 predicted and 4 measured.

`scripts/prove-on-gpu device` proves Tidemark's own device and policies instead; see its --help.

Reruns share the GPU as far as their predicted peaks allow. All cases run even if one fails. A case is
left out, and the table says so, if its settings are predicted to need more than 60 GiB.
DIR/report.json has everything and is written as it grows; exit code 1 if a check failed or was not
reached.

Examples:
  scripts/prove-on-gpu --tidemark build/release/tidemark --out out/proof
  scripts/prove-on-gpu --only moe --only serving --quick --out out/proof
  scripts/prove-on-gpu --only none --edges 36 --seed 3 --keep --out out/edges
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import typing
from functools import partial

import prove_checks
import prove_edges
from prove_archive import Archive
from prove_schedule import GIB, Job, room_on, run_jobs
from prove_workloads import WORKLOADS

HERE = pathlib.Path(__file__).resolve().parent
FIXED = ["expandable_segments:True", "max_split_size_mb:128"]
FIT_LIMIT = "100GiB"  # a limit that all survive: fit then searches for limits
MOST = 60 * GIB  # fixed settings that need more are not run


class Case(typing.NamedTuple):
    """A rerun of a workload; `need` is how much memory it is predicted to reserve."""

    name: str
    conf: str
    limit: int
    need: typing.Optional[int]
    check: typing.Callable[[dict], prove_checks.Check]


class Machine:
    """Runs the child processes, each with a time limit, all within one deadline."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.deadline = time.monotonic() + options.seconds
        self.names = iter(range(1 << 30))

    def start(self, command, conf, limit):
        """Runs `command` for at most `limit` seconds; returns (seconds, exit code, output, errors).
        The exit code is None if it was cut off or never started."""
        env = {name: value for name, value in os.environ.items()
               if not (name.startswith("PYTORCH_") and name.endswith("ALLOC_CONF"))}
        env.update(PYTHONHASHSEED="0", HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error")
        if conf:
            env["PYTORCH_ALLOC_CONF"] = conf
        started = time.monotonic()
        limit = min(limit, self.deadline - started)
        if limit <= 1:
            return 0.0, None, "", "not run: out of time"
        child = subprocess.Popen([str(each) for each in command], env=env, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            output, errors = child.communicate(timeout=limit)
            return time.monotonic() - started, child.returncode, output, errors
        except subprocess.TimeoutExpired:
            child.kill()
            output, errors = child.communicate()
            errors = f"cut off after {limit:.0f} s\n{errors}"
            return time.monotonic() - started, None, output, errors

    def program(self, script, arguments, conf):
        """Runs a recorded program; returns its result, with the snapshot's path."""
        stem = self.folder / str(next(self.names))
        snapshot, target = stem.with_suffix(".pickle"), stem.with_suffix(".json")
        command = [sys.executable, "-B", HERE / script, *arguments,
                   "--result", target, "--snapshot", snapshot]
        seconds, code, _, errors = self.start(command, conf, self.options.case_seconds)
        result = {"outcome": "error", "error": errors.strip()[-2000:] or f"exit code {code}"}
        if code == 0 and target.exists():
            result = json.loads(target.read_text())
        result.update(conf=conf, process_seconds=round(seconds, 2),
                      snapshot=str(snapshot) if snapshot.exists() else None)
        return result

    def tidemark(self, *arguments):
        """The JSON that a command prints, or {"error": ...}, and how long it took."""
        seconds, code, output, errors = self.start(
            [self.options.tidemark, *arguments, "--json"], "", self.options.case_seconds)
        try:
            document = json.loads(output)
        except ValueError:
            document = {"error": errors.strip()[-1000:] or f"exit code {code}, no JSON"}
        document["command_seconds"] = round(seconds, 3)
        return document

    def verify(self, result):
        """Runs `tidemark verify` on a run, with the facts that a snapshot does not have."""
        if not result.get("snapshot") or "total_memory" not in result:
            return {"error": "there is no snapshot"}
        limits = ["--memory", result["total_memory"]]
        if result.get("limit"):
            limits += ["--limit", result["limit"]]
        return self.tidemark("verify", result["snapshot"], *limits)


class Proof:
    """All results, written to the report as it grows."""

    def __init__(self, options, machine, archive):
        self.options, self.machine, self.archive = options, machine, archive
        self.lock = threading.Lock()
        self.checks = []
        self.report = {"complete": False, "checks": [], "workloads": {}, "edges": []}

    def note(self, checks, change=None):
        """Adds checks to the report, makes the `change` to it, and writes it."""
        with self.lock:
            self.checks += checks
            if change:
                change(self.report)
            self.report["checks"] = [check._asdict() for check in self.checks]
            path = self.options.out / "report.json"
            text = json.dumps(self.report, indent=1, default=str) + "\n"
            path.with_suffix(".part").write_text(text)
            path.with_suffix(".part").replace(path)
        for check in checks:
            print(prove_checks.line(check), flush=True)

    def finish_run(self, name, result, checks, keep):
        """Verifies a run that has ended, and deletes its snapshot."""
        verify = self.machine.verify(result)
        with self.lock:
            result["verify"] = verify
        if "stats" in result:
            checks.insert(0, prove_checks.check_verify(
                name, "verify " + result["case"], verify, result))
        if self.options.keep and result.get("snapshot") and \
                (keep or any(check.ok is False for check in checks)):
            kept = self.archive.add(f"{name}-{result['case']}", result)
            with self.lock:
                result["kept_as"] = kept

    def run(self, name, case, conf="", limit=0):
        arguments = [name, "--limit", limit, "--scale", self.options.scale,
                     "--seed", self.options.seed]
        result = self.machine.program("prove_workloads.py", arguments, conf)
        result["case"] = case
        return result

    def record(self, name):
        """The first run of a workload, alone on the GPU, and Tidemark's answers about it."""
        result = self.run(name, "default")
        entry = {"recorded": result, "cases": []}
        self.note([], lambda report: report["workloads"].__setitem__(name, entry))
        return entry

    def ask(self, name):
        """The questions about a recorded run; they need no GPU."""
        entry, check = self.report["workloads"][name], prove_checks
        recorded = entry["recorded"]
        if recorded["outcome"] != "finished":
            self.note([check.broken(name, "runs", recorded)])
            return
        snapshot, ask = recorded["snapshot"], self.machine.tidemark
        answers = {"advise": ask("advise", snapshot),
                   "fit": ask("fit", snapshot, "--limit", FIT_LIMIT), "replay": {}}
        checks = [check.check_peak(name, "peak as recorded, by advise", check.lookup(
            answers["advise"], "before.peak_reserved_bytes"), recorded, recorded)]
        conf, _ = check.advised(answers["advise"])
        if conf:
            answers["fit_advised"] = ask("fit", snapshot, "--limit", FIT_LIMIT,
                                         "--policy", "torch:" + conf)
        checks.append(check.check_advice(name, answers["advise"]))
        for each in [] if self.options.quick else FIXED:
            answers["replay"][each] = ask("replay", snapshot, "--policy", "torch:" + each,
                                          "--memory", recorded["total_memory"])
        self.finish_run(name, recorded, checks, keep=True)
        self.note(checks, lambda report: entry.update(answers))

    def cases(self, name):
        """The reruns of a workload."""
        entry, check = self.report["workloads"][name], prove_checks
        recorded = entry["recorded"]
        if "advise" not in entry:
            return
        if not self.options.quick:
            yield Case("again", "", 0, check.peak_of(recorded),
                       partial(check.check_again, name, "peak again", recorded))
        conf, peak = check.advised(entry["advise"])
        predicted = {conf: ("advised", peak)} if conf else {}
        for each, replay in entry["replay"].items():
            predicted.setdefault(each, ("fixed", replay.get("peak_reserved_bytes")))
        for each, (word, peak) in predicted.items():
            what = f"peak {word} {each}"
            if word == "fixed" and peak and peak > MOST:
                self.note([check.left_out(name, what, peak, MOST)])
                continue
            yield Case(f"{word} {each}", each, 0, peak,
                       lambda result, what=what, peak=peak: check.check_peak(
                           name, what, peak, result, recorded))
        yield from self.limit_cases(name, "fit", "",
                                    check.smallest_limit(entry["fit"], named=False))
        if conf:
            yield from self.limit_cases(name, "fit advised", conf,
                                        check.smallest_limit(entry["fit_advised"], named=True))

    def limit_cases(self, name, word, conf, limit):
        """The two runs at the smallest limit: at it, and 3 % below."""
        check = prove_checks
        if limit is None:
            self.note([check.Check(name, word, False, note="fit named no smallest limit")])
            return
        below = int(limit * check.BELOW)
        yield Case(word, conf, limit, limit,
                   partial(check.check_survives, name, f"{word}: survives", limit))
        yield Case(f"{word} less 3 %", conf, below, below,
                   partial(check.check_dies, name, f"{word}: 3 % less is refused", below))

    def counters(self, name, case):
        """A replay's figures of calls, for the recorded run under the case's settings and limit."""
        recorded = self.report["workloads"][name]["recorded"]
        limits = ["--limit", case.limit] if case.limit else []
        return prove_checks.predicted_counters(self.machine.tidemark(
            "replay", recorded["snapshot"], "--policy", "torch:" + case.conf if case.conf else
            "torch", "--memory", recorded["total_memory"], *limits, "--until-fail"))

    def rerun(self, name, case):
        """One case, to its check."""
        result = self.run(name, case.name, case.conf, case.limit)
        for key in ("context_bytes", "overhead_bytes"):
            result.pop(key, None)  # others used the GPU too
        result["predicted"] = self.counters(name, case)
        checks = [case.check(result)]
        self.finish_run(name, result, checks, keep=False)
        discard(result)
        self.note(checks, lambda report: report["workloads"][name]["cases"].append(result))

    def edge(self, program):
        """One random program, to its check."""
        arguments = [program["kind"], "--name", program["name"], "--steps", program["steps"],
                     "--limit", program["limit"], "--seed", program["seed"]]
        result = self.machine.program("prove_edges.py", arguments, program["conf"])
        result["case"], checks = "edge", []
        if result["outcome"] != "finished":
            checks.append(prove_checks.broken(program["name"], "runs", result))
        self.finish_run(program["name"], result, checks, keep=True)
        discard(result)
        self.note(checks, lambda report: report["edges"].append(dict(program, result=result)))


def discard(result):
    """Deletes the snapshot of a run."""
    if result.get("snapshot"):
        pathlib.Path(result["snapshot"]).unlink(missing_ok=True)
    result.pop("snapshot", None)


def guarded(proof, subject, task, *arguments):
    """Runs a task; any exception becomes a failed check, so that the others continue."""
    try:
        return task(*arguments)
    except Exception as error:  # a bug of this script must not hide the other cases
        proof.note([prove_checks.Check(subject, "the prover", False, note=repr(error))])
        return None


def overhead(workloads):
    """The device memory of a process in addition to the allocator's: from the first runs, each
    alone on the GPU."""
    runs = [each["recorded"] for each in workloads.values() if "overhead_bytes" in each["recorded"]]
    if not runs:
        return {}
    return {
        "context_bytes": sorted({run["context_bytes"] for run in runs}),
        "overhead_bytes": {run["name"]: run["overhead_bytes"] for run in runs},
        "least": min(run["overhead_bytes"] for run in runs),
        "most": max(run["overhead_bytes"] for run in runs),
    }


def describe_machine(machine):
    """The output of nvidia-smi before anything runs; the memory in use then is not ours."""
    query = "--query-gpu=name,driver_version,memory.total,memory.used"
    try:
        return machine.start(["nvidia-smi", query, "--format=csv,noheader"], "", 30)[2].splitlines()
    except OSError as error:
        return [str(error)]


def jobs_of(proof, gpus):
    """All reruns and edges, each with its need."""
    jobs = []
    for name in proof.report["workloads"]:
        for case in guarded(proof, name, lambda name: list(proof.cases(name)), name) or []:
            jobs.append(Job(None if WORKLOADS[name].alone else case.need,
                            partial(guarded, proof, name, proof.rerun, name, case)))
    for program in prove_edges.plan(proof.options.edges, proof.options.seed, len(gpus)):
        jobs.append(Job(prove_edges.need(program),
                        partial(guarded, proof, program["name"], proof.edge, program)))
    return jobs


def prove(options, machine, archive):
    proof, started, seconds = Proof(options, machine, archive), time.monotonic(), {}

    def ends(phase):
        seconds[phase] = round(time.monotonic() - started - sum(seconds.values()), 1)

    gpus = describe_machine(machine)
    proof.note([], lambda report: report.update(
        machine=gpus, command=sys.argv[1:], tidemark=version(machine), seconds=seconds))
    for name in options.only:
        guarded(proof, name, proof.record, name)
    ends("recording")
    workloads = proof.report["workloads"]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda name: guarded(proof, name, proof.ask, name), workloads))
    ends("asking")
    run_jobs(jobs_of(proof, gpus), room_on(gpus), options.jobs)
    ends("reruns and edges")
    for entry in workloads.values():
        discard(entry["recorded"])
    proof.note([], lambda report: report.update(complete=True, overhead=overhead(workloads)))
    return proof


def version(machine):
    return machine.start([machine.options.tidemark, "--version"], "", 30)[2].strip()


def print_plan(options):
    """Prints what would run, in order."""
    for name in options.only:
        what = WORKLOADS[name]
        print(f"{name}: {max(4, round(what.steps * options.scale))} steps, seed {options.seed}"
              f"{', call stacks' if what.stacks else ''}{', alone' if what.alone else ''}")
        print("  record under the default settings; tidemark verify, advise, fit --limit "
              + FIT_LIMIT)
        if not options.quick:
            print("  again under the default settings")
            for conf in FIXED:
                print(f"  rerun under {conf}, unless predicted to need over {MOST // GIB} GiB")
        print("  rerun under the advised settings, if there are any")
        print("  rerun under the smallest limit, and under 3 % less; the same as advised")
    for program in prove_edges.plan(options.edges, options.seed, devices=2):
        print("edge {name}: {steps} steps, limit {limit}, PYTORCH_ALLOC_CONF={conf}".format(
            **program))


def parse(arguments):
    parser = argparse.ArgumentParser(prog="scripts/prove-on-gpu", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tidemark", type=pathlib.Path, metavar="PATH",
                        default=HERE.parent / "build" / "release" / "tidemark",
                        help="the program (default: build/release/tidemark)")
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR", help="for the report",
                        default=HERE.parent / "out" / "proof")
    parser.add_argument("--only", choices=[*WORKLOADS, "none"], action="append", metavar="NAME",
                        help="a workload, or none; may be repeated: " + ", ".join(WORKLOADS))
    parser.add_argument("--quick", action="store_true",
                        help="shorter, and only for the answers of advise and fit")
    parser.add_argument("--edges", type=int, default=0, metavar="N",
                        help="also N random programs at the edges")
    parser.add_argument("--seed", type=int, default=7, metavar="N")
    parser.add_argument("--scale", type=float, default=None, metavar="F",
                        help="of the number of steps (default 1; 0.4 with --quick)")
    parser.add_argument("--jobs", type=int, default=6, metavar="N",
                        help="reruns at the same time, at most (default 6)")
    parser.add_argument("--seconds", type=float, default=400, metavar="S",
                        help="for everything (default 400); what is left then counts as failed")
    parser.add_argument("--case-seconds", type=float, default=120, metavar="S",
                        help="for one run (default 120)")
    parser.add_argument("--keep", action="store_true",
                        help="keep the snapshots that were recorded first, the edges and those of "
                        "failed cases, compressed, in DIR/snapshots-*.tar")
    parser.add_argument("--dry-run", action="store_true", help="print what would run")
    options = parser.parse_args(arguments)
    options.only = [name for name in options.only or WORKLOADS if name != "none"]
    options.scale = options.scale or (0.4 if options.quick else 1.0)
    return options


def main(arguments=None):
    options = parse(arguments)
    if options.dry_run:
        print_plan(options)
        return 0
    if not os.access(options.tidemark, os.X_OK):
        print(f"scripts/prove-on-gpu: no program at {options.tidemark}; build it (scripts/run) or "
              "say --tidemark PATH", file=sys.stderr)
        return 2
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(options, pathlib.Path(folder))
        proof = prove(options, machine, Archive(options.out))
    failed = sum(check.ok is False for check in proof.checks)
    skipped = sum(check.ok is None for check in proof.checks)
    print("\n" + prove_checks.table(sorted(proof.checks, key=lambda check: check.subject)))
    found = proof.report["overhead"]
    if found:
        print(f"\nbeside the allocator: {prove_checks.bytes_text(found['least'])} to "
              f"{prove_checks.bytes_text(found['most'])} a process")
    print("\ntook " + ", ".join(f"{seconds:.0f} s for {phase}"
                               for phase, seconds in proof.report["seconds"].items()))
    print(f"\n{len(proof.checks) - failed - skipped} checks hold, {failed} fail, "
          f"{skipped} not run; {options.out / 'report.json'}")
    return 1 if failed or not proof.checks else 0


if __name__ == "__main__":
    sys.exit(main())
