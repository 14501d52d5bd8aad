"""Contexts on a simulated device."""

import threading

import pytest

import tidemark

GIB = 1 << 30


@pytest.fixture
def context():
    with tidemark.Context("sim:h200", "torch", memory=GIB) as made:
        yield made


def test_what_it_is(context):
    assert context.machine == "sim:h200" and context.policy == "torch" and context.is_simulated
    assert "torch on sim:h200" in repr(context)


def test_grants_and_frees(context):
    address = context.alloc(1000, tag=7)
    block = context.base_of(address + 999)
    assert (block.address, block.requested, block.granted, block.tag) == (address, 1000, 1024, 7)
    before = context.statistics()
    assert (before.live, before.requested, before.allocated) == (1, 1000, 1024)
    assert before.device_total == GIB
    context.free(address, 1000)
    assert context.statistics().live == 0
    context.trim(wait=True)
    assert context.statistics().reserved == 0


def test_the_same_figures_as_a_policy_under_other_options():
    with tidemark.Context("sim", tidemark.policies.torch(expandable_segments=True),
                          memory=GIB) as context:
        assert context.policy == "torch:expandable_segments=true"


@pytest.mark.parametrize("wrong, kind", [
    (lambda c: c.free(12345), tidemark.AddressError),
    (lambda c: c.alloc(2 * GIB), tidemark.OutOfMemoryError),
    (lambda c: c.alloc(2 * GIB), MemoryError),
    (lambda c: c.alloc(1, alignment=3), tidemark.OptionError),
    (lambda c: c.alloc(-1), tidemark.OptionError),
    (lambda c: c.alloc(1, tag=-1), tidemark.OptionError),
    (lambda c: c.alloc(1, stream="one"), tidemark.OptionError),
    (lambda c: c.base_of(12345), tidemark.AddressError),
    (lambda c: c.export(c.alloc(512)), tidemark.UnsupportedError),
    (lambda c: tidemark.Context("nosuch"), tidemark.Error),
    (lambda c: tidemark.Context("sim", "nosuch"), ValueError),
])
def test_wrong_use_is_refused(context, wrong, kind):
    with pytest.raises(kind):
        wrong(context)


def test_freed_twice_and_of_another_size(context):
    address = context.alloc(1000)
    with pytest.raises(tidemark.AddressError, match="another size"):
        context.free(address, 1001)
    context.free(address)
    with pytest.raises(tidemark.AddressError, match="freed"):
        context.free(address)


def test_nothing(context):
    assert context.alloc(0) == 0
    context.free(0)
    token = context.alloc(0, unique_empty=True)
    assert token % 2 == 1
    context.free(token)


def test_limit(context):
    context.set_limit(2000)
    with pytest.raises(tidemark.OutOfMemoryError, match="limit"):
        context.alloc(3000)
    context.set_limit(0)
    context.free(context.alloc(3000))


def test_streams(context):
    class Protocol:
        def __cuda_stream__(self):
            return (0, 77)

    class Torch:
        cuda_stream = 78

    for stream, number in ((Protocol(), 77), (Torch(), 78), (None, 0), (79, 79)):
        address = context.alloc(512, stream=stream)
        assert context.base_of(address).stream == number
        context.record_use(address, 5)
        context.free(address, stream=stream)
    address = context.alloc(512, stream=tidemark.STREAM_UNKNOWN)
    context.free(address, stream=tidemark.STREAM_UNKNOWN)


def test_pools(context):
    with context.pool(3) as pool:
        address = context.alloc(100, pool=pool)
        assert context.base_of(address).pool == 3
    context.free(address)
    context.close_pool(3)
    context.trim(wait=True)
    assert context.statistics().reserved == 0


def test_closing():
    context = tidemark.Context("sim", memory=GIB)
    address = context.alloc(512)
    assert context.close() == 1
    assert context.close() == 0
    for use in (lambda: context.free(address), context.statistics):
        with pytest.raises(tidemark.OptionError, match="closed"):
            use()
    assert "closed" in repr(context)


def test_threads(context):
    failures = []

    def work():
        try:
            for _ in range(200):
                context.free(context.alloc(4096), 4096)
        except tidemark.Error as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert context.statistics().granted == 800 and context.statistics().live == 0


