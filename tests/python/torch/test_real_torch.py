"""What can be said of the real PyTorch without a GPU. Each test is a program of its own: the other
tests here load libraries with PyTorch's names into their process."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest
from fake_torch import ROOT


def needs(module):
    found = importlib.util.find_spec(module)  # of a mere folder, as this one, there is no origin
    return pytest.mark.skipif(found is None or found.origin is None,
                              reason=f"{module} is not installed")


pytestmark = needs("torch")


def run(arguments, folder, code=0):
    """Runs Python in `folder`; its output and its errors."""
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, cwd=folder, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "XDG_CACHE_HOME": str(folder),
             "TIDEMARK_RUNTIME_DIR": str(folder / "run"), "CUDA_VISIBLE_DEVICES": "",
             "HF_HUB_OFFLINE": "1"})
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


def run_text(text, folder, **named):
    (folder / "program.py").write_text(textwrap.dedent(text))
    return run(["program.py"], folder, **named)


def test_the_tracker_compiles_against_it(tmp_path):
    run_text("""
        import sys
        import torch
        from tidemark.torch import _compiled, _tracker
        if torch.version.cuda is None or _compiled.compiler() is None:
            sys.exit(0)
        assert _tracker.tracker(torch).tidemark_stacks
        """, tmp_path)


def test_a_program_without_cuda_records_nothing(tmp_path):
    said, _ = run_text("""
        import torch
        import tidemark.torch
        tidemark.torch.explain_oom()
        recording = tidemark.torch.record("run.tml")
        with recording.range("step"):
            torch.ones(10).sum()
        print(recording.state, repr(recording.stop()), recording.state)
        """, tmp_path)
    assert said == "waiting '' stopped\n"
    assert not (tmp_path / "run.tml").exists()


@pytest.mark.parametrize("module, options", [("tidemark.record", ["-o", "run.tml"]),
                                             ("tidemark.torch", [])])
def test_a_script_runs_as_python_runs_it(tmp_path, module, options):
    (tmp_path / "script.py").write_text(textwrap.dedent("""
        import pickle
        import sys
        import torch

        class Own:
            pass

        assert isinstance(pickle.loads(pickle.dumps(Own())), Own)  # by its name in __main__
        print(__name__, __file__, sys.argv, sys.path)
        if sys.argv[1:] == ["exits"]:
            sys.exit(7)
        raise ValueError("its own")
        """))
    for argument, code in (("exits", 7), ("raises", 1)):
        plain = run(["script.py", argument], tmp_path, code)
        assert run(["-m", module, *options, "script.py", argument], tmp_path, code) == plain


LIGHTNING = """
    import torch
    from lightning.pytorch import LightningModule, Trainer
    from tidemark.torch.lightning import Memory

    class Model(LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def training_step(self, batch, _index):
            return self.layer(batch[0]).square().mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    def train(memory):
        data = torch.utils.data.TensorDataset(torch.ones(20, 4))
        trainer = Trainer(accelerator="cpu", max_epochs=1, callbacks=[memory], logger=False,
                          enable_checkpointing=False, enable_progress_bar=False,
                          enable_model_summary=False)
        trainer.fit(Model(), torch.utils.data.DataLoader(data, batch_size=1))
        return {name: float(value) for name, value in trainer.logged_metrics.items()}
    """

TRANSFORMERS = """
    import torch
    from transformers import Trainer, TrainingArguments
    from tidemark.torch.transformers import Memory

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def forward(self, x):
            return {"loss": self.layer(x).square().mean()}

    def train(memory):
        arguments = TrainingArguments(output_dir="out", use_cpu=True, report_to=[], max_steps=20,
                                      per_device_train_batch_size=1, disable_tqdm=True,
                                      save_strategy="no")
        data = [{"x": torch.ones(4)}] * 20
        memory.trainer = Trainer(Model(), arguments, train_dataset=data, callbacks=[memory])
        memory.trainer.train()
        return {name: value for entry in memory.trainer.state.log_history
                for name, value in entry.items()}
    """

ON_A_GPU = """
    logged = train(Memory(max_peak="1MiB"))
    assert not any("tidemark" in name for name in logged), logged

    class Gpu:
        steps = 0

        def figures(self, _device):
            self.steps += 1
            return {"reserved_bytes": {"all": {"peak": 1000 * self.steps}},
                    "allocated_bytes": {"all": {"peak": 600, "current": 10 * self.steps}}}

    torch.cuda.is_initialized = lambda: True
    torch.cuda.device_count = lambda: 1
    torch.cuda.memory_stats_as_nested_dict = Gpu().figures
    logged = train(Memory())
    assert logged["tidemark/peak_reserved_bytes"] == 21000, logged
    assert logged["tidemark/growth_per_step_bytes"] == 10, logged
    train(Memory(max_peak="1KiB"))
    """


@pytest.mark.parametrize("framework, program", [
    pytest.param("lightning", LIGHTNING, marks=needs("lightning")),
    pytest.param("transformers", TRANSFORMERS, marks=needs("transformers"))])
def test_a_framework_calls_its_callback(tmp_path, framework, program):
    _, said = run_text(program + ON_A_GPU, tmp_path, code=1)
    assert "no GPU memory was measured" in said
    assert "20 steps: cuda:0 reserved 20.5 KiB at its peak (step 20)" in said
    assert "it grows by 10 B a step" in said
    assert said.rstrip().splitlines()[-1].startswith(
        "tidemark.errors.Error: max_peak of cuda:0: the run reserved")


USES = """
    import types
    import torch
    from torch.testing._internal.two_tensor import TwoTensor
    import tidemark
    from tidemark import _library
    from tidemark.torch import _recording, _uses

    class CpuUses(_uses.RecordedUses):
        device_type = "cpu"

        @staticmethod
        def stream_of(_device):
            return 0

    def record():
        \"\"\"What record() would have begun on a GPU.\"\"\"
        recording = _recording._current = _recording.Recording("run.tml", False, False, 0, None)
        recording._functions = _recording._Functions(_library.library().path)
        recording._open(types.SimpleNamespace(cuda=types.SimpleNamespace(
            device_count=lambda: 1, get_device_properties=lambda _index: types.SimpleNamespace(
                name="GPU", total_memory=1 << 30))))
        recording._tracker = types.SimpleNamespace(
            tidemark_end=lambda: None, tidemark_counters=lambda *_counters: None)
        return recording

    def buffer(name, kind=1):
        tensor = torch.ones(64, 64)
        names[len(names)] = name
        event = _library.tm_event(kind=kind, address=tensor.untyped_storage().data_ptr(),
                                  size=1 << 14, extra=1 << 14)
        recording._functions.tm_recorder_event(recording._handle, event)
        return tensor

    names = {}
    recording = record()
    a, b, c, grad = (buffer(name) for name in ("a", "b", "c", "grad"))
    weight = buffer("weight").requires_grad_()
    weight.grad = grad
    with CpuUses() as uses:
        torch.mm(a, b, out=c)
        c[1:].view(-1).add_(1)
        torch._foreach_mul_([a, b], 2.0)
        torch.empty_like(a)
        c @ a
        (a * weight).sum().backward()
        TwoTensor(a, b) + 1
    a + b
    recording.stop()
    with CpuUses() as nothing:
        a + b
    assert nothing.uses == 0 and uses.uses > 0
    trace = tidemark.load("run.tml")
    found = {}
    for event in trace:
        if event.kind == "use":
            found.setdefault(event.aux, [trace.string(event.tag)]).append(
                f"{names.get(event.slot, '-')}{' rw'[event.flags] if event.flags < 3 else '+'}")
    assert len(found) == uses.launches
    for launch in found.values():
        print(*launch)
    """


def test_uses_are_those_of_operators(tmp_path):
    said, _ = run_text(USES, tmp_path)
    launches = said.splitlines()
    assert launches[:4] == ["aten.mm.out ar br c+", "aten.add_.Tensor c+",
                            "aten._foreach_mul_.Scalar a+ b+", "aten.mm.default cr ar -w"]
    assert "aten.mul.Tensor ar weightr -w" in launches
    assert "aten.add_.Tensor grad+ -r" in launches  # of the backward pass
    assert launches[-2:] == ["aten.add.Tensor ar -w", "aten.add.Tensor br -w"]
    programs = pathlib.Path(os.environ.get("TIDEMARK_PROGRAMS", ROOT / "build" / "release"))
    answer = json.loads(subprocess.run(
        [programs / "tidemark", "replay", "run.tml", "--gpu-memory", "60%", "--spill", "lru",
         "--json"], capture_output=True, check=True, cwd=tmp_path).stdout)
    # What touches no block that is recorded is no kernel there.
    assert answer["kernels"] == sum(any(use[0] != "-" for use in launch.split()[1:])
                                    for launch in launches)
