"""scripts/hostile: its mutants are repeatable, and a call that ends badly is found faulty."""
import pathlib
import random
import stat
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import hostile_calls  # noqa: E402
import hostile_mutants  # noqa: E402
from hostile_calls import Caller, Fault  # noqa: E402


class Mutants(unittest.TestCase):
    def test_a_seed_makes_the_same_bytes_again(self):
        data = b'{"t":1,"op":"alloc","bytes":4096}\n' * 50
        once = [hostile_mutants.mutant(random.Random(i), data) for i in range(300)]
        again = [hostile_mutants.mutant(random.Random(i), data) for i in range(300)]
        self.assertEqual(once, again)
        self.assertGreater(len(set(once)), 250)

    def test_every_change_takes_any_bytes(self):
        for change in hostile_mutants.CHANGES:
            for data in (b"x", b"\0" * 5000, b'"a": 1\n', bytes(range(256))):
                for seed in range(20):
                    self.assertIsInstance(change(random.Random(seed), data), bytes)


class Calls(unittest.TestCase):
    """A program of a line each, in place of tidemark."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.caller = Caller(self.folder.name, self.folder.name)
        self.addCleanup(self.caller.end)

    def call(self, line, *words):
        path = pathlib.Path(self.folder.name) / "program"
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return self.caller([str(path), *words])

    def assert_faulty(self, what, line, *words):
        with self.assertRaisesRegex(Fault, what):
            self.call(line, *words)

    def test_a_sentence_and_a_code_that_means_something_are_fine(self):
        self.assertEqual(self.call("echo 'x.tmk: cannot be read' >&2; exit 3").code, 3)
        self.assertEqual(self.call("echo '{\"a\": 1}'", "--json").code, 0)
        self.assertEqual(self.caller.outcome(), "done")

    def test_bad_ends_are_found(self):
        self.assert_faulty("ended by SIGSEGV", "kill -SEGV $$")
        self.assert_faulty("check failed", "echo 'a.cpp:1: check failed: room' >&2; exit 3")
        self.assert_faulty("means nothing", "echo 'some long sentence' >&2; exit 99")
        self.assert_faulty("without a sentence", "exit 3")

    def test_a_hang_is_found(self):
        before = hostile_calls.SECONDS
        self.addCleanup(setattr, hostile_calls, "SECONDS", before)
        hostile_calls.SECONDS = 0.2
        self.assert_faulty("hangs", "exec sleep 30")

    def test_raw_text_and_broken_json_are_found(self):
        self.assert_faulty("raw", "printf 'a\\033[31mb'")
        self.assert_faulty("raw", "printf 'gnp\\342\\200\\256exe'")
        self.assert_faulty("invalid JSON", "echo '{\"a\": nan}'", "--json")
        self.assert_faulty("invalid JSON", "echo '{\"dur\": -270576.-903}'", "--json")


if __name__ == "__main__":
    unittest.main()
