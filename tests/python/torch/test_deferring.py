"""An optimizer's state and a module's parameters in deferrable memory: with a torch of NumPy."""

import sys

import pytest

import tidemark

numpy = pytest.importorskip("numpy")

from fake_tensors import (Module, ModuleList, Optimizer, Sequential, Tensor,  # noqa: E402
                          fake_torch)

MIB = 1 << 20
NUMBERS = MIB  # of 4 bytes: two pages
OURS = [f"tidemark.torch._{name}" for name in ("deferring", "deferred_optimizer",
                                               "deferred_module")]


@pytest.fixture
def torch(monkeypatch):
    made = fake_torch()
    monkeypatch.setitem(sys.modules, "torch", made)
    for name in OURS:
        monkeypatch.delitem(sys.modules, name, raising=False)
    import tidemark.torch  # noqa: F401

    yield made
    for name in OURS:
        sys.modules.pop(name, None)


@pytest.fixture
def memory():
    with tidemark.DeferrableMemory(tidemark.Context("sim"), 12 * MIB, 64 * MIB) as made:
        yield made


def parameter(value, count=NUMBERS, grad=None):
    made = Tensor(numpy.full(count, value, "f4"), requires_grad=True)
    made.grad = None if grad is None else numpy.full(count, grad, "f4")
    return made


def all_away(memory):
    for one in memory.buffers():
        memory.buffer(one.number).defer()
    return memory.statistics().resident == 0


# Optimizers.


def optimizer_of(count):
    return Optimizer([parameter(0, grad=one + 1) for one in range(count)])


def test_the_state_is_away_between_steps(torch, memory):
    optimizer = optimizer_of(3)
    deferred = tidemark.torch.defer_optimizer(optimizer, memory)
    optimizer.step()
    kept = [state["sum"] for state in optimizer.state.values()]
    addresses = [one.data_ptr() for one in kept]
    assert deferred.size == 3 * 4 * MIB and memory.statistics().buffers == 3
    for _ in range(4):
        optimizer.step()
        assert memory.statistics().pins == 0
    assert all_away(memory)
    with deferred.pinned():
        assert memory.statistics().pins == 3
        for one, tensor in enumerate(kept):
            assert (tensor.values == 5 * (one + 1)).all()
    assert [one.data_ptr() for one in kept] == addresses
    deferred.close()
    assert "step" not in vars(optimizer) and not optimizer.saved and not optimizer.loaded
    assert memory.statistics().pins == 3  # the tensors are the program's again
    assert (kept[2].values == 15).all()
    del deferred


def test_a_step_goes_in_pieces_through_more_than_there_is_room_for(torch, memory):
    optimizer = optimizer_of(8)  # 32 MiB of state in 12
    optimizer.param_groups[0]["params"].append(parameter(0))  # without a gradient: in no piece
    deferred = tidemark.torch.defer_optimizer(optimizer, memory)
    calls = []
    optimizer.register_step_pre_hook(lambda *given: calls.append("before"))
    optimizer.register_step_post_hook(lambda *given: calls.append("after"))
    assert optimizer.step(lambda: 7) == 7
    optimizer.step()
    assert optimizer.seen == [1] * 8 + [1] * 8
    assert calls == ["before", "after"] * 2
    assert len(optimizer.param_groups[0]["params"]) == 9
    assert memory.statistics().pins == 0 and deferred.size == 32 * MIB
    for one, state in enumerate(optimizer.state.values()):
        assert state["step"].values[0] == 2
    with pytest.raises(tidemark.SpaceError, match="can't fit together"):
        deferred.close()


def test_with_whole_one_step_sees_all_parameters(torch, memory):
    optimizer = optimizer_of(4)
    tidemark.torch.defer_optimizer(optimizer, memory, whole=True)
    optimizer.step()
    assert optimizer.seen == [4]
    with pytest.raises(tidemark.SpaceError, match="can't fit together"):
        optimizer.step()
    assert memory.statistics().pins == 0 and len(optimizer.param_groups[0]["params"]) == 4


