"""GraphArena under PyTorch. Its functions with the PyTorch that is installed, on a simulated
device; scripts/prove_graph_arena.py proves captures on a GPU."""

import contextlib
import types

import pytest
from fake_torch import torch, torch_folder  # noqa: F401 (fixtures)
from test_allocator import cache, run  # noqa: F401 (a fixture)

import tidemark
from tidemark.torch import _allocator, _graph_capture


class Stream:
    """As a stream of PyTorch."""

    __module__ = "torch.cuda.streams"
    cuda_stream = 7


class Loaded:
    """allocator.cpp, where it is not compiled."""

    def __init__(self):
        self.open = {}
        self.full = False

    def tidemark_torch_graph_open(self, _context, pool, functions):
        at = -1 if self.full else len(self.open)
        functions[0], functions[1] = 0x10 + pool, 0x20
        self.open[at] = True
        return at

    def tidemark_torch_graph_close(self, at):
        self.open[at] = False

    def tidemark_torch_graph_is_vacant(self, at):
        return not self.open[at]

    def tidemark_torch_graph_pieces(self, _at, pieces, _capacity):
        if pieces is not None:
            pieces[0].address, pieces[0].bytes = 4096, 512
        return 1


@pytest.fixture
def loaded(torch, monkeypatch):
    made = Loaded()
    for name in _allocator.CONF:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(_allocator, "load", lambda _torch: made)
    monkeypatch.setattr(_graph_capture, "_kept", {})

    class Graph:
        replays = resets = 0

        def replay(self):
            self.replays += 1

        def reset(self):
            self.resets += 1

    @contextlib.contextmanager
    def capturing(graph, pool, stream):
        made.captured = pool, stream
        yield

    torch._C._cuda_customAllocator = lambda *functions: functions
    torch.cuda.MemPool = lambda functions: types.SimpleNamespace(id=functions)
    torch.cuda.CUDAGraph = Graph
    torch.cuda.graph = capturing
    torch.cuda.stream = lambda stream: contextlib.nullcontext()
    return made


@pytest.mark.parametrize("in_turn", [False, True])
def test_captures_have_pools_of_the_arena(loaded, in_turn):
    stream = Stream()
    with tidemark.GraphArena("sim", in_turn=in_turn) as arena:
        graphs = []
        for _ in range(2):
            with arena.capture(stream) as captured:
                with pytest.raises(tidemark.OptionError):
                    captured.launch()
            graphs.append((captured, captured.graph, loaded.captured))
        (first, graph, (pool, on)), (_, _, (other, _)) = graphs
        assert on is stream and (pool == other) == in_turn
        assert first.granted == [(4096, 512)] and first.bytes == 512
        first.launch()
        first.launch(stream)
        assert graph.replays == 2
        for captured, graph, _ in graphs:
            captured.close()
            assert graph.resets == 1
        assert any(loaded.open.values()) == in_turn
    assert not any(loaded.open.values()) and not _graph_capture._kept


def test_a_capture_that_fails_ends(loaded):
    with tidemark.GraphArena("sim") as arena:
        with pytest.raises(KeyError):
            with arena.capture(Stream()):
                raise KeyError("of the program")
        assert not any(loaded.open.values())


def test_what_pytorch_does_itself_is_refused(loaded):
    with tidemark.GraphArena("sim") as arena:
        with pytest.raises(tidemark.OptionError, match="already reuses memory"):
            with arena.dry_run(Stream()):
                pass
        with arena.dry_run() as seen:
            pass
        with pytest.raises(tidemark.OptionError, match="makes its own plan"):
            with arena.capture(Stream(), planned=seen):
                pass
        loaded.full = True
        with pytest.raises(tidemark.OptionError, match="64 graphs"):
            with arena.capture(Stream()):
                pass


def test_the_functions_of_pools_are_apart(cache):
    run("""
import ctypes, tidemark, torch
from tidemark.torch import _allocator, _graph_capture

loaded = _allocator.load(torch)
context = tidemark.Context("sim", "arena")
TAKE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)
GIVE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)

def open_pool(number):
    functions = (ctypes.c_void_p * 2)()
    at = loaded.tidemark_torch_graph_open(context._open(), number, functions)
    return at, TAKE(functions[0] or 0), GIVE(functions[1] or 0)

first, take, give = open_pool(1)
second, take_other, give_other = open_pool(2)
assert (first, second) == (0, 1)
address, other = take(2 << 20, 0, None), take_other(1 << 20, 0, None)
assert context.base_of(address).pool == 1 and context.base_of(other).pool == 2
pieces = (_graph_capture._Piece * 2)()
assert loaded.tidemark_torch_graph_pieces(0, pieces, 2) == 1
assert (pieces[0].address, pieces[0].bytes) == (address, 2 << 20)
loaded.tidemark_torch_graph_close(0)
assert not loaded.tidemark_torch_graph_is_vacant(0)
assert take(512, 0, None) is None  # it is closed
give_other(address, 0, 0, None)  # not its own
assert context.statistics().live == 2
give(address, 0, 0, None)
assert loaded.tidemark_torch_graph_is_vacant(0) and context.statistics().live == 1
assert open_pool(3)[0] == 0
assert sorted(open_pool(4 + n)[0] for n in range(63))[:2] == [-1, 2]
""", cache)
