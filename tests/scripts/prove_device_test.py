"""scripts/prove-on-gpu device: what it calls true, and that it finds each planted untruth.

No GPU: a made-up program stands for tidemark and for the test programs.
"""
import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import prove_device  # noqa: E402
import prove_pairs
import prove_parity as parity  # noqa: E402

MIB = 1 << 20
LINES = ["1 0 malloc 2097152 -> p1\n", "1 0 STREAM grant 512 0 -> p1+0 (512)\n",
         "2 0 create 2097152 -> h1\n", "3 0 create 2097152 -> h2\n", "4 0 release h1\n",
         "5 0 create 2097152 -> out of memory\n", "6 0 free p1\n"]
RUN = {"driver_ns": 1000, "decisions": 7, "decisions_hash": "a", "peak_reserved_bytes": 6 * MIB,
       "peak_allocated_bytes": 5 * MIB,
       "device_peak_bytes": 6 * MIB, "device_leak_bytes": 0, "memory_bytes": 99 * MIB}
TOUCH = {"allocations": 5, "bytes": 4096, "damaged": 0, "differing_bytes": 0, "failures": 0,
         "first_difference": None}
GRAPH = "torch, shared pool          4096 bytes, 1000 launches: 0 words of the output wrong, " \
        "{} of others, 3.1 us a launch with what is around it\n"


