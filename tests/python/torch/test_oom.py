"""explain_oom(), and scripts that run with it."""

import os
import subprocess
import sys
import textwrap

from fake_torch import ROOT
from fake_torch import torch, torch_folder  # noqa: F401 (fixtures)

import tidemark.torch
from tidemark.torch import _oom


def test_a_refusal_is_written_and_explained(torch, tmp_path, monkeypatch, capsys, small):
    import shutil
    monkeypatch.setattr(_oom, "_explainer", None)
    monkeypatch.setattr(sys, "excepthook", lambda *_error: None)
    torch._dump = None
    torch.cuda.memory._dump_snapshot = lambda path: shutil.copy(small, path)
    torch.ready = False
    tidemark.torch.explain_oom(tmp_path / "oom.pickle.xz")
    assert not torch.observers  # before there is a context it would crash
    torch.start()
    assert torch.calls[0]["stacks"] == "python"
    torch.observers[0](0, 100, 1000, 10)
    assert (tmp_path / "oom.pickle.xz").exists()
    error = torch.cuda.OutOfMemoryError("CUDA out of memory")
    sys.excepthook(type(error), error, None)
    said = capsys.readouterr().err
    assert f"tidemark advise {tmp_path / 'oom.pickle.xz'}" in said
    assert len(said.splitlines()) > 3
    sys.excepthook(type(error), error, None)
    assert capsys.readouterr().err == ""
    sys.excepthook(ValueError, ValueError("else"), None)
    assert capsys.readouterr().err == ""


def test_an_explanation_never_fails(tmp_path):
    (tmp_path / "bad.pickle").write_bytes(b"no snapshot")
    assert "bad.pickle" in _oom.explanation(str(tmp_path / "bad.pickle"))
    assert "nowhere" in _oom.explanation("/nowhere/a.pickle")


def test_scripts_run_as_they_are(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent("""
        import sys
        assert __name__ == "__main__"
        assert sys.path[0] == %r
        print(sys.argv[1:], "torch" in sys.modules)
        sys.exit(7)
        """ % str(tmp_path)))
    for module, options in (("tidemark.record", ["-o", "run.tml"]), ("tidemark.torch", [])):
        done = subprocess.run(
            [sys.executable, "-m", module, *options, str(script), "a", "-o", "b"],
            capture_output=True, text=True, cwd=tmp_path, check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
        assert done.returncode == 7, done.stderr
        assert done.stdout == "['a', '-o', 'b'] False\n"


def test_the_recorder_comes_when_pytorch_has_been_imported(tmp_path):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(textwrap.dedent("""
        import types
        called = []
        cuda = types.SimpleNamespace(is_initialized=lambda: False, _lazy_call=called.append)
        """))
    script = tmp_path / "script.py"
    script.write_text("import torch\nprint(len(torch.called))\n")
    done = subprocess.run(
        [sys.executable, "-m", "tidemark.torch", "-o", "run.tml", str(script)],
        capture_output=True, text=True, cwd=tmp_path, check=False,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'python'}:{tmp_path}"})
    assert done.stdout == "2\n", done.stderr
