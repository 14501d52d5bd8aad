"""prove_tiers: a bench that is too slow fails, whatever its exit code says."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))

import prove_tiers  # noqa: E402


class SlowLines(unittest.TestCase):
    def test_ratio_below_the_least_is_found(self):
        output = 'a table\n{"what": "a", "ratio": 0.95}\n{"what": "b", "ratio": 0.893}\n'
        self.assertEqual(prove_tiers.slow_lines(output), ['{"what": "b", "ratio": 0.893}'])

    def test_lines_without_a_ratio_are_passed_over(self):
        self.assertEqual(prove_tiers.slow_lines('{"policy": "lru"}\nplain text\n'), [])


class Runs(unittest.TestCase):
    def test_a_slow_program_fails_and_a_missing_one_too(self):
        echo = [sys.executable, "-c", "print('{\"ratio\": 0.5}')"]
        self.assertFalse(prove_tiers.run(echo))
        self.assertTrue(prove_tiers.run([sys.executable, "-c", "print('{\"ratio\": 0.9}')"]))
        self.assertFalse(prove_tiers.run(["/nonexistent/bench"]))


if __name__ == "__main__":
    unittest.main()