@pytest.mark.parametrize("cache", [None, 0, 1 << 20])
def test_thread_caches(cache):
    with tidemark.Context("sim", "torch", memory=GIB, thread_cache=cache) as context:
        for _ in range(10):
            context.free(context.alloc(4096))
        hits = context.statistics().hits
        assert hits == 0 if cache == 0 else hits >= 0


def test_buffers(context):
    buffer = context.buffer(1 << 20)
    assert len(buffer) == 1 << 20 and context.statistics().live == 1
    assert not hasattr(buffer, "__cuda_array_interface__")  # a simulated device has no memory
    buffer.free()
    with pytest.raises(tidemark.AddressError):
        buffer.free()
    with context.buffer(512) as other:
        assert f"{other.address:#x}" in repr(other)
    left = context.buffer(512)
    del left
    assert context.statistics().live == 0


def test_what_a_gpu_buffer_shows(context, monkeypatch):
    monkeypatch.setattr(context, "machine", "cuda:0")
    for stream, shown in ((0, 1), (1, 1), (99, 99), (tidemark.STREAM_UNKNOWN, None)):
        with context.buffer(1000, stream) as buffer:
            assert buffer.__cuda_array_interface__ == {
                "version": 3, "shape": (1000,), "typestr": "|u1", "strides": None,
                "data": (buffer.address, False), "stream": shown}
    with context.buffer(0) as buffer:
        assert buffer.__cuda_array_interface__["data"] == (0, False)


def test_threads_may_use_what_another_closes():
    begun = threading.Barrier(5)

    def work(context):
        begun.wait()
        with pytest.raises(tidemark.OptionError, match="closed"):
            while True:
                context.free(context.alloc(4096))

    for _ in range(20):
        context = tidemark.Context("sim", "torch", memory=GIB)
        threads = [threading.Thread(target=work, args=(context,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        begun.wait()
        context.close()
        for thread in threads:
            thread.join()


@pytest.mark.parametrize("wrong, what", [
    (dict(memory=1.5), "memory: expected a whole number, not 1.5"),
    (dict(limit="1"), "limit: expected a whole number, not '1'"),
    (dict(machine=3), "machine: expected a string, not 3"),
    (dict(policy=3), "policy: expected a string, not 3")])
def test_wrong_types_are_named(wrong, what):
    with pytest.raises(TypeError) as raised:
        tidemark.Context(**wrong)
    assert str(raised.value) == what


def test_who_runs_out_of_memory_may_make_room_and_try_again():
    with tidemark.Context("sim", "best-fit", memory=1 << 30) as context:
        kept = [context.alloc(300 << 20) for _ in range(3)]
        attempts = []

        def make_room(bytes, attempt):
            attempts.append((bytes, attempt))
            if kept:
                context.free(kept.pop())
                return True
            return False

        context.on_oom(make_room)
        context.alloc(600 << 20)
        assert attempts == [(600 << 20, 0), (600 << 20, 1)] and len(kept) == 1
        context.on_oom(None)
        with pytest.raises(tidemark.OutOfMemoryError):
            context.alloc(600 << 20)
        assert len(attempts) == 2


def test_streams_of_its_own():
    with tidemark.Context("sim", streams=1) as context:
        with context.acquire_stream() as stream:
            assert stream.__cuda_stream__() == (0, stream.handle)
            address = context.alloc(4096, stream)
            context.free(address, 4096, stream)
            with pytest.raises(tidemark.CancelledError, match="in use"):
                with context.acquire_stream(timeout=0.01):
                    pass
            with context.acquire_stream(grow=True) as other:
                assert other != stream
        with context.acquire_stream() as again:
            assert again in (stream, other)


def test_the_regions_are_all_that_is_held():
    with tidemark.Context("sim", "extent", thread_cache=0) as context:
        kept = context.alloc(3_000_000)
        context.free(context.alloc(5_000_000), 5_000_000)
        regions = context.regions()
        assert sum(one.bytes for one in regions) == context.statistics().reserved
        allocated = [one for one in regions if one.state == "allocated"]
        assert [(one.address, one.requested) for one in allocated] == [(kept, 3_000_000)]
        assert all(one.expandable for one in regions)
        context.allow_peer(1)  # a simulated device has no peers, and needs none
