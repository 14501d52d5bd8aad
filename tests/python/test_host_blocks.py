"""Blocks of host memory."""

import pytest

import tidemark

MIB = 1 << 20


def test_runs_are_blocks_that_go_back():
    with tidemark.HostBlocks(8 * MIB, blocks_per_pool=2) as blocks:
        assert blocks.usage().pools == 0
        with blocks.alloc(3 * MIB - 5) as run:
            assert [size for _, size in run.pieces()] == [MIB] * 3
            for number, view in enumerate(run.views()):
                view[:] = bytes([number]) * MIB
            assert [view[5] for view in run.views()] == [0, 1, 2]
            usage = blocks.usage()
            assert (usage.used, usage.free, usage.pools, usage.block) == (3, 1, 2, MIB)
        assert blocks.usage().used == 0 and blocks.usage().peak == 3
        with pytest.raises(tidemark.OptionError, match="freed"):
            run.pieces()
        assert blocks.trim(keep=2 * MIB) == 2 * MIB and blocks.trim() == 2 * MIB


def test_all_blocks_or_none():
    blocks = tidemark.HostBlocks(4 * MIB)
    run = blocks.alloc(3 * MIB)
    with pytest.raises(tidemark.SpaceError, match="capacity"):
        blocks.alloc(2 * MIB)
    assert blocks.usage().refused == 1
    run.trim(MIB + 1)
    assert len(run.pieces()) == 2
    blocks.alloc(2 * MIB).free()
    view = run.views()[0]
    blocks.close()
    view[:] = b"7" * MIB  # the run keeps its memory
    run.free()
    run.free()
    with pytest.raises(tidemark.OptionError, match="closed"):
        blocks.alloc(1)
    for wrong in ({"capacity": 0}, {"capacity": MIB, "block": 1 << 63}):
        with pytest.raises(tidemark.OptionError):
            tidemark.HostBlocks(**wrong)


def test_blocks_of_a_simulated_gpu_are_plain_memory():
    with tidemark.Context("sim") as context:
        with tidemark.HostBlocks(MIB, gpu=context, block=4096).alloc(8192) as run:
            assert len(run.pieces()) == 2