class Facts(unittest.TestCase):
    def test_the_first_difference_of_two_texts_is_told(self):
        self.assertIsNone(parity.difference_of_lines(LINES, list(LINES)))
        other = [*LINES[:2], "2 0 create 4194304 -> h1\n", *LINES[3:]]
        self.assertEqual(parity.difference_of_lines(LINES, other),
                         (3, "2 0 create 2097152 -> h1", "2 0 create 4194304 -> h1"))
        self.assertEqual(parity.difference_of_lines(LINES, LINES[:-1]), (7, "6 0 free p1", None))

    def test_pieces_of_memory_are_counted_while_they_live(self):
        self.assertEqual(parity.most_handles(LINES), 3)
        self.assertEqual(parity.most_handles([]), 0)

    def test_equal_decisions_hold_and_others_are_shown(self):
        self.assertTrue(parity.check_decisions("t", RUN, RUN, None).ok)
        fact = parity.check_decisions("t", RUN, RUN, (3, "x", "y"))
        self.assertEqual((fact.ok, fact.note),
                         (False, "line 3: 'x' on the GPU, 'y' on the simulator"))
        self.assertFalse(parity.check_decisions("t", RUN, dict(RUN, decisions_hash="b"), None).ok)
        self.assertFalse(parity.check_decisions("t", dict(RUN, decisions=0), RUN, None).ok)
        fact = parity.check_decisions("t", {"error": "no such GPU\nhint"}, RUN, None)
        self.assertEqual((fact.ok, fact.note), (False, "GPU: no such GPU"))

    def test_driver_time_may_be_off_by_fifteen_per_cent_of_the_median(self):
        for predicted, ok in ((1150, True), (850, True), (1151, False), (849, False)):
            self.assertEqual(parity.check_time("t", RUN, dict(RUN, driver_ns=predicted)).ok, ok)
        self.assertTrue(parity.check_time("t", dict(RUN, driver_ns=5000), RUN,
                                          [5000, 1000, 990]).ok)
        self.assertFalse(parity.check_time("t", dict(RUN, driver_ns=0), RUN).ok)

    def test_the_peak_may_be_off_by_a_unit_for_each_handle(self):
        for more, ok in ((0, True), (6 * MIB, True), (-6 * MIB, True), (6 * MIB + 1, False)):
            real = dict(RUN, device_peak_bytes=6 * MIB + more)
            self.assertEqual(parity.check_peak("t", real, 3).ok, ok)
        self.assertFalse(parity.check_peak("t", dict(RUN, device_peak_bytes=None), 3).ok)

    def test_times_are_also_held_against_each_other_over_all_traces(self):
        self.assertTrue(parity.check_total_time("p", [(50, 100), (950, 900)]).ok)
        self.assertFalse(parity.check_total_time("p", [(50, 100), (50, 100)]).ok)
        self.assertFalse(parity.check_total_time("p", [(50, 100), (None, 100)]).ok)
        self.assertFalse(parity.check_total_time("p", []).ok)

    def test_the_median_of_profiles_is_taken_number_by_number(self):
        profiles = [{"name": "card", "calls": {"malloc": [[512, price], [1024, 7]]}, "odd": price}
                    for price in (30, 10, 20)]
        del profiles[1]["odd"]
        self.assertEqual(parity.median_profile(profiles),
                         {"name": "card", "calls": {"malloc": [[512, 20], [1024, 7]]}})

    def test_what_is_not_given_back_is_seen(self):
        for leak, ok in ((0, True), (2 * MIB, True), (2 * MIB + 1, False), (None, False)):
            self.assertEqual(parity.check_leak("t", dict(RUN, device_leak_bytes=leak)).ok, ok)

    def test_content_must_be_there_and_sound(self):
        self.assertTrue(parity.check_touch("t", {"touch": TOUCH}).ok)
        for change in ({"differing_bytes": 1}, {"failures": 1}, {"damaged": 1},
                       {"allocations": 0}):
            self.assertFalse(parity.check_touch("t", {"touch": dict(TOUCH, **change)}).ok, change)
        self.assertFalse(parity.check_touch("t", {"touch": None}).ok)

    def test_calibration_has_a_minute(self):
        self.assertTrue(parity.check_calibrate({}, 59.9).ok)
        self.assertFalse(parity.check_calibrate({}, 60).ok)
        self.assertFalse(parity.check_calibrate({"error": "no GPU"}, 1).ok)

    def test_tests_that_were_skipped_or_failed_prove_nothing(self):
        passed = "All tests passed (112 assertions in 9 test cases)\n"
        fact = parity.check_tests("test_gpu", 0, passed)
        self.assertEqual((fact.ok, fact.note), (True, "112 assertions in 9 test cases"))
        child = "All tests passed (4 assertions in 1 test case)\n"
        self.assertEqual(parity.check_tests("test_gpu", 0, child + passed).note, fact.note)
        self.assertFalse(parity.check_tests("test_gpu", 0, "skipped: no GPU here\n" + passed).ok)
        fact = parity.check_tests("test_gpu", 0, "skipped: one GPU only\n" + passed)
        self.assertEqual((fact.ok, fact.note),
                         (True, "112 assertions in 9 test cases; skipped: one GPU only"))
        self.assertFalse(parity.check_tests("test_gpu", 1, "skipped: one GPU only\n").ok)
        self.assertFalse(parity.check_tests("test_gpu", 0, "No tests ran\n").ok)
        fact = parity.check_tests("test_gpu", 1, "a_test.cpp:5: FAILED:\n  CHECK( x )\n")
        self.assertEqual((fact.ok, fact.note), (False, "exit code 1; a_test.cpp:5: FAILED:"))
        self.assertFalse(parity.check_tests("test_gpu", None, passed).ok)

    def test_graphs_must_be_right_and_the_wrong_way_must_fail(self):
        def facts(text):
            return [(fact.what, fact.ok) for fact in parity.graph_facts(text)]

        self.assertEqual(facts(GRAPH.format(7)), [("torch, shared pool", True)])
        self.assertEqual(facts(GRAPH.format(0)), [("torch, shared pool", False)])
        arena = GRAPH.replace("torch, shared pool", "arena, planned")
        self.assertEqual(facts("noise\n" + arena.format(0)), [("arena, planned", True)])
        self.assertEqual(facts(arena.format(1)), [("arena, planned", False)])


# What a pair costs all threads together, in ns.
PAIRS = [{"name": f"cached torch/1KiB/real_time/threads:{threads}", "real_time": time}
         for threads, time in ((1, 100), (2, 60), (8, 30), (16, 15), (32, 15))]


class Pairs(unittest.TestCase):
    """What counts as fast enough."""

    def facts(self, **changed):
        times = {1: 100, 2: 60, 8: 30, 16: 15, 32: 15}
        times.update({int(threads[1:]): time for threads, time in changed.items()})
        return {fact.what: fact.ok
                for fact in prove_pairs.facts({("cached torch", "1KiB"): times})}

    def test_each_figure_has_its_limit(self):
        self.assertTrue(all(self.facts().values()))
        self.assertFalse(self.facts(t1=151)["one thread"])
        self.assertFalse(self.facts(t8=38)["8 threads"])
        self.assertFalse(self.facts(t2=101)["grows"])
        self.assertFalse(self.facts(t32=31)["many threads"])

    def test_nothing_measured_proves_nothing(self):
        self.assertFalse(prove_pairs.facts({})[0].ok)

    def test_the_table_says_what_a_pair_costs_its_thread(self):
        self.assertIn("| cached torch | 1KiB | 100 | 240 |",
                      prove_pairs.table({("cached torch", "1KiB"): {1: 100, 8: 30}}))


