"""Memory of captured graphs, on a simulated GPU; scripts/prove_graph_arena.py proves it on a real
one."""

import contextlib
import sys
import types

import pytest

import tidemark

MIB = 1 << 20


@pytest.fixture
def arena():
    with tidemark.GraphArena("sim") as made:
        yield made


def overlap(granted):
    ends = 0
    for address, size in sorted(granted):
        if address < ends:
            return True
        ends = address + size
    return False


def test_no_address_is_granted_twice_in_a_capture(arena):
    with arena.scope() as scope:
        for turn in range(100):
            scope.alloc(MIB + turn)  # dropped at once
    captured = scope.captured
    assert len(captured.granted) == 100 and not overlap(captured.granted)
    outside = [arena.context.alloc(MIB) for _ in range(200)]
    assert not overlap(captured.granted + [(address, MIB) for address in outside])
    for address in outside:
        arena.context.free(address, MIB)
    captured.close()
    captured.close()
    arena.trim()
    assert arena.context.statistics().reserved <= 512 * MIB


def test_memory_goes_back_when_the_graph_and_its_arrays_are_gone(arena):
    with arena.scope() as scope:
        kept = scope.alloc(64 * MIB)
    held = arena.context.statistics().reserved
    assert held >= 64 * MIB
    arena.trim()
    assert arena.context.statistics().reserved == held  # the graph may run
    scope.captured.close()
    arena.trim()
    assert arena.context.statistics().reserved == held  # an array lives
    del kept
    arena.trim()
    assert arena.context.statistics().reserved < 64 * MIB


def test_graphs_in_turn_share_their_memory():
    reserved = []
    for in_turn in (False, True):
        with tidemark.GraphArena("sim", in_turn=in_turn) as arena:
            graphs = []
            for _ in range(3):
                with arena.scope() as scope:
                    scope.alloc(64 * MIB)
                graphs.append(scope.captured)
            reserved.append(arena.context.statistics().reserved)
            for graph in graphs:
                graph.close()
    assert reserved[0] >= 192 * MIB and 64 * MIB <= reserved[1] < 128 * MIB


def test_more_than_an_arena_of_one_size_is_refused():
    with tidemark.GraphArena("sim", bytes=16 * MIB) as arena:
        with arena.scope() as scope:
            scope.alloc(12 * MIB)
            with pytest.raises(tidemark.OutOfMemoryError):
                scope.alloc(8 * MIB)
        scope.captured.close()


@pytest.fixture
def chosen(monkeypatch):
    """The allocators that a CuPy which isn't there uses, the last one now."""
    allocators = []

    @contextlib.contextmanager
    def using_allocator(malloc):
        allocators.append(malloc)
        try:
            yield
        finally:
            allocators.pop()

    cuda = types.SimpleNamespace(
        runtime=types.SimpleNamespace(getDevice=lambda: 0),
        memory=types.SimpleNamespace(OutOfMemoryError=MemoryError),
        UnownedMemory=lambda ptr, size, owner, device: (ptr, size, owner),
        MemoryPointer=lambda memory, offset: memory, using_allocator=using_allocator)
    monkeypatch.setitem(sys.modules, "cupy", types.SimpleNamespace(cuda=cuda))
    return allocators


class FakeStream:
    """As a stream of CuPy."""

    ptr = 7

    def __init__(self):
        self.captures = 0

    def begin_capture(self):
        self.captures += 1

    def end_capture(self):
        self.captures -= 1
        return types.SimpleNamespace(launched=0, launch=lambda stream: None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


def test_cupys_arrays_in_a_capture_are_the_graphs(arena, chosen):
    stream = FakeStream()
    with arena.capture(stream) as captured:
        first, second = chosen[0](1000), chosen[0](2000)
        with pytest.raises(tidemark.OptionError):
            captured.launch()
    assert captured.granted == [(first[0], 1000), (second[0], 2000)]
    captured.launch(stream)
    del first, second
    captured.close()
    assert stream.captures == 0

    with pytest.raises(ValueError):
        with arena.capture(stream):
            chosen[0](1000)
            raise ValueError("of the program")
    assert stream.captures == 0 and not chosen
    arena.trim()
    assert arena.context.statistics().live == 0


def layers(malloc):
    """Layer after layer, with the last result and the next one alive at a time."""
    last = None
    for _ in range(8):
        last = malloc(16 * MIB)
    return last


def test_a_dry_run_lets_arrays_share_memory(arena, chosen):
    stream = FakeStream()
    with arena.dry_run(stream) as seen:
        layers(chosen[0])
    assert not chosen and seen.requests == 8 and seen.bytes == 128 * MIB
    arena.trim()
    reserved = arena.context.statistics().reserved
    with arena.capture(stream, planned=seen) as captured:
        layers(chosen[0])
    assert arena.deviations == 0
    assert arena.context.statistics().reserved - reserved == 32 * MIB
    assert len(set(captured.granted)) == 2 and captured.bytes == 128 * MIB
    captured.close()


def test_what_is_kept_shares_with_nobody(arena, chosen):
    stream = FakeStream()
    with arena.dry_run(stream) as seen:
        kept = layers(chosen[0])
    with arena.capture(stream, planned=seen) as captured:
        kept = layers(chosen[0])
    assert arena.deviations == 0 and kept[0] not in {at for at, _ in captured.granted[:-1]}
    captured.close()


def test_what_comes_otherwise_is_counted_and_apart(arena, chosen):
    stream = FakeStream()
    with arena.dry_run(stream) as seen:
        layers(chosen[0])
    with arena.capture(stream, planned=seen) as captured:
        kept = [chosen[0](16 * MIB) for _ in range(8)]  # lives longer than it did
    assert not overlap(captured.granted) and arena.deviations == 6
    del kept
    captured.close()


def test_a_plan_needs_a_policy_that_plans():
    with tidemark.Context("sim", "torch") as context:
        with pytest.raises(tidemark.UnsupportedError, match="arena:mode=planned"):
            context.plan_pool(1, [tidemark.context.PlannedRequest(512, 0, 1)])
    with tidemark.Context("sim", "arena:mode=planned") as context:
        with pytest.raises(tidemark.InputError, match="ends before it begins"):
            context.plan_pool(1, [tidemark.context.PlannedRequest(512, 3, 1)])
        with pytest.raises(tidemark.OptionError):
            context.plan_pool(0, [])
