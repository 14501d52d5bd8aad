"""Shared libraries (ELF, 64 bits): what one needs, and writing one that only forwards calls.

A library that forwards has no code of its own but a jump for each function, so no compiler is
needed to make it: the loader fills in where the jumps lead to.
"""

from __future__ import annotations

import dataclasses
import mmap
import pathlib
import struct
from typing import Dict, Iterator, List, Optional, Sequence, Tuple

MAGIC = b"\x7fELF\x02\x01\x01"  # 64 bits, little endian
X86_64 = 62
PAGE = 0x1000

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_DYNAMIC = struct.Struct("<qQ")
_RELOCATION = struct.Struct("<QQq")
_PROGRAM = struct.Struct("<IIQQQQQQ")

# Kinds of sections, tags of the dynamic section, and other constants from elf.h.
SHT_PROGBITS, SHT_STRTAB, SHT_DYNAMIC, SHT_DYNSYM = 1, 3, 6, 11
SHT_VERDEF, SHT_VERNEED, SHT_VERSYM = 0x6FFFFFFD, 0x6FFFFFFE, 0x6FFFFFFF
DT_NEEDED, DT_HASH, DT_STRTAB, DT_SYMTAB, DT_RELA, DT_RELASZ, DT_RELAENT = 1, 4, 5, 6, 7, 8, 9
DT_STRSZ, DT_SYMENT, DT_SONAME = 10, 11, 14
DT_VERSYM, DT_VERDEF, DT_VERDEFNUM = 0x6FFFFFF0, 0x6FFFFFFC, 0x6FFFFFFD
R_X86_64_64, R_X86_64_RELATIVE = 1, 8
GLOBAL_FUNCTION, GLOBAL_UNKNOWN, GLOBAL_OBJECT = 0x12, 0x10, 0x11
TEXT = 6  # the section of our own code: see SECTIONS
CALLS = "tidemark_calls"


@dataclasses.dataclass
class Symbol:
    name: str
    defined: bool
    library: Optional[str] = None  # where it must come from, if its version says so
    version: Optional[str] = None


@dataclasses.dataclass
class Library:
    """The libraries and symbols that a shared library needs."""

    path: pathlib.Path
    needed: List[str]
    symbols: List[Symbol]


class NoLibrary(Exception):
    """A file that isn't a shared library for this machine."""


def _text(image: "mmap.mmap", at: int) -> str:
    return image[at:image.find(b"\0", at)].decode("latin-1")


def _sections(image: "mmap.mmap") -> List[Tuple[int, int, int, int]]:
    """(kind, offset, size, linked section) of each section."""
    if image[:7] != MAGIC or struct.unpack_from("<H", image, 18)[0] != X86_64:
        raise NoLibrary
    begin, = struct.unpack_from("<Q", image, 40)
    _, count = struct.unpack_from("<HH", image, 58)
    found = []
    for index in range(count):
        _, kind, _, _, where, size, link, _, _, _ = _SECTION.unpack_from(image, begin + 64 * index)
        found.append((kind, where, size, link))
    return found


def _needed_versions(image: "mmap.mmap", where: int, strings: int) -> Dict[int, Tuple[str, str]]:
    """Maps the index of a version to (library, version)."""
    found = {}
    while True:
        _, count, file, first, following = struct.unpack_from("<HHIII", image, where)
        entry = where + first
        for _ in range(count):
            _, _, index, name, further = struct.unpack_from("<IHHII", image, entry)
            found[index] = (_text(image, strings + file), _text(image, strings + name))
            entry += further
        if not following:
            return found
        where += following


def needed_libraries(path: pathlib.Path) -> List[str]:
    """The names of the libraries that `path` needs. Raises NoLibrary."""
    return read_library(path, symbols=False).needed


def read_library(path: pathlib.Path, symbols: bool = True) -> Library:
    """Reads a shared library. Raises NoLibrary if the file isn't one, or is damaged."""
    try:
        with open(path, "rb") as file:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as image:
                return _read(path, image, symbols)
    except (ValueError, struct.error, IndexError, OSError) as failure:
        raise NoLibrary(str(failure)) from failure


def _read(path: pathlib.Path, image: "mmap.mmap", symbols: bool) -> Library:
    sections = _sections(image)
    library = Library(path, [], [])
    versions: Dict[int, Tuple[str, str]] = {}
    indices: Sequence[int] = ()
    for kind, where, size, link in sections:
        if kind == SHT_DYNAMIC:
            strings = sections[link][1]
            library.needed = [_text(image, strings + value) for tag, value in
                              _DYNAMIC.iter_unpack(image[where:where + size]) if tag == DT_NEEDED]
        elif kind == SHT_VERNEED and symbols:
            versions = _needed_versions(image, where, sections[link][1])
        elif kind == SHT_VERSYM and symbols:
            indices = struct.unpack(f"<{size // 2}H", image[where:where + size])
    if symbols:
        for kind, where, size, link in sections:
            if kind == SHT_DYNSYM:
                library.symbols = list(_symbols(image, where, size, sections[link][1], indices,
                                                versions))
    return library


