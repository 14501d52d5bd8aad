"""What only a GPU shows: real memory, other processes, and buffers that leave it. Skipped without
one."""

import ctypes
import subprocess
import sys

import pytest

import tidemark

MIB = 1 << 20


class Driver:
    """The calls of the CUDA driver that look at content, in the device's primary context."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        assert self.cuda.cuInit(0) == 0
        device, context = ctypes.c_int(), ctypes.c_void_p()
        assert self.cuda.cuDeviceGet(ctypes.byref(device), 0) == 0
        assert self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
        assert self.cuda.cuCtxSetCurrent(context) == 0

    def fill(self, address, value, size):
        assert self.cuda.cuMemsetD8_v2(ctypes.c_uint64(address), ctypes.c_ubyte(value),
                                       ctypes.c_size_t(size)) == 0
        assert self.cuda.cuCtxSynchronize() == 0

    def read(self, address, size):
        content = (ctypes.c_ubyte * size)()
        assert self.cuda.cuMemcpyDtoH_v2(content, ctypes.c_uint64(address),
                                         ctypes.c_size_t(size)) == 0
        return bytes(content)


@pytest.fixture
def driver():
    try:
        tidemark.Context("cuda:0").close()
    except (tidemark.Error, OSError) as error:
        pytest.skip(f"no GPU: {error}")
    return Driver()


@pytest.mark.parametrize("policy", ["torch", "torch:expandable_segments=true", "extent", "vpmm",
                                    "best-fit"])
def test_memory_is_real_under_every_policy(driver, policy):
    with tidemark.Context("cuda:0", policy) as context:
        held = []
        for number in range(50):
            size = 512 * (1 + number * number)
            address = context.alloc(size, stream=0)
            driver.fill(address, number, size)
            held.append((address, number, size))
        for address, number, size in held:
            assert driver.read(address, size) == bytes([number]) * size
            context.free(address, size, stream=0)
        figures = context.statistics()
        assert figures.live == 0
        assert figures.device_total > 10**9
        context.trim()


def test_the_default_is_the_gpu_and_its_best_pool(driver):
    with tidemark.Context() as context:
        assert context.machine == "cuda:0"
        assert context.policy == "extent"


def test_a_stream_that_nobody_knows(driver):
    with tidemark.Context("cuda:0", "torch") as context:
        for _ in range(2000):
            context.free(context.alloc(MIB, stream=tidemark.STREAM_UNKNOWN),
                         stream=tidemark.STREAM_UNKNOWN)
        figures = context.statistics()
        assert figures.live == 0
        assert figures.reserved < 2000 * MIB


CHILD = """
import sys, tidemark
sys.path.insert(0, {folder!r})
from test_gpu import Driver
driver = Driver()
with tidemark.Context("cuda:0", "torch") as context:
    handle = tidemark.IpcHandle({offset}, bytes.fromhex({raw!r}))
    address = context.open_ipc(handle)
    print(driver.read(address, 1000).hex())
    context.close_ipc(address)
"""


def test_another_process_reads_what_was_exported(driver):
    with tidemark.Context("cuda:0", "torch") as context:
        context.alloc(4096)
        address = context.alloc(1000)
        driver.fill(address, 0x5a, 1000)
        handle = context.export(address)
        child = CHILD.format(folder=__file__.rpartition("/")[0], raw=handle.handle.hex(),
                             offset=handle.offset)
        done = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True,
                              check=False)
        assert done.stdout.strip() == "5a" * 1000, done.stderr


def test_buffers_leave_the_gpu_and_come_back_whole(driver, tmp_path):
    with tidemark.Context("cuda:0") as context:
        with tidemark.Store(64 * MIB, tmp_path, gpu=context, gpu_bytes=64 * MIB) as store:
            buffers = [store.create(16 * MIB, "gpu") for _ in range(10)]
            for number, buffer in enumerate(buffers):
                with buffer.access("gpu", "overwrite") as access:
                    for address, size in access.pieces():
                        driver.fill(address, number + 1, size)
            for number, buffer in enumerate(buffers):
                with buffer.access("gpu") as access:
                    (address, size), = access.pieces()
                    assert driver.read(address, buffer.size) == bytes([number + 1]) * buffer.size
            assert store.counters("gpu").copied_out >= 96 * MIB
            assert store.counters("disk").used > 0
            for buffer in buffers:
                buffer.destroy()
