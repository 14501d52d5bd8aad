"""The viewer in a notebook cell or any browser: `tidemark view --serve` as a child process."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any, List, Optional, Sequence, Union

from tidemark import _viewer_cell
from tidemark.answers import Source, _loading, _option_arguments, _path_of
from tidemark.errors import Error
from tidemark.pictures import FAILURES
from tidemark.programs import program

if TYPE_CHECKING:
    import subprocess

__all__ = ["Viewer", "view"]

SECONDS_TO_END = 10  # before it is killed


class Viewer:
    """A viewer that is being served, which a notebook displays. A `with` block ends it.

    It ends with `close()`, with this object, or with this process.

    Attributes
    ----------
    url : str
        Its address for a browser; anybody who has it can use the viewer.
    height : int
        Height of the notebook cell in pixels.
    """

    def __init__(self, child: "subprocess.Popen[bytes]", url: str, height: int,
                 is_everywhere: bool = False) -> None:
        self._child = child
        self.url = url
        self.height = height
        self._is_everywhere = is_everywhere  # whether the url works from everywhere

    @property
    def alive(self) -> bool:
        """Whether it is still being served."""
        return self._child.poll() is None

    def close(self) -> None:
        """Ends the viewer; its page then says that it has ended."""
        import subprocess

        if self._child.stdin is not None:
            self._child.stdin.close()
        try:
            self._child.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()

    def __enter__(self) -> "Viewer":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def _repr_html_(self) -> str:
        shown = _viewer_cell.frame if self._is_everywhere else _viewer_cell.cell
        return shown(self.url, self.height)

    def __repr__(self) -> str:
        return f"<tidemark.Viewer {self.url}>" if self.alive else "<tidemark.Viewer, ended>"


def _link(child: "subprocess.Popen[bytes]", errors: IO[bytes]) -> str:
    """The link that the child prints first; if it prints none, raises its error."""
    assert child.stdout is not None
    with child.stdout as output:
        link = output.readline().decode().strip()
    if link:
        return link
    code = child.wait()
    errors.seek(0)
    said = errors.read().decode("utf-8", "replace").strip()
    if child.stdin is not None:
        child.stdin.close()
    raise FAILURES.get(code, Error)(said or "it didn't start", "tidemark-view")


def view(*traces: Source, attach: Union[str, Sequence[str]] = (),
         view: Union[str, Sequence[str]] = (), goto: Optional[str] = None,
         find: Optional[str] = None, policies: Sequence[str] = (), theme: str = "light",
         height: int = 720, port: int = 0, through: Optional[str] = None,
         **options: Any) -> Viewer:
    """Serves what `tidemark view` shows, for a notebook cell or a browser. Returns the Viewer.

    Parameters
    ----------
    attach : str or list of str
        Running programs to follow, by name or process number.
    view : str or list of str
        "timeline", "address-map", "stacks", ...: see `tidemark-view --help`.
    goto : str
        "peak", "oom", "1.25s", "event=81".
    height : int
        Height of the notebook cell in pixels.
    port : int
        A port of this machine; 0 chooses a free one. A browser elsewhere needs it forwarded.
    through : str
        The address at which the browser reaches that port behind a proxy, with "{port}" for the
        port: "https://{port}.example.org/". It isn't needed for jupyter-server-proxy, which the
        cell finds itself, nor for a forwarded port.
    **options
        Options of `tidemark-view`, with underscores: memory="80GiB", gpu_memory="60%".
    """
    import subprocess
    import tempfile

    def listed(given: Union[str, Sequence[str]]) -> List[str]:
        return [given] if isinstance(given, str) else list(given)

    command = [program("tidemark-view"), "--serve", str(port), "--end-with-input",
               *(_path_of(trace) for trace in traces), *_loading("view", traces),
               *_option_arguments("view", {"attach": listed(attach), "view": listed(view),
                                           "goto": goto, "find": find, "theme": theme,
                                           "policies": list(policies), **options})]
    with tempfile.TemporaryFile() as errors:
        # In its own session, it survives when a cell is interrupted.
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=errors, start_new_session=True)
        link = _link(child, errors)
    if through is not None:
        number = link.partition("/?")[0].rpartition(":")[2]
        link = through.format(port=number).rstrip("/") + "/?" + link.partition("/?")[2]
    return Viewer(child, link, height, is_everywhere=through is not None)
