"""A book of cuDNN's workspaces, measured on a GPU, for machines without one."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from typing import Any, Dict

from tidemark import _outputs
from tidemark.errors import OptionError


@dataclasses.dataclass
class Book:
    """Workspaces in bytes, by plan and by convolution (backends/imagined/dnn_book.h)."""

    card: str = ""
    cudnn: int = 0
    plans: Dict[str, int] = dataclasses.field(default_factory=dict)
    convolutions: Dict[str, int] = dataclasses.field(default_factory=dict)

    def for_run(self) -> Dict[str, Dict[str, int]]:
        return {"plans": self.plans, "convolutions": self.convolutions}


def load(path: str) -> Book:
    """Loads a book. Raises OptionError if the file isn't one."""
    try:
        found = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        book = Book(**found)
        sizes = [*book.plans.values(), *book.convolutions.values(), book.cudnn]
        if not isinstance(book.card, str) or \
                not all(isinstance(size, int) and size >= 0 for size in sizes):
            raise TypeError("other types")
    except OSError as failure:
        raise OptionError(failure.strerror or str(failure), path) from failure
    except (ValueError, TypeError, AttributeError) as failure:
        raise OptionError("is not a book of workspaces that --measure wrote", path) from failure
    return book


def for_card(path: str, card: Dict[str, Any]) -> Book:
    """Loads a book. Raises OptionError if it was measured on another card."""
    book = load(path)
    if book.card != card["name"]:
        raise OptionError(f"measured on one {book.card}, not on one {card['name']}", path)
    return book


def write(book: Book, path: str) -> None:
    """Writes the file completely or not at all."""
    with _outputs.whole_file(path, _outputs.OTHER, overwrite=True) as name, \
            open(name, "w", encoding="utf-8") as file:
        json.dump(dataclasses.asdict(book), file, indent=0, sort_keys=True)
