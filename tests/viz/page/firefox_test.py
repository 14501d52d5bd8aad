#!/usr/bin/env python3
"""Opens the page in Firefox: a recording shows what it shows elsewhere. Needs firefox and the Python
package marionette_driver (PyPI); without them it is skipped.

python3 -B tests/viz/page/firefox_test.py --page build/tidemark.html --program build/release/tidemark-view
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
SAMPLE = ROOT / "traces" / "samples" / "torch" / "gpt2_var.pickle.xz"
BROWSER = next(filter(None, map(shutil.which, ("firefox-esr", "firefox"))), None)
PATIENCE = 120  # seconds
PAGE = ROOT / "build" / "tidemark.html"
PROGRAM = ROOT / "build" / "release" / "tidemark-view"

try:
    from marionette_driver import By
    from marionette_driver.marionette import Marionette
except ImportError:
    Marionette = None


def wait(met, what):
    end = time.monotonic() + PATIENCE
    while not met():
        if time.monotonic() > end:
            raise AssertionError(f"not within {PATIENCE} s: {what}")
        time.sleep(0.1)


@unittest.skipIf(BROWSER is None or Marionette is None, "there is no Firefox, or no marionette_driver")
class FirefoxTest(unittest.TestCase):
    def setUp(self):
        self.browser = Marionette(bin=str(pathlib.Path(BROWSER).resolve()), headless=True)
        self.browser.start_session()
        self.addCleanup(self.browser.cleanup)
        self.browser.set_window_rect(width=1400, height=900)
        self.browser.navigate(PAGE.as_uri())
        wait(lambda: self.run_in_page("notice.textContent") == "", "the page begins")

    def run_in_page(self, text):
        return self.browser.execute_script(f"return {text}", sandbox=None)

    def figures(self):
        return json.loads(self.browser.execute_async_script(
            "const done = arguments[0]; tidemarkFigures().then(found => done(JSON.stringify(found)))",
            sandbox=None))

    def test_a_recording_shows_the_programs_figures(self):
        self.run_in_page("files.hidden = false")  # as a person reaches it by the viewer's own button
        self.browser.find_element(By.ID, "files").send_keys(str(SAMPLE))
        wait(lambda: "expandable_segments" in self.run_in_page("overview.textContent"), "what to set")
        wait(lambda: "expandable_segments" in self.run_in_page("texts.textContent"), "that as text")
        expected = json.loads(subprocess.run([PROGRAM, SAMPLE, "--figures", "-"], check=True,
                                             capture_output=True, text=True).stdout)
        found = self.figures()
        for name in ("requested", "reserved", "allocated"):
            for one, other in zip(found["runs"], expected["runs"]):
                self.assertEqual(*(json.dumps([value for key, value in sorted(run.items()) if name in key])
                                   for run in (one, other)))
        # Of the page's own names a script from outside sees those of elements and functions.
        colours = self.run_in_page("""(() => { const canvas = document.getElementById("screen");
          const all = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
          return new Set(new Uint32Array(all.buffer)).size; })()""")
        self.assertGreater(colours, 20)


def main():
    global PAGE, PROGRAM
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=pathlib.Path, default=PAGE)
    parser.add_argument("--program", type=pathlib.Path, default=PROGRAM)
    options = parser.parse_args()
    PAGE, PROGRAM = options.page.resolve(), options.program.resolve()
    unittest.main(argv=sys.argv[:1], verbosity=2)


if __name__ == "__main__":
    main()
