"""What README and the guide show of Python is what Python prints."""

import doctest

import pytest
from conftest import ROOT


@pytest.mark.parametrize("page", ["README.md", "docs/guide/python.md"])
def test_pages_show_what_python_prints(page, monkeypatch):
    pytest.importorskip("numpy")
    pytest.importorskip("pandas")
    monkeypatch.chdir(ROOT)
    # A block's end is no output.
    text = (ROOT / page).read_text().replace("\n```", "\n\n")
    test = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    assert test.examples
    runner = doctest.DocTestRunner(verbose=False)
    said = []
    runner.run(test, out=said.append)
    assert runner.failures == 0, "".join(said)
