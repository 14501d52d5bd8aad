"""Pictures by the viewer, without a display."""

import pytest

import tidemark
from tidemark.programs import program


@pytest.fixture(autouse=True)
def viewer():
    try:
        program("tidemark-view")
    except tidemark.NotFoundError:
        pytest.skip("tidemark-view is not built here")


def test_pictures(small, tmp_path):
    drawn = tidemark.picture(small, view="timeline", goto="peak", size=(640, 360))
    assert drawn.png.startswith(b"\x89PNG") and drawn.size == (640, 360)
    assert drawn._repr_png_() == bytes(drawn) and "640 x 360" in repr(drawn)
    drawn.save(tmp_path / "drawn.png")
    assert (tmp_path / "drawn.png").read_bytes() == drawn.png


def test_traces_and_policies(small):
    trace = tidemark.load(small, as_recorded=True)
    assert tidemark.picture(trace, policies=["torch", "extent"], view="compare").png


def test_wrong_use_is_refused(small):
    with pytest.raises(tidemark.OptionError):
        tidemark.picture(small, view="nosuch")
    with pytest.raises(tidemark.Error):
        tidemark.picture("/nowhere/run.pickle")
