"""What training runs are told of their memory: growth, limits, and the callbacks of two frameworks,
the real ones where they are installed."""

import importlib
import random
import sys
import types

import pytest
from fake_torch import ALLOC
from fake_torch import torch, torch_folder  # noqa: F401 (fixtures)

import tidemark
from tidemark.torch import _training

MIB = 1 << 20


class FakeGpu:
    """What PyTorch would say of one GPU on which each step leaves `leak` bytes."""

    def __init__(self, monkeypatch, leak):
        import torch
        self.leak = leak
        self.steps = 0
        monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
        monkeypatch.setattr(torch.cuda, "memory_stats_as_nested_dict", self.figures, raising=False)

    def figures(self, _device):
        self.steps += 1
        held = 100 * MIB + self.steps * self.leak
        return {"reserved_bytes": {"all": {"peak": 2 * held}},
                "allocated_bytes": {"all": {"peak": held + MIB, "current": held}}}


def steps_of(bytes_of_step, count=40):
    return [(step, bytes_of_step(step)) for step in range(count)]


def test_growth_is_the_slope_and_how_sure_it_is():
    chance = random.Random(1)
    noise = [chance.gauss(0, 4 * MIB) for _ in range(40)]
    grows = _training.find_growth(steps_of(lambda step: 1000 * MIB + step * MIB + noise[step]))
    assert grows.low < MIB < grows.high
    assert grows.low > 0 and "grows by" in str(grows)
    rests = _training.find_growth(steps_of(lambda step: 1000 * MIB + noise[step]))
    assert rests.low < 0 < rests.high and "no growth is certain" in str(rests)


def test_growth_is_not_moved_by_single_steps():
    found = _training.find_growth(steps_of(lambda step: 9000 * MIB if step % 10 == 9 else 5 * MIB))
    assert found.bytes_per_step == 0
    shrinks = _training.find_growth(steps_of(lambda step: (100 - step) * MIB))
    assert "shrinks by 1.00 MiB a step (95 % sure: -1.00 MiB to -1.00 MiB)" in str(shrinks)


def test_growth_needs_steps():
    assert _training.find_growth(steps_of(lambda step: step, _training.FEWEST_STEPS - 1)) is None


def test_growth_is_what_the_viewer_and_advise_find():
    # The samples of tests/replay/facts/slope_test.cpp.
    values = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]
    same = _training.find_growth(list(enumerate(values)))
    assert (same.bytes_per_step, same.low, same.high) == (1 / 3, -2 / 3, 1.2)


def test_sizes_are_read_as_people_write_them():
    assert _training.size_of("max_peak", "1.5GiB") == 3 << 29
    assert _training.size_of("max_peak", 7) == 7
    with pytest.raises(tidemark.OptionError, match="max_peak: expected bytes"):
        _training.size_of("max_peak", "70 gigs")


def run(memory, steps):
    memory.begin_training()
    for _ in range(steps):
        memory.begin_step()
        memory.end_step()
    memory.end_training()


def test_a_long_training_keeps_few_samples(torch, monkeypatch):
    FakeGpu(monkeypatch, leak=3)
    memory = _training.TrainingMemory()
    run(memory, 5000)
    [device] = memory._devices.values()
    assert len(device.samples) <= _training.MOST_SAMPLES
    assert memory.growth() == (3.0, 3.0, 3.0)


def test_limits_end_a_training(torch, monkeypatch, capsys):
    FakeGpu(monkeypatch, leak=MIB)
    with pytest.raises(tidemark.Error, match="242 MiB in step 20, but only 200 MiB") as peak:
        run(_training.TrainingMemory(max_peak="200MiB"), 20)
    assert (peak.value.where, "run.tml" in peak.value.hint) == ("max_peak of cuda:0", True)
    assert "20 steps: cuda:0 reserved 242 MiB at its peak" in capsys.readouterr().err
    with pytest.raises(tidemark.Error, match="grows by 1.00 MiB a step"):
        run(_training.TrainingMemory(max_growth_per_step="512KiB"), 20)
    run(_training.TrainingMemory(max_peak="1GiB", max_growth_per_step="1MiB"), 20)
    FakeGpu(monkeypatch, leak=MIB)
    few = _training.TrainingMemory(max_growth_per_step="1KiB")
    run(few, 6)
    assert "too few steps" in str(few)


def test_steps_are_ranges_of_the_recording(torch, monkeypatch, tmp_path):
    FakeGpu(monkeypatch, leak=0)
    memory = _training.TrainingMemory(path=tmp_path / "run.tml")
    memory.begin_training()
    memory.begin_step()
    torch.event(ALLOC, 512, 512)
    memory.begin_step()  # the framework gave the first one up
    memory.end_step()
    memory.end_training()
    assert [event.kind for event in tidemark.load(str(tmp_path / "run.tml"))] == [
        "range_begin", "allocate", "range_end", "range_begin", "range_end"]


def test_without_a_gpu_the_training_goes_on(torch, capsys):
    torch.ready = False
    memory = _training.TrainingMemory(max_peak=1, max_growth_per_step=0)
    run(memory, 20)
    assert memory.figures() == {}
    assert "no GPU memory was measured" in capsys.readouterr().err


@pytest.fixture
def base_classes(torch, monkeypatch):
    """Modules that have the two classes from which callbacks are made, and no more."""
    for name in ("lightning", "lightning.pytorch", "transformers"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    sys.modules["lightning.pytorch"].Callback = type("Callback", (), {})
    sys.modules["transformers"].TrainerCallback = type("TrainerCallback", (), {})
    yield
    for name in ("lightning", "transformers"):
        sys.modules.pop(f"tidemark.torch.{name}", None)


def test_lightnings_hooks(base_classes, monkeypatch):
    FakeGpu(monkeypatch, leak=0)
    logged = []
    log = types.SimpleNamespace(
        log_metrics=lambda figures, step: logged.append((step, figures)),
        log=lambda name, value, **_named: logged.append((name, value)))
    trainer = types.SimpleNamespace(loggers=[log], global_step=12)
    memory = importlib.import_module("tidemark.torch.lightning").Memory()
    memory.on_fit_start(trainer, log)
    for batch in range(20):
        memory.on_train_batch_start(trainer, log, batch, batch)
        memory.on_train_batch_end(trainer, log, None, batch, batch)
    memory.on_train_epoch_end(trainer, log)
    memory.on_train_end(trainer, log)
    figures = {"tidemark/peak_reserved_bytes": 200 * MIB,
               "tidemark/peak_allocated_bytes": 101 * MIB, "tidemark/growth_per_step_bytes": 0}
    assert dict(logged[:-1]) == figures
    assert logged[-1] == (12, figures)


def test_hugging_faces_hooks(base_classes, monkeypatch):
    FakeGpu(monkeypatch, leak=MIB)
    memory = importlib.import_module("tidemark.torch.transformers").Memory(max_peak="1MiB")
    state = types.SimpleNamespace(log_history=[], global_step=20)
    memory.on_train_begin(None, state, None)
    for _ in range(20):
        memory.on_step_begin(None, state, None, model=None)
        memory.on_step_end(None, state, None, model=None)
    with pytest.raises(tidemark.Error, match="max_peak"):
        memory.on_train_end(None, state, None, model=None)
    assert state.log_history[0]["tidemark/growth_per_step_bytes"] == MIB
    assert state.log_history[0]["step"] == 20
