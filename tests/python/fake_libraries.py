"""CuPy, Numba, RMM and cuda.core that aren't there: what Tidemark touches of them."""

import contextlib
import sys
import types
import weakref

import pytest

from tidemark import _pools

GIB = 1 << 30


@pytest.fixture
def pools(monkeypatch):
    """The registry as in a new process, on a simulated device."""
    monkeypatch.setattr(_pools, "_contexts", {})
    monkeypatch.setattr(_pools, "_clients", {})
    monkeypatch.setattr(_pools, "_plan", {"policy": None, "machine": "sim:h200", "memory": GIB})
    monkeypatch.setattr(_pools, "_chosen", False)
    return _pools


def module(monkeypatch, name, **content):
    made = types.ModuleType(name)
    vars(made).update(content)
    monkeypatch.setitem(sys.modules, name, made)
    return made


class CudaStream:
    def __init__(self, number):
        self.ptr = number

    def __cuda_stream__(self):
        return (0, self.ptr)


class CupyOutOfMemory(MemoryError):
    pass


@pytest.fixture
def cupy(monkeypatch):
    class UnownedMemory:
        def __init__(self, ptr, size, owner, device_id=-1):
            self.ptr, self.size, self.owner, self.device_id = ptr, size, owner, device_id

    class MemoryPointer:
        def __init__(self, mem, offset):
            self.mem, self.ptr = mem, mem.ptr + offset

    cuda = types.SimpleNamespace(
        UnownedMemory=UnownedMemory, MemoryPointer=MemoryPointer, current=CudaStream(7),
        memory=types.SimpleNamespace(OutOfMemoryError=CupyOutOfMemory),
        runtime=types.SimpleNamespace(getDevice=lambda: 0), MemoryPool=lambda malloc: malloc)
    cuda.get_current_stream = lambda: cuda.current
    cuda.set_allocator = lambda function: setattr(cuda, "allocator", function)
    return module(monkeypatch, "cupy", cuda=cuda)


class CudaAPIError(Exception):
    def __init__(self, code, text):
        super().__init__(code, text)
        self.code = code


class HostOnly:
    def __init__(self, *, context):
        self.context = context
        self.allocations = {}
        self.deallocations = types.SimpleNamespace(memory_capacity=0, clear=lambda: None)

    def reset(self):
        self.allocations.clear()

    @contextlib.contextmanager
    def defer_cleanup(self):
        yield


class IpcMixin:
    def get_ipc_handle(self, memory):
        return "handle"


class NumbaPointer:
    def __init__(self, context, pointer, size, finalizer):
        self.handle, self.size = pointer, size
        self.context = context
        self.finalizer = weakref.finalize(self, finalizer)


class NumbaContext:
    device = types.SimpleNamespace(id=0)


@pytest.fixture
def numba(monkeypatch):
    from tidemark import numba as adapter

    monkeypatch.setattr(adapter, "_plugin", None)
    driver = module(monkeypatch, "numba.cuda.cudadrv.driver", GetIpcHandleMixin=IpcMixin,
                    CudaAPIError=CudaAPIError, binding=types.SimpleNamespace(CUdeviceptr=int),
                    driver=types.SimpleNamespace(cuCtxGetDevice=lambda: 0))
    cuda = module(monkeypatch, "numba.cuda", HostOnlyCUDAMemoryManager=HostOnly,
                  MemoryPointer=NumbaPointer, MemoryInfo=types.SimpleNamespace)
    cuda.set_memory_manager = lambda kind: setattr(cuda, "installed", kind)
    module(monkeypatch, "numba.cuda.cudadrv", driver=driver)
    return module(monkeypatch, "numba", cuda=cuda)


@pytest.fixture
def rmm(monkeypatch):
    mr = module(monkeypatch, "rmm.mr", current={},
                CallbackMemoryResource=lambda alloc, free: types.SimpleNamespace(
                    allocate=alloc, deallocate=free))
    mr.set_per_device_resource = mr.current.__setitem__
    return module(monkeypatch, "rmm", mr=mr)


@pytest.fixture
def cuda_core(monkeypatch):
    from tidemark import cuda_core as adapter

    class Buffer:
        @classmethod
        def from_handle(cls, ptr, size, mr, stream=None):
            made = cls()
            made.handle, made.size, made.mr, made.stream = ptr, size, mr, stream
            return made

        def close(self):
            self.mr.deallocate(self.handle, self.size, stream=self.stream)

    monkeypatch.setattr(adapter, "_kind", None)
    core = module(monkeypatch, "cuda.core", Buffer=Buffer, MemoryResource=object)
    module(monkeypatch, "cuda", core=core)
    return core
