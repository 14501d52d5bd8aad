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
    def answers(self, losses, failures=0):
        one = {"step_seconds": 0.1, "peak_reserved_bytes": 10**9, "losses": [2.0, 1.0]}
        return [{"variant": "plain", **one},
                {"variant": "deferred", **one, "losses": losses,
                 "deferrable": {"failures": failures}},
                {"variant": "offload", "error": "no memory"}]

    def test_the_same_losses_hold(self):
        holds, lines = prove_deferrable.training_verdict(self.answers([2.0, 1.0]))
        self.assertTrue(holds)
        self.assertIn("no memory", "\n".join(lines))

    def test_other_losses_and_failures_do_not(self):
        self.assertFalse(prove_deferrable.training_verdict(self.answers([2.0, 1.1]))[0])
        self.assertFalse(prove_deferrable.training_verdict(self.answers([2.0, 1.0], 1))[0])
        self.assertFalse(prove_deferrable.training_verdict(
            [{"variant": "plain", "error": "?"}, {"variant": "deferred", "error": "?"}])[0])


if __name__ == "__main__":
    os.chdir(ROOT)
    unittest.main()