def _symbols(image: "mmap.mmap", where: int, size: int, strings: int, indices: Sequence[int],
             versions: Dict[int, Tuple[str, str]]) -> Iterator[Symbol]:
    for index, (name, _, _, section, _, _) in enumerate(
            _SYMBOL.iter_unpack(image[where:where + size])):
        if name:
            library, version = versions.get(indices[index] & 0x7FFF, (None, None)) \
                if indices else (None, None)
            yield Symbol(_text(image, strings + name), section != 0, library, version)


def hash_of(name: str) -> int:
    """ELF's own hash of a symbol's or a version's name."""
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ (high >> 24)) & ~high
    return value & 0xFFFFFFFF


class _Strings:
    def __init__(self) -> None:
        self.bytes = bytearray(b"\0")
        self._known = {"": 0}

    def add(self, text: str) -> int:
        if text not in self._known:
            self._known[text] = len(self.bytes)
            self.bytes += text.encode() + b"\0"
        return self._known[text]


def _hash_table(names: Sequence[str]) -> bytes:
    """DT_HASH of all symbols; names[0] is the null symbol."""
    buckets = [0] * max(1, len(names) // 2)
    chains = [0] * len(names)
    for index, name in enumerate(names[1:], 1):
        bucket = hash_of(name) % len(buckets)
        chains[index], buckets[bucket] = buckets[bucket], index
    return struct.pack(f"<II{len(buckets)}I{len(chains)}I", len(buckets), len(chains), *buckets,
                       *chains)


def _version_definitions(soname: str, versions: Sequence[str], strings: _Strings) -> bytes:
    """DT_VERDEF: the library's own name, and then each version."""
    parts = []
    names = [soname, *versions]
    for index, name in enumerate(names, 1):
        following = 28 if index < len(names) else 0
        parts.append(struct.pack("<HHHHIII", 1, int(index == 1), index, 1, hash_of(name), 20,
                                 following))
        parts.append(struct.pack("<II", strings.add(name), 0))
    return b"".join(parts)


def _aligned(size: int, to: int = 16) -> int:
    return (size + to - 1) // to * to


SECTIONS = (".dynsym", ".dynstr", ".gnu.version", ".gnu.version_d", ".dynamic", ".text",
            ".shstrtab")


def _section_table(layout: Dict[str, int], end: int, symbols: int, strings: int, definitions: int,
                   versions: int, code: int) -> bytes:
    """Names of sections, and the sections, for a file of `end` bytes."""
    names = b"\0" + b"\0".join(name.encode() for name in SECTIONS) + b"\0"
    kinds = (  # kind, flags, where, size, linked to, info, size of an entry
        (SHT_DYNSYM, 2, layout["symbols"], 24 * symbols, 2, 1, 24),
        (SHT_STRTAB, 2, layout["strings"], strings, 0, 0, 0),
        (SHT_VERSYM, 2, layout["versions"], 2 * symbols, 1, 0, 2),
        (SHT_VERDEF, 2, layout["definitions"], definitions, 2, versions, 0),
        (SHT_DYNAMIC, 3, layout["dynamic"], 16 * 16, 2, 0, 16),
        (SHT_PROGBITS, 6, layout["code"], code, 0, 0, 0),
        (SHT_STRTAB, 0, end, len(names), 0, 0, 0))
    table = [bytes(64)]
    for name, (kind, flags, where, size, link, info, entry) in zip(SECTIONS, kinds):
        table.append(_SECTION.pack(names.index(b"\0" + name.encode() + b"\0") + 1, kind, flags,
                                   where if flags else 0, where, size, link, info, 1, entry))
    return names.ljust(_aligned(len(names)), b"\0") + b"".join(table)


def forwarding_library(soname: str, needed: str, functions: Dict[str, Tuple[Optional[str], str]],
                       otherwise: str) -> bytes:
    """Returns a library `soname` whose functions jump into the library `needed`.

    `functions` maps a name to its version and the function that it jumps to. Each function counts
    its calls in a record: its name and a number of 8 bytes. The records start at the symbol CALLS
    and end with a record of zeros. A function whose target is `otherwise` passes the address of its
    record before its own first argument.
    """
    names = sorted(functions)
    targets = sorted({target for _, target in functions.values()})
    versions = sorted({version for version, _ in functions.values() if version})
    strings = _Strings()
    definitions = _version_definitions(soname, versions, strings)
    of_version = {version: index for index, version in enumerate(versions, 2)}
    dynamic_strings = (strings.add(soname), strings.add(needed))
    symbol_names = ["", *targets, *names, CALLS]
    offsets = [strings.add(name) for name in symbol_names]

    # The first segment: tables and code; the second: what the loader writes to.
    jump = 32
    layout = {}
    at = 64 + 56 * 4
    for part, size in (("symbols", 24 * len(symbol_names)), ("strings", len(strings.bytes)),
                       ("hash", len(_hash_table(symbol_names))),
                       ("versions", 2 * len(symbol_names)), ("definitions", len(definitions)),
                       ("relocations", 24 * (len(targets) + len(names))),
                       ("code", jump * len(names))):
        layout[part] = at = _aligned(at)
        at += size
    layout["dynamic"] = data = _aligned(at, PAGE)
    layout["slots"] = slots = data + 16 * 16
    layout["records"] = records = slots + 8 * len(targets)
    end = records + 16 * (len(names) + 1)

    image = bytearray(end)

    def put(part: str, content: bytes) -> None:
        image[layout[part]:layout[part] + len(content)] = content

    slot_of = {target: slots + 8 * index for index, target in enumerate(targets)}
    relocations = [_RELOCATION.pack(slot_of[target], (index << 32) | R_X86_64_64, 0)
                   for index, target in enumerate(targets, 1)]
    code = bytearray()
    symbols = [_SYMBOL.pack(0, 0, 0, 0, 0, 0)]
    symbols += [_SYMBOL.pack(offsets[index], GLOBAL_UNKNOWN, 0, 0, 0, 0)
                for index in range(1, len(targets) + 1)]
    for index, name in enumerate(names):
        version, target = functions[name]
        here = layout["code"] + jump * index
        record = records + 16 * index
        symbols.append(_SYMBOL.pack(offsets[1 + len(targets) + index], GLOBAL_FUNCTION, 0, TEXT,
                                    here, jump))
        relocations.append(_RELOCATION.pack(
            record, R_X86_64_RELATIVE, layout["strings"] + offsets[1 + len(targets) + index]))
        # lock incq record+8(%rip)
        instructions = b"\xf0\x48\xff\x05" + struct.pack("<i", record + 8 - here - 8)
        if target == otherwise:
            # mov %rdi, %rsi; lea record(%rip), %rdi
            instructions += b"\x48\x89\xfe" + b"\x48\x8d\x3d" + struct.pack(
                "<i", record - here - len(instructions) - 10)
        # jmp *slot(%rip)
        instructions += b"\xff\x25" + struct.pack(
            "<i", slot_of[target] - here - len(instructions) - 6)
        code += instructions.ljust(jump, b"\xcc")
    symbols.append(_SYMBOL.pack(offsets[-1], GLOBAL_OBJECT, 0, TEXT, records, 16 * len(names)))

    put("symbols", b"".join(symbols))
    put("strings", bytes(strings.bytes))
    put("hash", _hash_table(symbol_names))
    versions_of = [of_version.get(functions[name][0] or "", 1) for name in names]
    put("versions", struct.pack(f"<{len(symbol_names)}H", 0, *[1] * len(targets), *versions_of, 1))
    put("definitions", definitions)
    put("relocations", b"".join(relocations))
    put("code", bytes(code))
    put("dynamic", b"".join(_DYNAMIC.pack(tag, value) for tag, value in (
        (DT_SONAME, dynamic_strings[0]), (DT_NEEDED, dynamic_strings[1]),
        (DT_HASH, layout["hash"]), (DT_STRTAB, layout["strings"]), (DT_SYMTAB, layout["symbols"]),
        (DT_STRSZ, len(strings.bytes)), (DT_SYMENT, 24), (DT_RELA, layout["relocations"]),
        (DT_RELASZ, 24 * len(relocations)), (DT_RELAENT, 24), (DT_VERSYM, layout["versions"]),
        (DT_VERDEF, layout["definitions"]), (DT_VERDEFNUM, 1 + len(versions)), (0, 0))))

    # The loader needs no sections; compilers that link with the library do.
    image += _section_table(layout, len(image), len(symbol_names), len(strings.bytes),
                            len(definitions), 1 + len(versions), jump * len(names))
    sections = len(SECTIONS) + 1

    read_execute, read_write = 5, 6
    programs = [(1, read_execute, 0, at, PAGE), (1, read_write, data, end - data, PAGE),
                (2, read_write, data, 16 * 16, 8), (0x6474E551, read_write, 0, 0, 16)]
    image[:64] = MAGIC.ljust(16, b"\0") + struct.pack(
        "<HHIQQQIHHHHHH", 3, X86_64, 1, 0, 64, len(image) - 64 * sections, 0, 64, 56,
        len(programs), 64, sections, sections - 1)
    for index, (kind, flags, begin, size, alignment) in enumerate(programs):
        _PROGRAM.pack_into(image, 64 + 56 * index, kind, flags, begin, begin, begin, size, size,
                           alignment)
    return bytes(image)