class Proof(unittest.TestCase):
    """The whole program, with a stand-in for tidemark that is right unless told otherwise."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in prove_device.TEST_PROGRAMS:
            self.program(name, "print('All tests passed (3 assertions in 1 test case)')")
        self.program("concurrent_bench", f"print(json.dumps({{'benchmarks': {PAIRS!r}}}))")
        (self.folder / "run.pickle").touch()

    def program(self, name, text):
        path = self.folder / name
        path.write_text("#!/usr/bin/env python3\nimport json, sys\n" + text)
        path.chmod(0o755)
        return path

    def prove(self, *arguments, simulated=None, real=None):
        tidemark = self.program("tidemark", f"""
words = sys.argv[1:]
run = dict({RUN!r})
if words[0] == 'policies':
    run = {{'policies': [{{'name': 'vpmm'}}]}}
if words[0] == 'replay':
    run.update({real or {}!r} if '--device' in words else {simulated or {}!r})
    run['words'] = words
if '--touch' in words:
    run['touch'] = {TOUCH!r}
if words[0] == 'calibrate':
    open(words[words.index('-o') + 1], 'w').write('{{"name": "c"}}')
if '--decisions' in words:
    open(words[words.index('--decisions') + 1], 'w').write({''.join(LINES)!r})
print(json.dumps(run))
""")
        with contextlib.redirect_stdout(io.StringIO()) as output:
            code = prove_device.main(["--tidemark", str(tidemark), "--tests", str(self.folder),
                                      "--trace", str(self.folder / "run.pickle"),
                                      "--out", str(self.folder / "out"), *arguments])
        report = json.loads((self.folder / "out" / "device.json").read_text())
        return code, report, output.getvalue()

    def test_all_holds_where_nothing_is_planted(self):
        code, report, output = self.prove()
        self.assertEqual(code, 0, output)
        self.assertEqual([fact["what"] for fact in report["facts"]], [
            "tests", "tests", "profile", *["decisions", "driver time", "peak", "given back"] * 3,
            *["driver time of all"] * 3, *["content"] * 3,
            "one thread", "8 threads", "grows", "many threads", "tests"])
        self.assertIn("26 checks hold, 0 fail", output)

    def test_the_simulator_gets_the_card_that_was_measured_and_its_memory(self):
        _, report, _ = self.prove("--only", "calibrate", "--only", "parity", "--policy", "vpmm",
                                  "--repeat", "3")
        commands = [run["words"] for run in report["runs"]]
        self.assertEqual(["--device" in words for words in commands], [True, True, True, False])
        self.assertEqual(commands[3][commands[3].index("--memory") + 1], str(99 * MIB))
        self.assertTrue(commands[3][commands[3].index("--profile") + 1].endswith("profile.json"))

    def test_a_policy_may_know_the_peak(self):
        _, report, _ = self.prove("--only", "parity", "--policy", "extent:expect=PEAK")
        policies = {run["words"][run["words"].index("--policy") + 1] for run in report["runs"]}
        self.assertEqual(policies, {f"extent:expect={5 * MIB}"})

    def test_a_planted_difference_is_a_failure(self):
        for planted, what in (({"driver_ns": 1200}, {"driver time", "driver time of all"}),
                              ({"decisions_hash": "b"}, {"decisions"})):
            code, report, _ = self.prove("--only", "parity", simulated=planted)
            self.assertEqual(code, 1)
            self.assertEqual({fact["what"] for fact in report["facts"] if not fact["ok"]}, what)
        for planted in ({"device_leak_bytes": 9 * MIB}, {"peak_reserved_bytes": 99 * MIB}):
            self.assertEqual(self.prove("--only", "parity", real=planted)[0], 1)

    def test_what_is_not_built_is_a_failure(self):
        (self.folder / "test_gpu").unlink()
        code, report, _ = self.prove("--only", "tests")
        self.assertEqual((code, [fact["ok"] for fact in report["facts"]]), (1, [True, False]))

    def test_help_needs_no_gpu(self):
        said = subprocess.run([ROOT / "scripts" / "prove-on-gpu", "device", "--help"], text=True,
                              capture_output=True, check=True).stdout
        self.assertIn("every decision is the", said)


if __name__ == "__main__":
    unittest.main()
