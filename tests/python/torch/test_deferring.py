"""An optimizer's state in deferrable memory: with a torch of NumPy, and with the real one."""

import sys
import types

import pytest
import test_real_torch

import tidemark

numpy = pytest.importorskip("numpy")

MIB = 1 << 20
NUMBERS = MIB  # of 4 bytes: two pages


class Tensor:
    """As far as deferring touches one."""

    is_cuda = False

    def __init__(self, values):
        self.values = values

    data = property(lambda own: own, lambda own, other: setattr(own, "values", other.values))
    shape = property(lambda own: own.values.shape)
    dtype = property(lambda own: own.values.dtype)

    def numel(self):
        return self.values.size

    def element_size(self):
        return self.values.itemsize

    def data_ptr(self):
        return self.values.__array_interface__["data"][0]

    def detach(self):
        return self

    def copy_(self, other):
        self.values[...] = other.values

    def view(self, to):
        return Tensor(self.values.reshape(to) if isinstance(to, tuple) else self.values.view(to))


class Optimizer:
    """Momentum, kept for each parameter, with PyTorch's hooks."""

    def __init__(self, count):
        self.parameters = range(count)
        self.state = {}
        self.before, self.after = [], []

    def register_step_pre_hook(self, hook):
        return self._register(self.before, hook)

    def register_step_post_hook(self, hook):
        return self._register(self.after, hook)

    @staticmethod
    def _register(hooks, hook):
        hooks.append(hook)
        return types.SimpleNamespace(remove=lambda: hooks.remove(hook))

    def step(self):
        for hook in self.before:
            hook(self, (), {})
        for one in self.parameters:
            state = self.state.setdefault(one, {"step": Tensor(numpy.zeros(1, "f4")), "name": one,
                                                "sum": Tensor(numpy.zeros(NUMBERS, "f4"))})
            state["sum"].values += one + 1
            state["step"].values += 1
        for hook in self.after:
            hook(self, (), {})


@pytest.fixture
def fake(monkeypatch):
    made = types.ModuleType("torch")
    made.Tensor, made.uint8 = Tensor, "u1"
    made.frombuffer = lambda owner, dtype: Tensor(numpy.frombuffer(owner, dtype))
    monkeypatch.setitem(sys.modules, "torch", made)
    monkeypatch.delitem(sys.modules, "tidemark.torch._deferring", raising=False)
    yield made
    sys.modules.pop("tidemark.torch._deferring", None)


def test_the_state_is_away_between_steps(fake):
    import tidemark.torch

    with tidemark.DeferrableMemory(tidemark.Context("sim"), 16 * MIB, 64 * MIB) as memory:
        optimizer = Optimizer(3)
        deferred = tidemark.torch.defer_optimizer(optimizer, memory)
        optimizer.step()
        kept = [optimizer.state[one]["sum"] for one in optimizer.parameters]
        addresses = [one.data_ptr() for one in kept]
        assert deferred.size == 3 * 4 * MIB and memory.statistics().buffers == 3
        for _ in range(4):
            optimizer.step()
            assert memory.statistics().pins == 0
        for buffer in memory.buffers():
            assert memory.buffer(buffer.number).defer() in ("deferred", "away")
        assert memory.statistics().resident == 0
        with deferred.pinned():
            assert memory.statistics().pins == 3
            for one, tensor in enumerate(kept):
                assert (tensor.values == 5 * (one + 1)).all()
        assert [one.data_ptr() for one in kept] == addresses
        assert optimizer.state[0]["step"].values[0] == 5  # small ones stay as they are
        deferred.close()
        assert not optimizer.before and not optimizer.after
        assert memory.statistics().pins == 3  # the tensors are the program's again
        assert (kept[2].values == 15).all()


def test_a_step_that_does_not_fit_says_what_it_wanted(fake):
    import tidemark.torch

    with tidemark.DeferrableMemory(tidemark.Context("sim"), 8 * MIB, 64 * MIB) as memory:
        optimizer = Optimizer(3)
        tidemark.torch.defer_optimizer(optimizer, memory)
        optimizer.step()
        with pytest.raises(tidemark.SpaceError, match="can't fit together"):
            optimizer.step()
        assert memory.statistics().pins == 0


@test_real_torch.needs("torch")
def test_real_training_is_the_same(tmp_path):
    said, _ = test_real_torch.run_text("""
        import torch
        import tidemark
        import tidemark.torch

        def train(memory):
            torch.manual_seed(1)
            model = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.Linear(1024, 8))
            optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
            deferred = memory and tidemark.torch.defer_optimizer(optimizer, memory)
            losses = []
            for _ in range(4):
                loss = (model(torch.ones(4, 1024)) ** 2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
                for one in memory.buffers() if memory else ():
                    memory.buffer(one.number).defer()
            if deferred:
                assert memory.statistics().retrievals >= 4
                deferred.close()
            return losses

        memory = tidemark.DeferrableMemory(tidemark.Context("sim"), 32 << 20, 64 << 20)
        print(train(None) == train(memory))
        """, tmp_path)
    assert said == "True\n"
