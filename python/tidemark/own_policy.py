"""Policies written in Python, for trying ideas. Each request crosses from C to Python, which takes
a few microseconds, so they are hundreds of times slower than those of the library."""

from __future__ import annotations

import ctypes
import re
import threading
from typing import Any, Dict, Generic, List, Optional, Tuple, Type, TypeVar, Union

from tidemark import _library
from tidemark.errors import Error, OptionError, OutOfMemoryError

__all__ = ["OwnPolicy", "PolicyDevice", "PolicyFault", "Request", "policy"]

T = TypeVar("T")


class PolicyFault(Error):
    """A policy returned memory that it does not hold, or that is in use."""


class Request:
    """One request of a program.

    Attributes
    ----------
    size : int
        Bytes.
    alignment : int
        What the address must be a multiple of.
    stream : int
        A number; 0 is the default stream.
    pool : int
        0, or the private pool of a graph or of the program.
    """

    __slots__ = ("size", "alignment", "stream", "pool")

    def __init__(self, size: int, alignment: int, stream: int, pool: int) -> None:
        self.size, self.alignment, self.stream, self.pool = size, alignment, stream, pool

    def __repr__(self) -> str:
        return (f"Request(size={self.size}, alignment={self.alignment}, stream={self.stream}, "
                f"pool={self.pool})")


class PolicyDevice:
    """The device of one run, and the memory that the policy reserved from it."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def malloc(self, size: int) -> Optional[int]:
        """Reserves a segment of at least `size` bytes; returns its address, or None if the device
        has no room."""
        address = ctypes.c_uint64()
        try:
            _library.library().tm_policy_malloc(self._handle, size, ctypes.byref(address))
        except OutOfMemoryError:
            return None
        return address.value

    def free(self, address: int) -> None:
        """Releases a segment; none of its blocks may be in use."""
        _library.library().tm_policy_free(self._handle, address)

    def order(self, before: int, after: int) -> None:
        """Makes work queued on the stream `after` from now on wait for the work queued on `before`.
        A policy must call it before it reuses one stream's memory for another stream."""
        _library.library().tm_policy_order(self._handle, before, after)


class OwnPolicy(Generic[T]):
    """A class that `policy` registered. It can be given wherever a policy's name can:
    ``tidemark.replay(trace, FirstFit)``; str() of it is that name."""

    def __init__(self, kind: Type[T], name: str) -> None:
        self.kind = kind
        self.name = name
        self.__doc__ = kind.__doc__
        self._lock = threading.Lock()
        self._runs: Dict[int, T] = {}
        self._made = 0
        self._failure: Optional[BaseException] = None
        self._register()

    def __call__(self, *arguments: Any, **named: Any) -> T:
        return self.kind(*arguments, **named)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<policy {self.name}: {self.kind.__qualname__}>"

    def raise_failure(self) -> None:
        """Raises the first exception in its functions since the last call, if there was one."""
        with self._lock:
            failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _fail(self, failure: BaseException) -> None:
        with self._lock:
            self._failure = self._failure or failure

    def _register(self) -> None:
        summary = (self.kind.__doc__ or "").strip().partition("\n")[0]
        self._calls = _library.tm_policy(
            name=self.name.encode(), summary=summary.encode() or None,
            create=_library.POLICY_CREATE(self._create),
            destroy=_library.POLICY_DESTROY(self._destroy),
            allocate=_library.POLICY_ALLOCATE(self._allocate),
            deallocate=_library.POLICY_DEALLOCATE(self._deallocate),
            trim=_library.POLICY_TRIM(self._trim), fault=_library.POLICY_FAULT(self._fault))
        _library.library().tm_policy_register(ctypes.byref(self._calls))
        _KEPT.append(self)

    # The library calls these. Exceptions must not reach it: they are kept for the run's caller.

    def _create(self, _user: Optional[int], device: int) -> Optional[int]:
        try:
            made = self.kind(PolicyDevice(device))  # type: ignore[call-arg]
        except BaseException as failure:
            self._fail(failure)
            return None
        with self._lock:
            self._made += 1
            self._runs[self._made] = made
            return self._made

    def _destroy(self, run: int) -> None:
        with self._lock:
            del self._runs[run]

    def _allocate(self, run: int, size: int, alignment: int, stream: int, pool: int,
                  address: Any, granted: Any) -> int:
        try:
            answer: Union[None, int, Tuple[int, int]] = \
                self._runs[run].allocate(  # type: ignore[attr-defined]
                    Request(size, alignment, stream, pool))
            if answer is None:
                return 1
            address[0], granted[0] = answer if isinstance(answer, tuple) else (answer, size)
            return 0
        except BaseException as failure:
            self._fail(failure)
            return 1

    def _deallocate(self, run: int, address: int, size: int, stream: int) -> None:
        try:
            self._runs[run].deallocate(address, size, stream)  # type: ignore[attr-defined]
        except BaseException as failure:
            self._fail(failure)

    def _trim(self, run: int, wait: int) -> None:
        try:
            trim = getattr(self._runs[run], "trim", None)
            if trim is not None:
                trim(bool(wait))
        except BaseException as failure:
            self._fail(failure)

    def _fault(self, _run: int, what: bytes) -> None:
        self._fail(PolicyFault(_library.text(what), f"policy {self.name}"))


# The library keeps the functions of every policy that was ever registered.
_KEPT: List[OwnPolicy[Any]] = []


def policy(kind: Optional[Type[T]] = None, *, name: Optional[str] = None) -> Any:
    """Registers a class as a policy. It is a decorator.

    An object of the class is created with a `PolicyDevice` for each run. The class has

    - ``allocate(request) -> None | address | (address, size)``: None fails the request; `size` is
      how much memory the block takes, at least ``request.size`` (the default). The block must be in
      memory that ``device.malloc`` returned.
    - ``deallocate(address, size, stream)``: the stream is that of the request. Its work is ordered,
      and the library makes it wait for other streams that used the memory.
    - ``trim(wait)``, optional: releases unused memory.

    The policy's name is `name`, or the class's name in lower case with hyphens (FirstFit is
    first-fit). If it breaks the rules, the call that started the run raises a `PolicyFault`; an
    exception in its functions is raised by that call too.

    Examples
    --------
    >>> @tidemark.policy
    ... class OneEach:
    ...     '''A piece of device memory for each request.'''
    ...     def __init__(self, device):
    ...         self.device = device
    ...     def allocate(self, request):
    ...         return self.device.malloc(request.size)
    ...     def deallocate(self, address, size, stream):
    ...         self.device.free(address)
    >>> tidemark.replay("snapshot.pickle", OneEach)
    """
    def made_known(given: Type[T]) -> OwnPolicy[T]:
        for needed in ("allocate", "deallocate"):
            if not callable(getattr(given, needed, None)):
                raise OptionError(f"a policy needs {needed}()", given.__qualname__)
        own = name or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", given.__name__).lower()
        return OwnPolicy(given, own)

    return made_known if kind is None else made_known(kind)
