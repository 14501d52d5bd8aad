"""scripts/prove-on-gpu machine: what it prints of a measurement, and when it fails."""
import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import prove_machine  # noqa: E402

FIGURE = {"what": "gpu:0 -> host", "figure": "bytes_per_second", "median": 55e9, "least": 54e9,
          "most": 56.1e9, "runs": 9}
DOCUMENT = {
    "machines": [{
        "spaces": [{"space": "gpu:0"}, {"space": "host:0"}],
        "links": [{"source": "gpu:0", "target": "host:0", "bytes_per_second": 55e9,
                   "overhead_ns": 900, "latency_ns": 6000, "bus": "gpu0-host"}],
        "buses": [{"name": "gpu0-host", "bytes_per_second": 90e9}],
        "derived": [{"what": "disk:0", "how": "assumed; not measured: /x: full"}],
    }],
    "measured": [FIGURE],
}


def run(document, *words, code=0):
    """main() with a program that prints `document`: its exit code, and what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "tidemark"
        text = json.dumps(document)
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\nexit {code}\n")
        program.chmod(0o755)
        output, errors = io.StringIO(), io.StringIO()
        with mock.patch.object(sys, "argv", ["machine", "--tidemark", str(program), *words]), \
                contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            return prove_machine.main(), output.getvalue(), errors.getvalue()


class Machine(unittest.TestCase):
    def test_figures_and_the_lines_of_a_machine_file_are_printed(self):
        code, output, _ = run(DOCUMENT)
        self.assertEqual(code, 0)
        self.assertIn("55.000 GB/s", output)
        self.assertIn("9 runs, spread 3.8 %", output)
        self.assertIn("not measured:\ndisk:0: assumed; not measured: /x: full", output)
        link = next(line for line in output.splitlines() if line.startswith('{"source"'))
        self.assertEqual(json.loads(link), {
            "source": "gpu:0", "target": "host:0", "bytes_per_second": 55e9, "overhead": 900,
            "latency": 6000, "bus": "gpu0-host"})

    def test_a_gpu_that_was_not_measured_fails(self):
        code, _, errors = run(dict(DOCUMENT, measured=[]))
        self.assertEqual(code, 1)
        self.assertIn("gpu:0 was not measured", errors)

    def test_a_program_that_fails_or_is_not_there_fails(self):
        self.assertEqual(run(DOCUMENT, code=5)[0], 1)
        code, _, errors = run(DOCUMENT, "--tidemark", "/no/such/tidemark")
        self.assertEqual(code, 1)
        self.assertIn("/no/such/tidemark", errors)

    def test_words_reach_the_program(self):
        options = mock.Mock(tidemark="t", disk=["/a", "/b"], gpus="0", quick=True, output="o.json")
        self.assertEqual(prove_machine.command(options), [
            "t", "machines", "--discover", "--measure", "--json", "--disk", "/a", "--disk", "/b",
            "--gpus", "0", "--quick", "-o", "o.json"])


if __name__ == "__main__":
    unittest.main()
