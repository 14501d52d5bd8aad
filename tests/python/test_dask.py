"""Dask's results in deferrable memory, on a simulated GPU: the mapping, and a real cluster."""

import os
import signal
import subprocess
import sys

import pytest

import tidemark
import tidemark.dask

numpy = pytest.importorskip("numpy")

MIB = 1 << 20


@pytest.fixture
def data(tmp_path):
    made = tidemark.dask.WorkerData(8 * MIB, 16 * MIB, machine="sim", arrays=("numpy",),
                                    patience=0.01)
    yield made
    made.close()


def array(value, size=2 * MIB):
    return numpy.full(size // 8, value, "i8")


def test_a_mapping_hands_out_what_it_was_given(data):
    data["one"] = array(1)
    data["nested"] = {"of": [array(2), "text"], "small": numpy.arange(3)}
    data["plain"] = "nothing of a GPU"
    assert set(data) == {"one", "nested", "plain"} and len(data) == 3
    assert "one" in data and "other" not in data
    assert (data["one"] == 1).all() and data["plain"] == "nothing of a GPU"
    nested = data["nested"]
    assert (nested["of"][0] == 2).all() and nested["of"][1] == "text"
    assert nested["small"].tolist() == [0, 1, 2]
    assert data.statistics()["deferrable_keys"] == 2
    del nested
    for key in ("nested", "one", "plain"):
        del data[key]
    assert len(data) == 0 and data.statistics()["buffers"] == 0
    with pytest.raises(KeyError):
        data["one"]


def test_what_is_handed_out_is_pinned_until_it_is_gone(data):
    data["one"] = array(1)
    held = data["one"]
    assert data.statistics()["pins"] == 1
    assert data.fast == [] and data.evict() == -1
    data["same"] = held  # two keys, one buffer
    assert data.statistics()["buffers"] == 1
    del held
    assert data.statistics()["pins"] == 0
    assert data.fast == ["one", "same"]
    assert data.evict() == 2 * MIB
    assert data.statistics()["device_bytes"] == 0
    assert (data["one"] == 1).all()


def test_who_finds_no_room_beside_others_gets_a_copy(data):
    for number in range(5):
        data[str(number)] = array(number)
    held = [data[str(number)] for number in range(4)]
    other = data["4"]
    assert (other == 4).all() and data.copies == 1
    assert [int(one[0]) for one in held] == [0, 1, 2, 3]


def test_what_fits_nowhere_stays_as_it_is(data):
    large = array(7, 32 * MIB)
    data["large"] = large
    assert data["large"] is large
    assert data.statistics()["kept"] == 1


def test_files_take_what_the_host_has_too_much_of(tmp_path):
    data = tidemark.dask.WorkerData(4 * MIB, 4 * MIB, machine="sim", arrays=("numpy",))
    assert not data.memory.has_files
    data.close()
    pytest.importorskip("distributed")
    data = tidemark.dask.WorkerData(4 * MIB, 8 * MIB, 0, str(tmp_path), machine="sim",
                                    arrays=("numpy",))
    for number in range(10):
        data[str(number)] = array(number)
    assert data.fast
    before = data.statistics()["host_bytes"]
    assert data.evict() >= 2 * MIB
    assert data.statistics()["host_bytes"] < before
    assert all((data[str(number)] == number).all() for number in range(10))
    data.close()


def test_an_eviction_that_fails_loses_nothing_and_does_not_raise(data, monkeypatch):
    data["one"] = array(1)

    def fail(*_arguments):
        raise OSError("the disk is gone")

    monkeypatch.setattr(data.memory, "_defer", fail)
    assert data.evict() == -1
    monkeypatch.undo()
    assert data.statistics()["failures"] == 1
    assert (data["one"] == 1).all()


def test_a_pinned_task_has_arrays(data):
    memory = tidemark.dask.memory()
    one, two = memory.from_array(array(1)), memory.from_array(array(2))

    @tidemark.dask.pinned
    def total(first, rest, *, factor):
        assert one.facts().pins == two.facts().pins == 1
        return factor * int((first + rest[0] + rest[1]).sum())

    assert total(one, [two, one], factor=2) == 2 * 4 * (2 * MIB // 8)
    assert one.facts().pins == 0
    assert tidemark.dask.pinned(max)(1, 2) == 2


def test_a_process_without_a_worker_has_no_memory():
    with pytest.raises(tidemark.OptionError, match="WorkerData"):
        tidemark.dask.memory()


# A stand-in for PyTorch: what Dask's way to send tensors uses of it.
TENSORS = """
import sys, types
import numpy

torch = types.ModuleType("torch")
torch.nn = types.ModuleType("torch.nn")
torch.bfloat16 = "bfloat16"

class Tensor:
    grad, requires_grad, dtype = None, True, "int64"

    def __init__(self, data, device="cuda"):
        self.data, self.device = data, types.SimpleNamespace(type=device)

    def detach(self):
        return Tensor(self.data, self.device.type)

    def cpu(self):
        return Tensor(self.data, "cpu")

    def numpy(self):
        if self.requires_grad or self.device.type != "cpu":
            raise TypeError("can't convert")
        return self.data

    def requires_grad_(self, wanted):
        self.requires_grad = wanted
        return self

def detached(self, real=Tensor.detach):
    made = real(self)
    made.requires_grad = False
    return made

def on_host(self, real=Tensor.cpu):
    made = real(self)
    made.requires_grad = self.requires_grad
    return made

Tensor.detach, Tensor.cpu = detached, on_host
Tensor.__module__ = "torch"
torch.Tensor = Tensor
torch.nn.Parameter = type("Parameter", (Tensor,), {"__module__": "torch"})
torch.nn.Module = type("Module", (), {"__module__": "torch"})
torch.from_numpy = lambda data: Tensor(data, "cpu")
torch.tensor = lambda data, device, requires_grad: Tensor(data, device)
sys.modules.update({"torch": torch, "torch.nn": torch.nn})

import distributed
import tidemark.dask
from distributed.protocol import deserialize, serialize

data = tidemark.dask.WorkerData(1 << 22, 1 << 22, machine="sim")
for device in ("cuda", "cpu"):
    sent = Tensor(numpy.arange(9), device)
    header, frames = serialize(sent)
    assert header["serializer"] == "dask", header
    arrived = deserialize(header, frames)
    assert arrived.device.type == device and arrived.requires_grad
    assert (arrived.data == sent.data).all()
sent.device.type, sent.dtype = "cuda", torch.bfloat16
sent.__class__.__reduce__ = lambda self: (str, ("as it pickles itself",))
assert deserialize(*serialize(sent)) == "as it pickles itself"
data.close()
"""


def test_tensors_of_a_gpu_go_to_other_workers():
    pytest.importorskip("distributed")
    package = os.path.dirname(os.path.dirname(tidemark.__file__))
    subprocess.run([sys.executable, "-c", TENSORS], check=True,
                   env={**os.environ, "PYTHONPATH": package})


# The cluster: functions that run in the worker processes.

CHUNKS = 32
SIZE = 2 * MIB


def make(number):
    return array(number, SIZE)


def make_buffer(number):
    return tidemark.dask.memory().from_array(array(number, SIZE), tag=number)


def add(first, second):
    return first + second


@tidemark.dask.pinned
def add_buffers(first, second):
    return tidemark.dask.memory().from_array(first + second)


def break_eviction(dask_worker):
    data = dask_worker.data

    def fail(*_arguments, **_named):
        raise OSError("injected")

    data.memory._defer, kept = fail, data.memory._defer
    data.memory.free_bytes, bytes_kept = fail, data.memory.free_bytes
    answer = data.evict()
    data.memory._defer, data.memory.free_bytes = kept, bytes_kept
    return answer, data.evict()


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    package = os.path.dirname(os.path.dirname(tidemark.__file__))
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [package, os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
    with distributed.LocalCluster(
            n_workers=2, threads_per_worker=2, processes=True, dashboard_address=":0",
            data=(tidemark.dask.WorkerData,
                  {"gpu_bytes": 16 * MIB, "host": 32 * MIB, "machine": "sim",
                   "arrays": ("numpy",), "patience": 0.2})) as made:
        yield made


def test_a_cluster_has_four_times_its_gpus_memory(cluster):
    from distributed import Client

    expected = CHUNKS * SIZE // 8 * (CHUNKS - 1) // 2 * 2
    with Client(cluster) as client:
        arrays = client.map(make, range(CHUNKS), pure=False)
        sums = client.map(add, arrays, arrays[::-1], pure=False)
        totals = client.gather(client.map(lambda one: int(one.sum()), sums))
        assert sum(totals) == expected
        statistics = client.run(lambda dask_worker: dask_worker.data.statistics()).values()
        assert sum(one["bytes"] for one in statistics) >= 4 * 2 * 16 * MIB
        assert sum(one["deferrals"] for one in statistics) > CHUNKS
        assert all(one["pins"] == one["failures"] == 0 for one in statistics)
        for failed, evicted in client.run(break_eviction).values():
            assert failed == -1 and evicted > 0
        assert sum(client.gather(client.map(lambda one: int(one.sum()), sums))) == expected
        del arrays, sums


def test_a_killed_workers_results_are_made_again(cluster):
    from distributed import Client

    with Client(cluster) as client:
        buffers = client.map(make_buffer, range(16), pure=False)
        sums = client.map(add_buffers, buffers, buffers[1:] + buffers[:1], pure=False)
        assert len(client.gather(client.map(lambda one: one.size, sums))) == 16
        victim = next(iter(client.scheduler_info()["workers"]))
        (process,) = client.run(os.getpid, workers=[victim]).values()
        os.kill(process, signal.SIGKILL)
        totals = client.gather(client.map(total_of, sums))
        assert sum(totals) == 2 * sum(range(16)) * (SIZE // 8)


def total_of(buffer):
    with buffer.pin(mode="read") as pin:
        return int(numpy.asarray(pin).sum())