def test_a_step_that_fails_leaves_the_optimizer_as_it_was(torch, memory):
    optimizer = optimizer_of(4)
    tidemark.torch.defer_optimizer(optimizer, memory)
    optimizer.step()
    optimizer.fails_at = len(optimizer.seen) + 2
    with pytest.raises(RuntimeError, match="the step fails"):
        optimizer.step()
    assert len(optimizer.param_groups[0]["params"]) == 4
    while memory.statistics().pins:  # of the piece that was coming
        pass
    optimizer.step()
    assert [state["step"].values[0] for state in optimizer.state.values()] == [3, 2, 2, 2]


def test_saved_states_are_in_the_hosts_memory(torch, memory):
    optimizer = optimizer_of(3)
    deferred = tidemark.torch.defer_optimizer(optimizer, memory)
    optimizer.step()
    assert all_away(memory)
    saved = optimizer.state_dict()
    assert memory.statistics().resident == 0  # nothing came back for it
    sums = [state["sum"] for state in saved["state"].values()]
    assert [float(one.values[0]) for one in sums] == [1, 2, 3]
    assert not {one.data_ptr() for one in sums} & {
        state["sum"].data_ptr() for state in optimizer.state.values()}
    optimizer.step()
    optimizer.load_state_dict(saved)
    assert deferred.size == 12 * MIB
    assert [float(one.values[0]) for one in sums] == [1, 2, 3]  # still what was saved
    optimizer.step()
    with deferred.pinned():
        assert [float(state["sum"].values[0]) for state in optimizer.state.values()] == [2, 4, 6]


def test_schedulers_see_their_steps(torch, memory):
    optimizer = optimizer_of(1)
    inner = optimizer.step

    def scheduled(*given):
        return inner(*given)

    scheduled._wrapped_by_lr_sched = True
    optimizer.step = scheduled
    deferred = tidemark.torch.defer_optimizer(optimizer, memory)
    assert optimizer.step._wrapped_by_lr_sched
    optimizer.step()
    assert optimizer._opt_called and optimizer.seen == [1]
    deferred.close()
    assert optimizer.step is scheduled


def test_an_optimizer_that_cannot_go_in_pieces_is_refused(torch, memory):
    with pytest.raises(tidemark.OptionError, match="LBFGS"):
        tidemark.torch.defer_optimizer(type("LBFGS", (Optimizer,), {})([]), memory)


# Modules.


def layers_of(count):
    return [Module(weight=parameter(one + 1), small=parameter(0, 10)) for one in range(count)]


def called(modules):
    """What goes between them."""
    tensors = [Tensor(numpy.zeros(1), requires_grad=True)]
    for module in modules:
        tensors.append(module(tensors[-1]))
    return tensors


def pins_of(memory):
    return [one.pins for one in sorted(memory.buffers(), key=lambda one: one.number)]


def test_parameters_are_there_while_their_unit_runs(torch, memory):
    layers = layers_of(6)
    model = Module(Module(outside=parameter(9)), ModuleList(*layers))
    deferred = tidemark.torch.defer_module(model, memory)
    assert deferred.units == layers and deferred.size == 6 * 4 * MIB
    assert all_away(memory)
    tensors = called(layers)
    assert [float(one.values[0]) / NUMBERS for one in tensors] == [0, 1, 3, 6, 10, 15, 21]
    assert memory.statistics().pins == 0
    for step, layer in enumerate(torch.backward.run(layers, tensors)):
        number = len(layers) - 1 - step  # whose input has no gradient yet
        assert pins_of(memory)[number] == 1 and sum(pins_of(memory)) <= 2
        assert (layer._parameters["weight"].values[:3] == number + 1).all()
    assert memory.statistics().pins == 0
    assert memory.statistics().failures == 0 and memory.statistics().retrievals >= 6


def test_what_gets_no_gradient_is_let_go_after_the_pass(torch, memory):
    layers = layers_of(2)
    tidemark.torch.defer_module(Sequential(*layers), memory)
    tensors = called(layers)
    unused = [layers[1]._parameters["weight"]]
    passing = torch.backward.run(layers, tensors, missing=unused)
    next(passing)
    next(passing)
    assert pins_of(memory) == [1, 1]
    assert list(passing) == [] and pins_of(memory) == [0, 0]


def test_the_unit_that_came_next_is_fetched_ahead(torch, memory):
    layers = layers_of(3)
    tidemark.torch.defer_module(Sequential(*layers), memory)
    called(layers)
    assert all_away(memory)
    layers[0](Tensor(numpy.zeros(1)))
    number = sorted(one.number for one in memory.buffers())[1]
    while memory.buffer(number).state != "resident":
        pass


