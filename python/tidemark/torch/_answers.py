"""Answers of `tidemark` as text for a terminal."""

from __future__ import annotations

import ctypes

from tidemark import _library


def advice(path: str) -> str:
    """Runs `tidemark advise PATH` and returns its output, or its messages if there is none."""
    library = _library.library()
    arguments = (ctypes.c_char_p * 2)(b"advise", path.encode())
    answer = ctypes.c_void_p()
    library.tm_run(arguments, len(arguments), None, ctypes.byref(answer))
    try:
        length = ctypes.c_size_t()
        begin = library.tm_answer_output(answer, ctypes.byref(length))
        output = ctypes.string_at(begin, length.value).decode("utf-8", "replace") if begin else ""
        return output or _library.text(library.tm_answer_notes(answer))
    finally:
        library.tm_answer_free(answer)
