"""The viewer in one file (scripts/make-page), in a real browser: real files, mouse and keys.

Usage: page_test.py --page tidemark.html --program tidemark-view [--all] [TEST ...]

--all compares the figures of every sample in traces/samples, not only of one of each kind.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "viz" / "serve"))

from browser import Browser, find_browser  # noqa: E402

SAMPLES = ROOT / "traces" / "samples"
FEW = ["torch/multistream.pickle.xz", "torch/graphs.pickle.xz", "spread/pipeline.pickle.xz"]
ENDINGS = (".pickle.xz", ".tmk", ".jsonl.xz", ".csv.xz", ".tml")
PAGE = PROGRAM = None
ALL = False
STATE = "JSON.stringify([notice.textContent, work.hidden, Number(screen_.dataset.frame ?? 0)])"
CONTROL, SHIFT = 2, 8  # as developer tools count modifiers


class Page(Browser):
    """The page, opened from the disk. A context."""

    def __init__(self, size=(1000, 700), place=""):
        super().__init__(f"{PAGE.as_uri()}{place}", size)
        self.wait(lambda: self.evaluate("typeof notice === 'object' && notice.textContent") == "", "it begins")
        self.wait(lambda: self.frame() > 0, "it draws")

    def state(self):
        return json.loads(self.evaluate(STATE))

    def frame(self):
        return self.state()[2]

    def open(self, *paths):
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        found = self.call("DOM.querySelector", nodeId=root, selector="#files")["nodeId"]
        self.call("DOM.setFileInputFiles", files=[str(pathlib.Path(path).resolve()) for path in paths], nodeId=found)

    def figures(self):
        return self.evaluate("tidemarkFigures()")

    def loaded(self, runs=1):
        """The figures, once so many runs have them."""
        def known():
            figures = self.figures()
            return figures if sum("events" in run for run in figures["runs"]) == runs else None
        return self.wait(known, f"{runs} runs are loaded")

    def settled(self):
        """The number of the last frame, once no other comes."""
        def rests():
            before = self.frame()
            self.evaluate("new Promise(done => setTimeout(done, 400))")
            return before if before == self.frame() else None
        return self.wait(rests, "it comes to rest")

    def overview(self):
        return self.evaluate("overview.textContent")


def figures_of_program(path):
    told = subprocess.run([PROGRAM, path, "--figures", "-"], capture_output=True, text=True, check=True)
    return json.loads(told.stdout)


def without_names(figures):
    """What doesn't depend on where the file lies."""
    for run in figures["runs"]:
        del run["label"], run["trace"]
    return figures


class PageTest(unittest.TestCase):
    def test_figures_are_those_of_the_program(self):
        paths = sorted(path for path in SAMPLES.rglob("*") if path.name.endswith(ENDINGS)) if ALL else \
            [SAMPLES / name for name in FEW]
        for path in paths:
            with self.subTest(path.name), Page() as page:
                page.open(path)
                self.assertEqual(without_names(page.loaded()), without_names(figures_of_program(path)))
                self.assertEqual(page.said, [])

    def test_it_loads_nothing_and_says_what_to_do(self):
        with Page() as page:
            page.open(SAMPLES / FEW[0])
            page.wait(lambda: "expandable_segments" in page.overview(), "what to set, in words")
            loaded = page.evaluate("performance.getEntriesByType('resource').map(each => each.name)")
            self.assertTrue(all(each.startswith(("blob:", "data:")) for each in loaded), loaded)

    def test_the_line_to_paste_is_text(self):
        with Page((1400, 900)) as page:
            page.open(SAMPLES / FEW[0])
            page.wait(lambda: "expandable_segments" in page.evaluate("texts.textContent"), "it is there as text")
            self.assertTrue(page.evaluate("find('expandable_segments')"))
            self.assertEqual(page.evaluate("getSelection().toString()"), "expandable_segments")
            frame = page.settled()
            page.evaluate("getSelection().removeAllRanges()")
            # A click on a title that selects nothing is the viewer's: it goes there.
            spot = page.evaluate("""(() => { const box = texts.querySelectorAll('span')[1].getBoundingClientRect();
              return [box.x + 4, box.y + box.height / 2]; })()""")
            page.drag(spot, spot)
            page.wait(lambda: page.frame() > frame, "a frame")

    def test_a_file_that_is_none_is_named_and_the_next_one_opens(self):
        with Page() as page, tempfile.TemporaryDirectory() as folder:
            bad = pathlib.Path(folder, "bad.pickle")
            bad.write_bytes(b"\x80\x04no recording at all")
            page.open(bad)
            page.wait(lambda: "bad.pickle" in page.overview(), "it is named")
            page.open(SAMPLES / FEW[0])
            page.loaded()
            self.assertEqual(page.state()[0], "")

    def test_several_files_are_runs_side_by_side(self):
        with Page() as page:
            page.open(*(SAMPLES / name for name in FEW[:2]))
            labels = [run["label"] for run in page.loaded(2)["runs"]]
            self.assertEqual(labels, [pathlib.Path(name).name for name in FEW[:2]])

    def test_wheel_pinch_and_keys_move_it(self):
        with Page() as page:
            page.open(SAMPLES / FEW[0])
            page.loaded()
            page.key("2")
            page.settled()
            for what, move in (("wheel", lambda: page.wheel(300, 300, 3)),
                               ("pinch", lambda: page.mouse("mouseWheel", 300, 300, deltaX=0, deltaY=-60,
                                                            modifiers=CONTROL)),
                               ("key", lambda: page.key("x"))):
                before, _ = page.pixels()
                frame = page.settled()
                move()
                page.wait(lambda seen=frame: page.frame() > seen, f"{what}: a frame")
                page.settled()
                self.assertNotEqual(page.pixels()[0], before, what)

    def test_a_table_is_saved_as_a_download(self):
        with Page((1400, 900), "#goto=peak") as page, tempfile.TemporaryDirectory() as folder:
            page.call("Page.setDownloadBehavior", behavior="allow", downloadPath=folder)
            page.open(SAMPLES / FEW[0])
            page.loaded()
            page.key("2")
            page.settled()
            page.mouse("mouseMoved", 400, 830)  # over the blocks
            page.settled()
            page.key("e", modifiers=CONTROL | SHIFT)
            page.settled()
            page.key("Enter")
            saved = pathlib.Path(folder, pathlib.Path(FEW[0]).name + ".blocks.csv")
            page.wait(saved.exists, "the table comes")
            self.assertTrue(saved.read_text().startswith("block,size_bytes,"))

    def test_a_link_opens_at_a_place(self):
        with Page(place="#goto=peak") as page:
            page.open(SAMPLES / FEW[0])
            page.loaded()
            page.settled()
            there = page.pixels()[0]
        with Page() as page:
            page.open(SAMPLES / FEW[0])
            page.loaded()
            page.settled()
            self.assertNotEqual(page.pixels()[0], there)

    def test_it_fits_into_narrow_and_wide_windows(self):
        for size in ((400, 700), (2600, 1400)):
            with self.subTest(size), Page(size) as page:
                page.open(SAMPLES / FEW[0])
                page.loaded()
                page.settled()
                self.assertEqual(page.pixels()[1], size[0])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--page", type=pathlib.Path, required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--all", action="store_true")
    known, rest = parser.parse_known_args()
    PAGE, PROGRAM, ALL = known.page.resolve(), known.program, known.all
    if find_browser() is None:
        sys.exit("page_test: there is no Chromium here; scripts/setup --checks installs it")
    unittest.main(argv=[sys.argv[0], *rest])
