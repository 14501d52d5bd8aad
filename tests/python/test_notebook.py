"""examples/notebook.ipynb runs from top to bottom: each cell as Jupyter would, without it."""

import ast
import json

import pytest
from conftest import ROOT

import tidemark
from tidemark.programs import program

NOTEBOOK = ROOT / "examples" / "notebook.ipynb"
METHODS = ["_repr_png_", "_repr_html_", "__repr__"]  # how a value is shown, best first


def shown(source, names):
    """Runs a cell; what Jupyter would show of its last expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, NOTEBOOK.name, "exec"), names)
    if last is None:
        return None
    value = eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), names)
    method = next(name for name in METHODS if hasattr(value, name))
    return None if value is None else getattr(value, method)()


def test_it_runs(monkeypatch, capsys):
    pytest.importorskip("numpy")
    try:
        program("tidemark-view")
    except tidemark.NotFoundError:
        pytest.skip("tidemark-view is not built here")
    monkeypatch.chdir(NOTEBOOK.parent)
    names = {}
    results = [shown("".join(cell["source"]), names)
               for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    text = capsys.readouterr().out
    assert "8,975 allocations" in text and "would have peaked at" in text
    assert sum(result is not None for result in results) >= 5
    assert any(isinstance(result, bytes) for result in results)  # the picture


def test_nothing_of_a_run_is_kept_in_it():
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        assert not cell.get("outputs") and cell.get("execution_count") is None
