"""Buffers in host memory and files."""

import threading

import pytest

import tidemark

MIB = 1 << 20


@pytest.fixture
def store(tmp_path):
    with tidemark.Store(16 * MIB, tmp_path) as made:
        yield made


def test_more_than_memory_goes_to_files_and_comes_back_whole(store):
    buffers = [store.create(4 * MIB) for _ in range(8)]
    for number, buffer in enumerate(buffers):
        with buffer.access(mode="overwrite") as access:
            for view in access.views():
                view[:] = bytes([number + 1]) * len(view)
    assert store.counters("host").copied_out >= 16 * MIB
    assert store.counters("host").used <= 16 * MIB
    for number, buffer in enumerate(buffers):
        with buffer.access() as access:
            assert sum(len(view) for view in access.views()) == buffer.size
            assert all(bytes(view) == bytes([number + 1]) * len(view) for view in access.views())
        assert buffer.tiers & {"host", "disk"}
    assert store.free_bytes(4 * MIB, "host") >= 4 * MIB
    for buffer in buffers:
        buffer.destroy()


def test_a_program_may_spill_by_itself(store):
    buffers = [store.create(4 * MIB) for _ in range(3)]
    for buffer in buffers:
        with buffer.access(mode="overwrite") as access:
            for view in access.views():
                view[:] = bytes(len(view))
    pressure = store.pressure("host", start=0.5, stop=0.25)
    assert pressure.should_spill and pressure.excess == 8 * MIB
    candidates = store.candidates(pressure.excess, "host")
    assert [one.buffer for one in candidates] == buffers[:2]
    assert buffers[0] != buffers[1] and len({one.buffer for one in candidates} | set(buffers)) == 3
    assert store.counters().used == 12 * MIB  # nothing has left
    assert [one.buffer.evict("host") for one in candidates] == [4 * MIB, 4 * MIB]
    assert buffers[0].tiers == {"disk"}
    assert not store.pressure("host", start=0.5, stop=0.25).should_spill
    assert [one.buffer for one in store.candidates(1 << 30, "host")] == buffers[2:]
    with pytest.raises(tidemark.OptionError):
        store.pressure("host", start=2)


def test_a_reservation_keeps_room(store):
    with store.reserve(12 * MIB) as reservation:
        with pytest.raises(tidemark.SpaceError):
            store.create(8 * MIB, patient=False)
        store.create(8 * MIB, reservation=reservation)
        assert store.counters().reserved == 4 * MIB
    assert store.counters().reserved == 0


def test_what_cannot_be_is_said(store):
    with pytest.raises(tidemark.OptionError, match="gpu"):
        store.create(MIB, "tape")
    with pytest.raises(tidemark.OptionError):
        store.create(MIB, "gpu")
    with pytest.raises(tidemark.Error):
        tidemark.Store(0)
    buffer = store.create(MIB)
    with buffer.access():
        with pytest.raises(tidemark.InputError):
            buffer.destroy()
    buffer.destroy()
    with pytest.raises(tidemark.NotFoundError):
        buffer.destroy()


def test_nothing_is_used_after_its_end(tmp_path):
    store = tidemark.Store(16 * MIB, tmp_path)
    buffer = store.create(4 * MIB)
    with buffer.access(mode="overwrite") as access:
        view = access.views()[0]
        store.close()
        store.close()
        view[0] = 7  # what is accessed outlives its store
        assert view[0] == 7
    with pytest.raises(ValueError, match="released"):
        view[0]
    with pytest.raises(tidemark.OptionError, match="released"):
        access.pieces()
    access.release()
    for use in (lambda: store.create(1), store.counters, buffer.destroy, lambda: buffer.tiers,
                lambda: store.free_bytes(1), lambda: buffer.prefetch("host"),
                lambda: buffer.hint(1), lambda: store.reserve(1).__enter__(),
                lambda: buffer.access().__enter__()):
        with pytest.raises(tidemark.OptionError, match="closed"):
            use()


