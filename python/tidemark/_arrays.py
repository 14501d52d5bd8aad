"""Arrays of other libraries: their types, where their bytes are, and DLPack capsules that own what
they show."""

from __future__ import annotations

import ctypes
import dataclasses
import re
import threading
from ctypes import c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from typing import Any, Dict, Optional, Tuple

from tidemark.errors import OptionError

Shape = Tuple[int, ...]

CPU, CUDA = 1, 2  # DLDeviceType
_KINDS = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}  # DLDataTypeCode
_BFLOAT16 = "bfloat16"
_NAMES = {"bool": "|b1", "half": "<f2", "float": "<f4", "double": "<f8", "uint8": "|u1",
          "int8": "|i1"}


def typestr_of(dtype: Any) -> str:
    """The array interface's name of a type: "f4", "float32", a dtype of NumPy or of torch, ...
    The array interface has no bfloat16; its name here is "bfloat16"."""
    if isinstance(dtype, type):
        dtype = {"int": "int64", "float": "float64"}.get(dtype.__name__, dtype.__name__)
    text = getattr(dtype, "str", None) or str(dtype).replace("torch.", "")
    if text == _BFLOAT16:
        return str(text)
    text = _NAMES.get(text, text)
    named = re.fullmatch(r"(int|uint|float|complex)(\d+)", text)
    if named:
        text = f"<{named[1][0]}{int(named[2]) // 8}"
    short = re.fullmatch(r"[<|=]?([iufcb])(\d+)", text)
    if short is None:
        raise OptionError(f"{dtype!r} isn't a numeric type", "dtype",
                          'such as "float32" or "<f4"')
    return f"{'|' if short[2] == '1' else '<'}{short[1]}{short[2]}"


def item_size(typestr: str) -> int:
    """The bytes of one number."""
    return 2 if typestr == _BFLOAT16 else int(typestr[2:])


def count_of(shape: Shape) -> int:
    """How many numbers."""
    count = 1
    for extent in shape:
        count *= extent
    return count


@dataclasses.dataclass(frozen=True)
class Source:
    """Where an array's bytes are; `owner` keeps them there."""

    address: int
    shape: Shape
    typestr: str
    owner: Any


def source_of(array: Any) -> Source:
    """The source of an array of CuPy, Numba, torch or NumPy, or of anything with a buffer. It must
    be contiguous in C order."""
    on_device = getattr(array, "__cuda_array_interface__", None)
    if on_device is not None:
        _want_contiguous(on_device)
        return Source(int(on_device["data"][0]), tuple(on_device["shape"]),
                      typestr_of(on_device["typestr"]), array)
    if hasattr(array, "data_ptr"):  # torch, in the host's memory
        if not array.is_contiguous():
            raise OptionError("the array is not contiguous", "array", "give a contiguous copy")
        return Source(int(array.data_ptr()), tuple(array.shape), typestr_of(array.dtype), array)
    on_host = getattr(array, "__array_interface__", None)
    if on_host is not None:
        _want_contiguous(on_host)
        return Source(int(on_host["data"][0]), tuple(on_host["shape"]),
                      typestr_of(on_host["typestr"]), array)
    view = memoryview(array).cast("B")
    bytes_of = (c_uint8 * len(view)).from_buffer_copy(view)
    return Source(ctypes.addressof(bytes_of), (len(view),), "|u1", bytes_of)


def _want_contiguous(interface: Dict[str, Any]) -> None:
    strides = interface.get("strides")
    step = int(re.sub(r"\D", "", str(interface["typestr"])))
    for extent, stride in zip(reversed(interface["shape"]), reversed(strides or ())):
        if extent > 1 and stride != step:
            raise OptionError("the array is not contiguous", "array", "give a contiguous copy")
        step *= extent


# DLPack, version 0 of its interface.


class _Device(ctypes.Structure):
    _fields_ = [("kind", c_int32), ("index", c_int32)]


class _Type(ctypes.Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("device", _Device), ("ndim", c_int32), ("dtype", _Type),
                ("shape", ctypes.POINTER(c_int64)), ("strides", ctypes.POINTER(c_int64)),
                ("byte_offset", c_uint64)]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", c_void_p), ("deleter", c_void_p)]


@dataclasses.dataclass
class _Export:
    managed: _Managed
    shape: Any
    owner: Any


_exports: Dict[int, _Export] = {}  # by the addresses of their structs
_exports_lock = threading.Lock()


def _end(address: Optional[int]) -> None:
    if address and _exports_lock is not None:  # the module may be gone
        with _exports_lock:
            export = _exports.pop(address, None)
        del export  # outside the lock: deleting its owner may run any code


def _end_capsule(capsule: int) -> None:
    # Nobody consumed it: a consumer renames the capsule and calls the deleter itself.
    if _is_valid(capsule, _NAME):
        _end(_pointer(capsule, _NAME))


_NAME = b"dltensor"
_DELETER = ctypes.CFUNCTYPE(None, c_void_p)(_end)
_END_CAPSULE = ctypes.PYFUNCTYPE(None, c_void_p)(_end_capsule)
_new = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, ctypes.c_char_p, c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi))
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi))
_pointer = ctypes.PYFUNCTYPE(c_void_p, c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))


def capsule_of(source: Source, device: Tuple[int, int]) -> Any:
    """Returns a DLPack capsule, which keeps `source.owner` until its consumer releases it."""
    typestr = source.typestr
    code, bits = (4, 16) if typestr == _BFLOAT16 else (_KINDS[typestr[1]], 8 * int(typestr[2:]))
    shape = (c_int64 * max(1, len(source.shape)))(*source.shape)
    tensor = _Tensor(source.address, _Device(*device), len(source.shape), _Type(code, bits, 1),
                     shape, None, 0)
    managed = _Managed(tensor, None, ctypes.cast(_DELETER, c_void_p))
    address = ctypes.addressof(managed)
    with _exports_lock:
        _exports[address] = _Export(managed, shape, source.owner)
    return _new(address, _NAME, ctypes.cast(_END_CAPSULE, c_void_p))
