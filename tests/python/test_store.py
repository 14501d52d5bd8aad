"""Buffers in host memory and files."""

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
