"""Pictures of recordings, which tidemark-view draws without a display."""

from __future__ import annotations

import os
import pathlib
from typing import Any, Optional, Sequence, Tuple, Union

from tidemark import _outputs
from tidemark.answers import Source, _loading, _path_of, _option_arguments
from tidemark.errors import CancelledError, Error, InputError, OptionError, UnsupportedError
from tidemark.programs import program

__all__ = ["Picture", "picture"]


# The meaning of the program's exit codes if it drew nothing.
FAILURES = {2: OptionError, 3: InputError, 5: UnsupportedError, 130: CancelledError}


class Picture:
    """A PNG image, which a notebook displays.

    Attributes
    ----------
    png : bytes
        The content of the PNG file.
    """

    def __init__(self, png: bytes) -> None:
        self.png = png

    @property
    def size(self) -> Tuple[int, int]:
        """Width and height in pixels."""
        return (int.from_bytes(self.png[16:20], "big"), int.from_bytes(self.png[20:24], "big"))

    def save(self, path: Union[str, "os.PathLike[str]"], overwrite: bool = False) -> None:
        """Writes the file, whole or not at all. It replaces an existing picture of ours; any other
        file only with `overwrite` (otherwise it raises OptionError)."""
        with _outputs.whole_file(path, _outputs.PICTURE, overwrite) as partial:
            pathlib.Path(partial).write_bytes(self.png)

    def __bytes__(self) -> bytes:
        return self.png

    def _repr_png_(self) -> bytes:
        return self.png

    def __repr__(self) -> str:
        return "<tidemark.Picture {} x {}>".format(*self.size)


def picture(*traces: Source, view: Union[str, Sequence[str]] = (), goto: Optional[str] = None,
            find: Optional[str] = None, policies: Sequence[str] = (),
            size: Tuple[int, int] = (1600, 900), scale: Optional[float] = None,
            theme: str = "light", **options: Any) -> Picture:
    """Draws what `tidemark view` shows, and returns the Picture.

    Parameters
    ----------
    view : str or list of str
        "timeline", "address-map", "stacks", ...: see `tidemark-view --help`.
    goto : str
        "peak", "oom", "1.25s", "event=81".
    size : (int, int)
        Width and height in pixels.
    **options
        Options of `tidemark-view`, with underscores: memory="80GiB", gpu_memory="60%".
    """
    import subprocess
    import tempfile

    views = [view] if isinstance(view, str) else list(view)
    with tempfile.TemporaryDirectory(prefix="tidemark-") as folder:
        png = os.path.join(folder, "picture.png")
        command = [program("tidemark-view"), *(_path_of(trace) for trace in traces),
                   *_loading("view", traces),
                   *_option_arguments("view", {"view": views, "goto": goto, "find": find,
                                    "policies": list(policies), "size": f"{size[0]}x{size[1]}",
                                    "scale": scale, "theme": theme, "png": png, **options})]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, check=False)
        if not os.path.exists(png):
            said = done.stderr.decode("utf-8", "replace").strip()
            raise FAILURES.get(done.returncode, Error)(said or "it drew nothing", "tidemark-view")
        return Picture(pathlib.Path(png).read_bytes())