def test_an_array_keeps_its_access(tmp_path):
    numpy = pytest.importorskip("numpy")
    with tidemark.Store(16 * MIB, tmp_path) as store:
        buffer = store.create(MIB)
        with buffer.access(mode="overwrite") as access:
            array = numpy.frombuffer(access.views()[0], "u1")
            array[:] = 9
        with pytest.raises(tidemark.InputError, match="in use"):
            buffer.destroy()
    assert (array == 9).all()
    del array
    with tidemark.Store(16 * MIB, tmp_path):
        pass  # nothing has the directory any more


def test_threads_may_use_what_another_closes(tmp_path):
    begun = threading.Barrier(5)

    def work(store):
        begun.wait()
        with pytest.raises(tidemark.OptionError, match="closed"):
            while True:
                with store.create(MIB).access(mode="overwrite") as access:
                    access.views()[0][0] = 1

    for _ in range(5):
        store = tidemark.Store(64 * MIB, tmp_path)
        threads = [threading.Thread(target=work, args=(store,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        begun.wait()
        store.close()
        for thread in threads:
            thread.join()


def test_a_store_that_is_full_says_what_holds_it(tmp_path):
    with tidemark.Store(8 * MIB, tmp_path, disk=4 * MIB) as store:
        with pytest.raises(tidemark.SpaceError) as caught:
            for _ in range(100):
                store.create(MIB)
        assert "host:0: 8.00 MiB of 8.00 MiB used" in str(caught.value)
        assert "disk:0: " in str(caught.value)
    with tidemark.Store(MIB) as store:
        store.create(MIB)
        with pytest.raises(tidemark.SpaceError, match="cannot leave"):
            store.create(MIB)


def test_waits_have_a_time_limit(store):
    buffer = store.create(16 * MIB)
    with buffer.access(mode="write"):
        calls = [lambda: store.create(MIB, timeout=0.01),
                 lambda: buffer.access(mode="write", timeout=0.01).__enter__(),
                 lambda: store.reserve(MIB, timeout=0).__enter__()]
        for call in calls:
            with pytest.raises(tidemark.CancelledError, match="1 open access"):
                call()
        with pytest.raises(tidemark.OptionError):
            store.create(MIB, timeout=-1)
    store.create(MIB, timeout=10)
    store.close(timeout=10)


@pytest.fixture
def gpu(tmp_path):
    with tidemark.Context("sim") as context:
        with tidemark.Store(64 * MIB, gpu=context, gpu_bytes=16 * MIB, victims="belady") as made:
            yield made


def test_the_program_says_what_is_used_next_and_what_stays(gpu):
    buffers = [gpu.create(4 * MIB, "gpu") for _ in range(4)]
    for uses, buffer in zip((2, 9, 0, None), buffers):
        with buffer.access("gpu", "overwrite"):
            pass
        buffer.next_use(uses)

    def leaves():
        return [buffers.index(one.buffer) for one in gpu.candidates(16 * MIB)]

    assert set(leaves()[:2]) == {1, 3}
    buffers[3].stays()
    assert 3 not in leaves() and buffers[3].evict() == 0
    buffers[3].stays(False)
    assert buffers[3].evict() == 4 * MIB


def test_memory_of_the_program_is_a_buffer_too(gpu):
    own = gpu.create(4 * MIB, "gpu", stays=True)
    with own.access("gpu", "pin") as access:
        (address, size), = access.pieces()
        before = gpu.counters("gpu").used
        buffer = gpu.adopt(address, size)
        assert gpu.counters("gpu").used == before and buffer.tiers == {"gpu"}
        with own.access("host", "read"):
            pass
        with buffer.access("host") as there:
            assert sum(size for _, size in there.pieces()) == 4 * MIB
        assert buffer.evict("gpu") == 0
        buffer.destroy()


def test_a_store_learns_from_its_past(tmp_path):
    with pytest.raises(tidemark.OptionError, match="prefetch"):
        tidemark.Store(MIB, prefetch="oracle")
    with tidemark.Context("sim") as context:
        with tidemark.Store(64 * MIB, gpu=context, gpu_bytes=16 * MIB, prefetch="learned",
                            victims="learned") as store:
            buffers = [store.create(4 * MIB, "gpu") for _ in range(6)]
            for _ in range(8):
                store.mark("step")
                for buffer in buffers:
                    with buffer.access("gpu", "write"):
                        pass
            assert store.counters("gpu").copied_in > 0