def test_backward_passes_fetch_ahead_through_checkpoints(torch, memory):
    layers = layers_of(6)
    tidemark.torch.defer_module(Sequential(*layers), memory)

    def train(looked_at=None):
        tensors = called(layers)
        if looked_at is not None:
            assert all_away(memory)
        for layer in torch.backward.run(layers, tensors):
            layer(tensors[0])  # as a checkpoint does it
            if layers.index(layer) == looked_at:
                return
        layers[0](tensors[0])

    train()
    train(looked_at=4)
    number = sorted(one.number for one in memory.buffers())[3]
    while memory.buffer(number).state != "resident":
        pass


def test_a_call_that_fails_lets_go(torch, memory):
    layer, = layers_of(1)
    layer.forward = lambda given: 1 // 0
    tidemark.torch.defer_module(layer, memory)
    with pytest.raises(ZeroDivisionError):
        layer(Tensor(numpy.zeros(1)))
    assert pins_of(memory) == [0]


def test_what_a_call_writes_is_kept(torch, memory):
    layer, = layers_of(1)
    weight = layer._parameters["weight"]
    layer.forward = lambda given: weight.copy_(Tensor(numpy.full(NUMBERS, 5, "f4")))
    deferred = tidemark.torch.defer_module(layer, memory)
    assert all_away(memory)
    with deferred.pinned():
        pass
    assert all_away(memory)  # there is a copy on the host now
    layer(Tensor(numpy.zeros(1)))
    assert all_away(memory)
    with deferred.pinned():
        assert (weight.values == 5).all()


def test_parameters_of_two_units_stay_as_they_are(torch, memory):
    layers = layers_of(2)
    layers[1]._parameters["other"] = layers[0]._parameters["weight"]
    deferred = tidemark.torch.defer_module(Sequential(*layers), memory)
    assert deferred.size == 4 * MIB
    with pytest.raises(tidemark.OptionError, match="must not overlap"):
        tidemark.torch.defer_module(Module(*layers), memory, units=[layers[0], layers[0]])


def test_a_modules_state_is_saved_and_loaded_where_it_is(torch, memory):
    layers = layers_of(4)  # 16 MiB in 12
    model = Sequential(*layers)
    deferred = tidemark.torch.defer_module(model, memory)
    assert all_away(memory)
    saved = model.state_dict()
    assert memory.statistics().resident == 0
    assert [saved[f"{one}.weight"].values[0] for one in range(4)] == [1, 2, 3, 4]
    model.load_state_dict({name: Tensor(one.values * 10) for name, one in saved.items()})
    assert pins_of(memory) == [0] * 4
    assert [one.values[0] for one in saved.values()][::2] == [1, 2, 3, 4]
    assert layers[3].state_dict()["weight"].values[0] == 40
    assert deferred.size == 16 * MIB


def test_an_optimizer_pins_parameters_with_their_state(torch, memory):
    layers = layers_of(6)
    model = Sequential(*layers)
    tidemark.torch.defer_module(model, memory)
    optimizer = Optimizer(model.parameters())
    tidemark.torch.defer_optimizer(optimizer, memory)
    for _ in range(2):
        for _layer in torch.backward.run(layers, called(layers)):
            pass
        assert all_away(memory)
        optimizer.step()
    state = model.state_dict()
    assert all(state[f"{one}.weight"].values[0] == 0 for one in range(6))


# Out of memory.


def test_who_finds_no_room_runs_again_when_the_rest_has_left(torch, memory):
    kept = [memory.empty(4 * MIB) for _ in range(2)]
    calls = []

    def work(given, *, named):
        calls.append(memory.statistics().resident)
        if calls[-1]:
            raise torch.OutOfMemoryError("no")
        return given + named

    assert tidemark.torch.defer_on_oom(memory, work, 1, named=2) == 3
    assert calls[-1] == 0 and len(calls) == 2 and torch.emptied == [True]

    def fails():
        raise torch.OutOfMemoryError("for good")

    with pytest.raises(torch.OutOfMemoryError, match="for good"):
        tidemark.torch.defer_on_oom(memory, fails)
    assert {one.state for one in kept} == {"deferred"}
