"""prove_deferrable: what counts as holding."""
import os
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import prove_deferrable  # noqa: E402


class Figures(unittest.TestCase):
    def test_pins_are_read_from_the_bench(self):
        self.assertEqual(prove_deferrable.pin_figures(
            "gate                                  9.8 ns\nhandle, with a stream   12.0 ns\nno\n"),
            {"gate": 9.8, "handle, with a stream": 12.0})

    def test_sizes_are_those_of_the_device(self):
        real, simulated = prove_deferrable.parsed([]), prove_deferrable.parsed(["--device", "sim"])
        self.assertEqual(real.logical // 10**9, 199)
        self.assertLess(simulated.logical, 10**9)
        self.assertEqual(prove_deferrable.parsed(["--piece", "0.01"]).piece % (1 << 20), 0)


class Training(unittest.TestCase):
    def answers(self, losses=(2.0, 1.0), failures=0, **changed):
        one = {"step_seconds": 0.1, "peak_bytes": 10**9, "seen_device_bytes": 0,
               "losses": [2.0, 1.0]}
        deferrable = {"failures": failures, "deferrals": 3, "retrievals": 3}
        return [{"variant": "plain", **one},
                {"variant": "deferred", **one, "losses": losses, "deferred_bytes": 2 * 10**9,
                 "window_bytes": 10**9, "deferrable": deferrable, **changed},
                {"variant": "offload", "budget_bytes": 10**9, "error": "no memory"}]

    def holds(self, *given, **changed):
        return prove_deferrable.training_verdict(self.answers(*given, **changed), 10**9)[0]

    def test_the_same_losses_in_time_and_memory_hold(self):
        answers = self.answers()
        holds, line = prove_deferrable.training_verdict(answers, 10**9)
        self.assertTrue(holds)
        self.assertIn("is 1.00 of the plain one", line)
        told = prove_deferrable.training_line(answers[2])
        self.assertIn("in 1.00 GB", told)
        self.assertIn("no memory", told)

    def test_other_losses_and_failures_do_not(self):
        self.assertFalse(self.holds([2.0, 1.1]))
        self.assertFalse(self.holds(failures=1))
        self.assertFalse(prove_deferrable.training_verdict(
            [{"variant": "plain", "error": "?"}, {"variant": "deferred", "error": "?"}], 0)[0])

    def test_a_slow_step_and_a_peak_beyond_the_budget_do_not(self):
        self.assertFalse(self.holds(step_seconds=0.13))
        self.assertFalse(self.holds(peak_bytes=10**9 + 1))
        slow = self.answers(step_seconds=0.13)
        self.assertTrue(prove_deferrable.training_verdict(slow, 10**9, simulated=True)[0])

    def test_state_that_never_left_does_not(self):
        self.assertFalse(self.holds(deferrable={"failures": 0, "deferrals": 0, "retrievals": 0}))


class Cluster(unittest.TestCase):
    def answer(self, **changed):
        worker = {"bytes": 50, "deferrals": 3, "retrievals": 3, "copies": 0, "kept": 0,
                  "failures": 0}
        return {"wrong": 0, "wrong_after_eviction": 0, "wrong_after_kill": 0, "bytes": 100,
                "seconds": 1, "evictions": [[-1, 10], [-1, 10]],
                "workers": [worker, {**worker, **changed.pop("worker", {})}], **changed}

    def holds(self, **changed):
        return prove_deferrable.cluster_verdict(self.answer(**changed))[0]

    def test_right_results_hold(self):
        holds, line = prove_deferrable.cluster_verdict(self.answer())
        self.assertTrue(holds)
        self.assertIn("6 deferrals", line)

    def test_wrong_numbers_and_lost_results_do_not(self):
        self.assertFalse(self.holds(wrong=1))
        self.assertFalse(self.holds(wrong_after_kill=1))
        self.assertFalse(self.holds(worker={"bytes": 49}))
        self.assertFalse(self.holds(worker={"failures": 1}))

    def test_an_eviction_has_to_fail_and_then_to_work(self):
        self.assertFalse(self.holds(evictions=[[0, 10], [-1, 10]]))
        self.assertFalse(self.holds(evictions=[[-1, -1], [-1, 10]]))

    def test_an_error_is_told(self):
        self.assertEqual(prove_deferrable.cluster_verdict({"error": "no distributed"}),
                         (False, "no distributed"))


if __name__ == "__main__":
    os.chdir(ROOT)
    unittest.main()
