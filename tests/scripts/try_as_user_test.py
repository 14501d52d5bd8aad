"""scripts/try-as-user finds answers that differ, wrong plurals and crashes; it is run by itself too."""
import importlib.machinery
import importlib.util
import json
import pathlib
import sys
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import quantities  # noqa: E402


def load():
    path = ROOT / "scripts/try-as-user"
    loader = importlib.machinery.SourceFileLoader("try_as_user", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("try_as_user", loader))
    loader.exec_module(module)
    return module


script = load()


def trial(command, form, out, code=0):
    text = json.dumps(out) if form == "json" else out
    done = types.SimpleNamespace(returncode=code, stdout=text.encode(), stderr=b"")
    return script.Trial("graphs", command, done, form)


REPLAY = {"peak_reserved_bytes": 4096, "out_of_memory": 0, "limit_bytes": 0}


class TryAsUser(unittest.TestCase):
    def test_equal_numbers_agree(self):
        report = {"runs": [{"peak_reserved_bytes": 4096, "out_of_memory": 0}]}
        rows = list(script.rows_of("graphs", [trial("replay", "json", REPLAY),
                                              trial("report", "json", report)]))
        self.assertTrue(all(agreed for _, agreed, _ in rows), rows)
        self.assertIn("peak_reserved_bytes", [name for name, _, _ in rows])

    def test_numbers_that_differ_are_told_with_who_says_so(self):
        report = {"runs": [{"peak_reserved_bytes": 8192, "out_of_memory": 0}]}
        rows = {name: (agreed, text) for name, agreed, text in script.rows_of(
            "graphs", [trial("replay", "json", REPLAY), trial("report", "json", report)])}
        self.assertFalse(rows["peak_reserved_bytes"][0])
        self.assertIn("[8192]: report", rows["peak_reserved_bytes"][1])
        self.assertTrue(rows["out_of_memory"][0])

    def test_text_says_the_same_as_json(self):
        for said, agrees in (("4.00 KiB", True), ("5.00 KiB", False)):
            rows = dict((name, agreed) for name, agreed, _ in script.rows_of(
                "graphs", [trial("replay", "json", REPLAY),
                           trial("report", "text", f"x\n  Peak reserved  {said}\n")]))
            self.assertEqual(rows["peak_reserved_bytes"], agrees)

    def test_what_is_recorded_counts_as_the_recorded_settings(self):
        info = {"peak_requested": {"value": 1}, "out_of_memory": 3, "events": 1,
                "peak_recorded_reserved": None}
        rows = dict((name, agreed) for name, agreed, _ in script.rows_of(
            "graphs", [trial("replay", "json", REPLAY), trial("info", "json", info)]))
        self.assertFalse(rows["out_of_memory"])

    def test_an_answer_about_another_allocator_counts_for_the_program_alone(self):
        replay = {**REPLAY, "policy": "rmm-pool"}
        diff = {"before": {"policy": "torch", "peak_reserved_bytes": 8192},
                "after": {"peak": {"bytes": 12}}}
        rows = {name: agreed for name, agreed, _ in script.rows_of(
            "graphs", [trial("replay", "json", replay), trial("diff", "json", diff)])}
        self.assertTrue(rows["peak_reserved_bytes"])
        self.assertIn("peak_requested_bytes", rows)
        replay["policy"] = "torch"
        rows = {name: agreed for name, agreed, _ in script.rows_of(
            "graphs", [trial("replay", "json", replay), trial("diff", "json", diff)])}
        self.assertFalse(rows["peak_reserved_bytes"])

    def test_a_pages_figures_are_read(self):
        page = ("<div><dt>Peak reserved</dt><dd><strong>8.30 GiB</strong><span>at event 15,537</span></dd></div>"
                "<div><dt>Out of memory</dt><dd><strong>0</strong><span>times, 2 retries</span></dd></div>")
        self.assertEqual(quantities.from_page(page), {"peak_reserved_bytes": "8.30 GiB", "out_of_memory": "0",
                                                      "peak_reserved_event": "15,537", "retries": "2"})
        self.assertEqual(quantities.from_page(page + 5 * "<dt>trace</dt>"), {})  # cards of the highest alone

    def test_plurals(self):
        for text in ("1 segments", "it took 1 times", "1 frees waited", "(1 blocks)"):
            self.assertTrue(list(script.wrong_plurals(text)), text)
        for text in ("11 segments", "2.1 events", "1 ms", "step 1 takes", "1 segment", "0,1 events",
                     "stream 1 waits", "1 is one"):
            self.assertFalse(list(script.wrong_plurals(text)), text)

    def test_ends_that_are_none(self):
        self.assertEqual(list(script.faults(trial("info", "text", "all is well\n"))), [])
        self.assertIn("crashed", next(script.faults(trial("info", "text", "", -11))))
        self.assertIn("ended with 3", next(script.faults(trial("info", "text", "", 3))))
        self.assertIn("nothing", next(script.faults(trial("info", "text", ""))))
        self.assertIn("nan", next(script.faults(trial("info", "text", "saves nan %\n"))))
        self.assertIn("no end", next(script.faults(script.Trial("graphs", "info", None, "text"))))

    def test_sizes_are_printed_as_the_program_does(self):
        self.assertEqual([script.bytes_text(size) for size in (512, 4096, 8 << 30, 10_000_000)],
                         ["512 B", "4.00 KiB", "8.00 GiB", "9.54 MiB"])


if __name__ == "__main__":
    unittest.main()
