"""pool-table changes sizes as it says, and makes its table of what the program answers."""
import importlib.machinery
import importlib.util
import json
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/pool-table"

# A program that knows one trace of two requests: `extent` reserves half of what `torch` does.
PROGRAM = """#!{python}
import json, sys
if sys.argv[1] == "export":
    print(json.dumps({{"type": "header"}}))
    print(json.dumps({{"op": "alloc", "bytes": 1 << 22, "address": 7}}))
    sys.exit(0)
if any("PEAK" in each for each in sys.argv):
    sys.exit(2)
half = "extent" in sys.argv or "extent:expect=7" in sys.argv
print(json.dumps({{"overhead_ratio": 1.0 if half else 2.0, "driver_ns": 50 if half else 100,
                  "out_of_memory": 0, "peak_allocated_bytes": 7}}))
"""


def load():
    loader = importlib.machinery.SourceFileLoader("pool_table", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("pool_table", loader))
    loader.exec_module(module)
    return module


class PoolTable(unittest.TestCase):
    def table(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "program"
            program.write_text(PROGRAM.format(python=sys.executable))
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
            return subprocess.run(
                [sys.executable, SCRIPT, "run.tmk", "--program", program, "-p", "torch",
                 "-p", "extent", *arguments], capture_output=True, text=True, check=True).stdout

    def test_sizes_change_a_little_and_equal_ones_alike(self):
        changed = load().changed
        self.assertEqual(changed(1000, 1), 1000)
        self.assertEqual(changed(1 << 24, 1), changed(1 << 24, 1))
        self.assertNotEqual(changed(1 << 24, 1), changed(1 << 24, 2))
        for seed in range(50):
            self.assertLessEqual(abs(changed(1 << 24, seed) - (1 << 24)), 0.004 * (1 << 24) + 1)

    def test_a_row_for_each_policy_and_times_as_multiples_of_the_recorded(self):
        self.assertIn("| torch | 2.000/1.00 | 2.000/1.00 |", self.table())
        self.assertIn("| extent | 1.000/0.50 | 1.000/0.50 |", self.table("--variants", "2"))

    def test_a_policy_may_know_the_peak(self):
        self.assertIn("| extent:expect=PEAK | 1.000/0.50 |", self.table("-p", "extent:expect=PEAK"))

    def test_json_has_the_worst_of_the_variants(self):
        table = json.loads(self.table("--variants", "3", "--json"))
        self.assertEqual(table["extent"]["run"]["worst"], 1.0)


if __name__ == "__main__":
    unittest.main()
