"""examples/notebook.ipynb runs from top to bottom: each cell as Jupyter would, without it."""

import ast
import json

import pytest
from conftest import ROOT

import tidemark
from tidemark.programs import program

NOTEBOOK = ROOT / "examples" / "notebook.ipynb"
METHODS = ["_repr_png_", "_repr_html_", "__repr__"]  # how a value is shown, best first
REFRESH = "jupyter nbconvert --to notebook --execute --inplace examples/notebook.ipynb"


def cells():
    everything = json.loads(NOTEBOOK.read_text())["cells"]
    return [cell for cell in everything if cell["cell_type"] == "code"]


def run_cell(cell, names):
    """Runs a cell; the value of its last expression."""
    tree = ast.parse("".join(cell["source"]))
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, NOTEBOOK.name, "exec"), names)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), names)


def shown(value):
    """What Jupyter would show of it."""
    method = next(name for name in METHODS if hasattr(value, name))
    return None if value is None else getattr(value, method)()


def kept(cell, kind):
    """The text of one kind that the file has as the cell's output."""
    return "".join("".join(output.get("text", ()) if kind == "stream" else
                           output.get("data", {}).get(kind, ())) for output in cell["outputs"])


def test_it_runs_and_shows_what_the_file_shows(monkeypatch, capsys):
    pytest.importorskip("numpy")
    try:
        program("tidemark-view")
    except tidemark.NotFoundError:
        pytest.skip("tidemark-view is not built here")
    monkeypatch.chdir(NOTEBOOK.parent)
    names, results = {}, []
    for cell in cells():
        value = run_cell(cell, names)
        results.append(shown(value))
        assert capsys.readouterr().out == kept(cell, "stream"), REFRESH
        if isinstance(results[-1], str) and kept(cell, "text/plain").startswith("<tidemark"):
            assert repr(value) == kept(cell, "text/plain"), REFRESH
            assert getattr(value, "_repr_html_", str)() == kept(cell, "text/html"), REFRESH
    assert sum(result is not None for result in results) >= 5
    assert any(isinstance(result, bytes) for result in results)  # the picture


def test_each_cell_was_run_once_in_order():
    assert [cell["execution_count"] for cell in cells()] == list(range(1, len(cells()) + 1))
    outputs = [output for cell in cells() for output in cell["outputs"]]
    assert not any(output["output_type"] == "error" for output in outputs)
