"""scripts/prove-on-gpu: what it calls true, and that it finds each planted untruth.

No GPU and no PyTorch: a made-up machine stands for both and for the program `tidemark`.
"""
import itertools
import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import prove_checks  # noqa: E402
import prove_on_gpu  # noqa: E402
from prove_archive import Archive  # noqa: E402
from prove_recording import fraction_for, last_refusal, requests_digest  # noqa: E402

MIB = 1 << 20
TOTAL = 150_109_880_320
ADVISED = "expandable_segments:True,max_split_size_mb:64"


class MadeUpMachine:
    """Programs peak at 1000 MiB by default and at 700 MiB as advised; their tidemark knows that."""

    PEAKS = {"": 1000 * MIB, ADVISED: 700 * MIB, "expandable_segments:True": 800 * MIB,
             "max_split_size_mb:128": 900 * MIB}
    LEAST = {"": 650 * MIB, ADVISED: 600 * MIB}  # the smallest limits

    def __init__(self, folder, **planted):
        self.folder, self.planted, self.commands = folder, planted, []
        self.numbers = itertools.count()

    def start(self, command, conf, limit):
        return 0.1, 0, "a GPU, 1.0, 143771 MiB, 0 MiB\n", ""

    def program(self, script, arguments, conf):
        name, limit = arguments[0], arguments[arguments.index("--limit") + 1]
        died = bool(limit) and limit < self.planted.get("real_least", self.LEAST).get(conf, 0)
        peak = min(self.PEAKS[conf], limit or TOTAL) if not died else limit
        path = self.folder / f"{next(self.numbers)}.pickle"
        path.write_bytes(b"snapshot")
        self.commands.append((name, conf, limit))
        if self.planted.get("broken") == (name, conf):
            return {"outcome": "error", "error": "Traceback\nRuntimeError: planted", "conf": conf}
        refusal = {"bytes": 64 * MIB, "after_allocations": 9,
                   "device_free": self.planted.get("device_free", 99000 * MIB)}
        digest = self.planted.get("digest", "d") if len(self.commands) > 1 else "d"
        return {"outcome": "out_of_memory" if died else "finished", "error": None, "name": name,
                "conf": conf, "limit": limit, "ooms": int(died), "total_memory": TOTAL,
                "requests": 10, "requests_digest": digest, "snapshot": str(path),
                "context_bytes": 400 * MIB, "overhead_bytes": 500 * MIB,
                "last_refusal": refusal if died else None,
                "stats": {"reserved_bytes.all.peak": peak, "allocated_bytes.all.peak": 500 * MIB,
                          "active_bytes.all.peak": 500 * MIB, "num_alloc_retries": 0,
                          "num_device_alloc": 30, "num_ooms": int(died)}}

    def tidemark(self, command, snapshot, *arguments):
        if command == "advise":
            best = {"conf": ADVISED, "peak_reserved_bytes": self.planted.get("advised", 700 * MIB)}
            if self.planted.get("nothing_helps"):
                best = None
            return {"before": {"peak_reserved_bytes": 1000 * MIB}, "best": best}
        if command == "fit":
            found = [{"policy": "torch", "smallest_limit_bytes": self.LEAST[""]}]
            if "--policy" in arguments:  # the program says settings in its own words
                found.append({"policy": "torch:max_split_size_mb=64,expandable_segments=true",
                              "smallest_limit_bytes": self.LEAST[ADVISED]})
            return {"candidates": found}
        conf = arguments[arguments.index("--policy") + 1].removeprefix("torch").removeprefix(":")
        peak = self.planted.get("replayed", self.PEAKS)[conf]
        return {"peak_reserved_bytes": peak, "retries": 4, "segments_created": 20,
                "calls_set_access": 9, "out_of_memory_events": []}

    def verify(self, result):
        if "stats" not in result:
            return {"error": "no snapshot"}
        stats = result["stats"]
        return {"mismatches": self.planted.get("mismatches", 0), "decisions": 30,
                "peak": {"reserved_bytes": stats["reserved_bytes.all.peak"],
                         "allocated_bytes": 500 * MIB, "active_bytes": 500 * MIB},
                "retries": self.planted.get("retries", 0), "out_of_memory": stats["num_ooms"]}


