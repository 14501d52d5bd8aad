"""`python -m tidemark.tune`: the script runs as it is, and what came of the line is said."""

import os
import subprocess
import sys
import textwrap

import pytest
from conftest import ROOT, SAMPLES

# A PyTorch whose peak depends on the setting alone.
FAKE = """
import os, shutil, sys, types
uint8 = "uint8"
_queued, _ready = [], []
def _lazy_call(call):
    _queued.append(call)
def _start():
    _ready.append(True)
    for call in _queued:
        call()
def _peak(index):
    conf = os.environ.get("PYTORCH_CUDA_ALLOC_CONF", "")
    return 6_590_000_000 if "expandable_segments:True" in conf else 8_300_000_000
def empty(size, dtype=None, device=None):
    _start() if not _ready else None
cuda = types.SimpleNamespace(
    _lazy_call=_lazy_call, is_initialized=lambda: bool(_ready), synchronize=lambda: None,
    device_count=lambda: 1, max_memory_reserved=_peak, max_memory_allocated=_peak,
    memory=types.SimpleNamespace(
        _record_memory_history=lambda **_named: None,
        _dump_snapshot=lambda path: shutil.copy(os.environ["FAKE_SNAPSHOT"], path)))
class Loss:
    def __init__(self, value):
        self.value = value
    def numel(self):
        return 1
    def detach(self):
        return self.value
    def backward(self):
        autograd.backward(self)
autograd = types.SimpleNamespace(backward=lambda *_given: None)
_hooks = []
# As PyTorch has it: a module of that name, which is no attribute.
sys.modules["torch.optim"] = optim = types.ModuleType("torch.optim")
sys.modules["torch.optim.optimizer"] = types.ModuleType("torch.optim.optimizer")
sys.modules["torch.optim.optimizer"].register_optimizer_step_post_hook = _hooks.append
def step():
    for hook in _hooks:
        hook()
"""

SCRIPT = """
import sys, time, torch
if sys.argv[1:] == ["--fail"]:
    sys.exit(3)
if sys.argv[1:] != ["--idle"]:
    torch.empty(1, dtype=torch.uint8, device="cuda")
    for number in range(6):
        torch.Loss(1.0 / (number + 1)).backward()
        time.sleep(0.002)
        torch.step()
"""


@pytest.fixture
def tune(tmp_path):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(FAKE)
    (tmp_path / "train.py").write_text(textwrap.dedent(SCRIPT))

    def run(*arguments, sample="torch/gpt2_var.pickle.xz", **variables):
        environment = {**os.environ, **variables, "FAKE_SNAPSHOT": str(SAMPLES / sample),
                       "PYTHONPATH": f"{ROOT / 'python'}:{tmp_path}"}
        return subprocess.run([sys.executable, "-m", "tidemark.tune", *arguments],
                              capture_output=True, text=True, check=False, cwd=tmp_path,
                              env=environment)

    return run


def test_the_line_is_tried_and_written(tune, tmp_path):
    done = tune("-o", "tuned.sh", "train.py")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Set expandable_segments:True: peak 6.59 GiB instead of 8.30 GiB")
    assert lines[1].startswith("  export ")
    assert "7.73 GiB -> 6.14 GiB (predicted: 6.59 GiB)" in lines[2]
    assert lines[3].lstrip().startswith("step ")
    assert lines[4] == "  all 6 losses match"
    assert lines[5] == 'import tidemark.torch; tidemark.torch.use("extent")'
    assert lines[6] == "  the script did not run with it"  # this PyTorch cannot be compiled for
    assert (tmp_path / "tuned.sh").read_text() == lines[1].strip() + "\n"


def test_where_nothing_helps_it_says_so(tune, tmp_path):
    done = tune("-o", "tuned.sh", "train.py", sample="torch/graphs.pickle.xz")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Nothing helps")
    assert not (tmp_path / "tuned.sh").exists()


def test_a_rank_of_torchrun_runs_as_often_as_the_others(tune, tmp_path):
    torchrun = {"RANK": "1", "WORLD_SIZE": "2", "TORCHELASTIC_RESTART_COUNT": "7"}
    counted = tmp_path / "sitecustomize.py"
    counted.write_text("import os\nopen('counts', 'a').write("
                       "os.environ['TORCHELASTIC_RESTART_COUNT'] + ' ')\n")
    helped = tune("-o", "tuned.sh", "train.py", **torchrun)
    assert helped.returncode == 0, helped.stderr
    assert helped.stdout.startswith("rank 1: Set expandable_segments:True")
    assert "rank 1: result\n  peak reserved" in helped.stdout
    assert not (tmp_path / "tuned.sh").exists()  # rank 0 writes it
    nothing = tune("train.py", sample="torch/graphs.pickle.xz", **torchrun)
    assert nothing.stdout.startswith("rank 1: Nothing helps")
    assert (tmp_path / "counts").read_text().split() == ["7", "0", "1", "2", "3"] * 2


def test_the_drop_in_is_a_row_where_it_needs_less(tune, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(textwrap.dedent("""
        import os, tidemark.torch
        def use(policy):
            import torch
            torch.cuda.max_memory_reserved = lambda index: 6_300_000_000
        tidemark.torch.use = use
    """))
    done = tune("train.py")
    assert done.returncode == 0, done.stderr
    at = done.stdout.splitlines().index('import tidemark.torch; tidemark.torch.use("extent")')
    assert "7.73 GiB -> 5.87 GiB (predicted: 6.29 GiB)" in done.stdout.splitlines()[at + 1]


def test_what_cannot_be_compared_is_said(tune):
    failed = tune("train.py", "--fail")
    assert failed.returncode == 1 and "ended with exit code 3" in failed.stderr
    idle = tune("train.py", "--idle")
    assert idle.returncode == 1 and "used no GPU" in idle.stderr
    assert tune().returncode == 2