class Prove(unittest.TestCase):
    def prove(self, *arguments, **planted):
        """The checks of a proof on the made-up machine, by what they say; and the report."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name)
        options = prove_on_gpu.parse(["--only", "moe", "--out", str(self.out), *arguments])
        self.machine = MadeUpMachine(self.out, **planted)
        self.machine.options = options
        with open(self.out / "log", "w") as log:
            out, sys.stdout = sys.stdout, log
            try:
                proof = prove_on_gpu.prove(options, self.machine, Archive(self.out))
            finally:
                sys.stdout = out
        return proof.checks, json.loads((self.out / "report.json").read_text())

    def fails(self, *expected, **planted):
        checks, _ = self.prove(**planted)
        self.assertEqual(sorted(each.what for each in checks if not each.ok), sorted(expected))

    def test_what_is_true_holds_and_every_case_is_run(self):
        checks, report = self.prove()
        self.assertEqual([each for each in checks if not each.ok], [])
        self.assertEqual(sorted(self.machine.commands[1:]), sorted([
            ("moe", "", 0), ("moe", ADVISED, 0), ("moe", "expandable_segments:True", 0),
            ("moe", "max_split_size_mb:128", 0), ("moe", "", 650 * MIB),
            ("moe", "", int(650 * MIB * 0.97)), ("moe", ADVISED, 600 * MIB),
            ("moe", ADVISED, int(600 * MIB * 0.97))]))
        self.assertTrue(report["complete"])
        self.assertEqual(list(report["seconds"]), ["recording", "asking", "reruns and edges"])
        self.assertEqual(len(report["workloads"]["moe"]["cases"]), 8)
        self.assertEqual(report["overhead"]["most"], 500 * MIB)
        self.assertEqual(len(report["checks"]), len(checks))

    def test_a_prediction_off_by_more_than_a_hundredth_fails(self):
        self.fails(advised=706 * MIB)
        self.fails("peak advised " + ADVISED, advised=708 * MIB)
        self.fails("peak advised " + ADVISED, advised=692 * MIB)

    def test_a_limit_that_is_too_small_or_too_large_fails(self):
        self.fails("fit: survives", real_least={"": 651 * MIB, ADVISED: 600 * MIB})
        self.fails("fit: 3 % less is refused", real_least={"": 600 * MIB, ADVISED: 600 * MIB})
        self.fails("fit advised: 3 % less is refused", real_least={"": 650 * MIB})

    def test_a_fit_that_finds_nothing_fails(self):
        self.assertIsNone(prove_checks.smallest_limit({"error": "no such command"}, False))
        self.assertIsNone(prove_checks.smallest_limit(
            {"candidates": [{"smallest_limit_bytes": 0}]}, True))

    def test_a_decision_that_differs_or_a_counter_that_does_fails_in_every_run(self):
        for planted in ({"mismatches": 1}, {"retries": 1}):
            checks, _ = self.prove("--quick", **planted)
            bad = [each for each in checks if not each.ok]
            self.assertEqual(len(bad), 6)
            self.assertTrue(all(each.what.startswith("verify") for each in bad))

    def test_a_broken_rerun_fails_and_the_others_go_on(self):
        checks, report = self.prove(broken=("moe", ADVISED))
        bad = [each for each in checks if not each.ok]
        self.assertEqual(len(bad), 3, bad)
        self.assertTrue(all("planted" in each.note for each in bad))
        self.assertEqual(len(report["workloads"]["moe"]["cases"]), 8)

    def test_a_rerun_that_asks_for_other_memory_fails_only_if_its_figures_differ(self):
        checks, _ = self.prove(digest="other")
        self.assertEqual([each for each in checks if not each.ok], [])
        told = [each.what for each in checks if "requested other memory" in each.note]
        self.assertEqual(len(told), 4, told)
        first = {"requests": 9, "requests_digest": "a", "outcome": "finished",
                 "stats": {"reserved_bytes.all.peak": 100 * MIB}}
        second = dict(first, requests_digest="b", stats={"reserved_bytes.all.peak": 102 * MIB})
        check = prove_checks.check_again("moe", "peak again", first, second)
        self.assertEqual((check.ok, check.note),
                         (False, "requested other memory: 9 requests for 9"))

    def test_where_a_run_died_is_told_and_counters_are_compared(self):
        checks, report = self.prove(real_least={"": 651 * MIB, ADVISED: 600 * MIB})
        notes = {each.what: each.note for each in checks}
        counters = "retries 4 for 0, device allocations 29 for 30"
        self.assertEqual(notes["fit: survives"], "1 refusal; died after 9 allocations, asking "
                         "64.0 MiB; " + counters)
        self.assertEqual(notes["fit advised: survives"], counters)
        predicted = [each["predicted"] for each in report["workloads"]["moe"]["cases"]]
        self.assertEqual(predicted[0], {"retries": 4, "device_allocations": 29,
                                        "refused_bytes": None})
        self.assertEqual(len(predicted), 8)

    def test_a_refusal_by_a_full_device_proves_nothing(self):
        checks, _ = self.prove(device_free=63 * MIB)
        bad = [each for each in checks if not each.ok]
        self.assertEqual(sorted(each.what for each in bad),
                         ["fit advised: 3 % less is refused", "fit: 3 % less is refused"])
        self.assertIn("the device had only 63 MiB left", bad[0].note)

    def test_settings_that_need_too_much_are_left_out_and_it_is_told(self):
        checks, report = self.prove(replayed=dict(
            MadeUpMachine.PEAKS, **{"max_split_size_mb:128": 61 << 30}))
        odd = [each for each in checks if not each.ok]
        self.assertEqual([(each.what, each.ok) for each in odd],
                         [("peak fixed max_split_size_mb:128", None)])
        self.assertEqual(len(report["workloads"]["moe"]["cases"]), 7)
        self.assertTrue(prove_checks.line(odd[0]).startswith("skip  moe"))

    def test_a_broken_workload_is_one_failure(self):
        checks, report = self.prove(broken=("moe", ""))
        self.assertEqual([(each.what, each.ok) for each in checks], [("runs", False)])
        self.assertTrue(report["complete"])

    def test_advice_that_nothing_helps_is_a_case_too(self):
        checks, report = self.prove(nothing_helps=True)
        self.assertEqual([each.note for each in checks if each.what == "advise"], ["nothing helps"])
        self.assertEqual(len(report["workloads"]["moe"]["cases"]), 5)

    def test_snapshots_are_kept_only_when_asked(self):
        self.prove()
        self.assertEqual(list(self.out.glob("snapshots-*")), [])
        self.prove("--keep", advised=1)
        with tarfile.open(self.out / "snapshots-1.tar") as tar:
            names = sorted(tar.getnames())
        kept = "moe-advised_expandable_segments_True_max_split_size_mb_64"
        self.assertEqual(names, [kept + ".json", kept + ".pickle.xz", "moe-default.json",
                                 "moe-default.pickle.xz"])

    def test_a_refusal_that_a_library_catches_counts_and_is_told(self):
        result = {"outcome": "finished", "ooms": 2, "stats": {}, "last_refusal": {
            "bytes": 3 * MIB, "after_allocations": 1234, "device_free": 4 * MIB}}
        check = prove_checks.check_dies("resnet", "fit", MIB, result)
        self.assertEqual((check.ok, check.note), (
            True, "2 refusals, caught inside a library; last refused after 1,234 allocations, "
            "asking 3.0 MiB; retries None"))
        self.assertFalse(prove_checks.check_survives("resnet", "fit", MIB, result).ok)

    def test_the_table_lines_up_and_marks_failures(self):
        text = prove_checks.table([
            prove_checks.Check("moe", "peak fixed", True, 101 * MIB, 100 * MIB),
            prove_checks.Check("moe", "verify again", True, MIB, MIB),
            prove_checks.Check("serving", "fit: survives", False, None, None, "died")])
        self.assertEqual(text.splitlines(), [
            "      workload  check          predicted     real   off by",
            "ok    moe       peak fixed       101 MiB  100 MiB  +1.00 %",
            "FAIL  serving   fit: survives                               died",
            "ok    verify: every decision and counter of 1 runs"])


class Recording(unittest.TestCase):
    def test_a_fraction_gives_exactly_the_limit(self):
        for limit in (1, 3 << 30, 6_442_450_944, 8_449_468_849, TOTAL - 1):
            self.assertEqual(int(fraction_for(limit, TOTAL) * TOTAL), limit)
        self.assertRaises(ValueError, fraction_for, TOTAL, TOTAL)

    def test_the_digest_ignores_addresses_and_sees_sizes_streams_and_order(self):
        def entries(*what):
            return [{"action": action, "addr": address, "size": size, "stream": stream}
                    for action, address, size, stream in what]

        first = entries(("alloc", 1, 9, 0), ("alloc", 2, 8, 5), ("free_requested", 1, 9, 0))
        moved = entries(("segment_alloc", 7, 99, 0), ("alloc", 70, 9, 0), ("alloc", 80, 8, 6),
                        ("free_requested", 70, 9, 0))
        digest = requests_digest(first)["requests_digest"]
        self.assertEqual(requests_digest(moved)["requests_digest"], digest)
        for other in (entries(("alloc", 1, 9, 0), ("alloc", 2, 7, 5), ("free_requested", 1, 9, 0)),
                      entries(("alloc", 1, 9, 0), ("alloc", 2, 8, 0), ("free_requested", 1, 9, 0)),
                      entries(("alloc", 1, 9, 0), ("alloc", 2, 8, 5), ("free_requested", 2, 8, 5))):
            self.assertNotEqual(requests_digest(other)["requests_digest"], digest)


    def test_the_digest_ignores_the_order_of_frees_that_no_request_parts(self):
        def digest(*freed):
            trace = [{"action": "alloc", "addr": at, "size": 9, "stream": 0} for at in (1, 2, 3)]
            for at in freed:
                trace.append({"action": "free_requested", "addr": at} if at else
                             {"action": "alloc", "addr": 4, "size": 9, "stream": 0})
            return requests_digest(trace)["requests_digest"]

        self.assertEqual(digest(1, 2, None, 3), digest(2, 1, None, 3))
        self.assertEqual(digest(None, 1, 2, 3), digest(None, 3, 1, 2))
        self.assertNotEqual(digest(1, 2, None, 3), digest(1, None, 2, 3))
        self.assertNotEqual(digest(1, None), digest(2, None))

    def test_the_last_refusal_is_found(self):
        trace = [{"action": "alloc"}, {"action": "oom", "size": 7, "device_free": 1},
                 {"action": "alloc"}, {"action": "free_requested"},
                 {"action": "oom", "size": 8, "device_free": 2}, {"action": "alloc"}]
        self.assertEqual(last_refusal(trace),
                         {"bytes": 8, "device_free": 2, "after_allocations": 2})
        self.assertIsNone(last_refusal(trace[:1]))


class Machine(unittest.TestCase):
    """The real one, with stand-ins for what it starts."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        home, prove_on_gpu.HERE = prove_on_gpu.HERE, self.folder
        self.addCleanup(setattr, prove_on_gpu, "HERE", home)

    def machine(self, tidemark="", *arguments):
        program = self.folder / "tidemark"
        program.write_text("#!/usr/bin/env bash\n" + tidemark)
        program.chmod(0o755)
        options = prove_on_gpu.parse(["--tidemark", str(program), *arguments])
        return prove_on_gpu.Machine(options, self.folder)

    def workload(self, text, conf="", *arguments):
        (self.folder / "workload.py").write_text(text)
        return self.machine("", *arguments).program("workload.py", ["moe", "--limit", 5], conf)

    def test_a_run_gets_its_settings_and_hands_back_its_result(self):
        result = self.workload(
            "import json, os, sys\n"
            "target = sys.argv[sys.argv.index('--result') + 1]\n"
            "open(sys.argv[sys.argv.index('--snapshot') + 1], 'w').close()\n"
            "names = sorted(name for name in os.environ if name.endswith('ALLOC_CONF'))\n"
            "conf = [os.environ[name] for name in names]\n"
            "json.dump({'outcome': 'finished', 'names': names, 'values': conf,"
            " 'arguments': sys.argv[1:4]}, open(target, 'w'))\n", ADVISED)
        self.assertEqual((result["outcome"], result["names"], result["values"], result["conf"]),
                         ("finished", ["PYTORCH_ALLOC_CONF"], [ADVISED], ADVISED))
        self.assertEqual(result["arguments"], ["moe", "--limit", "5"])
        self.assertTrue(pathlib.Path(result["snapshot"]).exists())

    def test_a_run_that_fails_or_never_ends_is_told(self):
        result = self.workload("raise SystemExit('planted')")
        self.assertEqual((result["outcome"], result["error"], result["snapshot"]),
                         ("error", "planted", None))
        result = self.workload("import time; time.sleep(60)", "", "--case-seconds", "1.5")
        self.assertEqual(result["outcome"], "error")
        self.assertIn("cut off after 2 s", result["error"])
        result = self.workload("", "", "--seconds", "0.5")
        self.assertEqual(result["error"], "not run: out of time")

    def test_what_tidemark_prints_is_read_and_its_errors_are_kept(self):
        machine = self.machine('echo progress >&2; echo "{\\"arguments\\": \\"$*\\"}"; exit 1')
        self.assertEqual(machine.tidemark("fit", "a.pickle")["arguments"], "fit a.pickle --json")
        machine = self.machine('echo "no such command" >&2; exit 2')
        self.assertEqual(machine.tidemark("advise")["error"], "no such command")

    def test_verify_is_told_what_a_snapshot_does_not_hold(self):
        machine = self.machine('echo "{\\"arguments\\": \\"$*\\"}"')
        run = {"snapshot": "a.pickle", "total_memory": 99, "limit": 0}
        self.assertEqual(machine.verify(run)["arguments"], "verify a.pickle --memory 99 --json")
        self.assertEqual(machine.verify(dict(run, limit=7))["arguments"],
                         "verify a.pickle --memory 99 --limit 7 --json")
        self.assertIn("error", machine.verify({"snapshot": None}))


class Script(unittest.TestCase):
    def script(self, *arguments):
        return subprocess.run([ROOT / "scripts/prove-on-gpu", *arguments], capture_output=True,
                              text=True, check=False, cwd="/")

    def test_help_and_plan_need_no_gpu(self):
        result = self.script("--help")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("--edges", result.stdout)
        result = self.script("--dry-run", "--edges", "4")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(result.stdout.count("record under the default settings"), 6)
        self.assertEqual(result.stdout.count("edge "), 4)

    def test_unknown_workloads_are_refused(self):
        result = self.script("--dry-run", "--only", "frobnicate")
        self.assertEqual(result.returncode, 2)
        self.assertIn("frobnicate", result.stderr)


if __name__ == "__main__":
    unittest.main()
