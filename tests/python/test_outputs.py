"""Files that Python writes: recordings are kept, and so is what is of another kind."""

import os

import pytest

import tidemark
from tidemark import _outputs

KEPT = "is a recording|would be lost"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(25) + b"\0\0\0\x11tEXtSoftware\0tidemark\x9b\x0b\xd2\x17"


def record(path, **more):
    with tidemark.Context("sim", record=str(path), **more) as context:
        context.free(context.alloc(4096))


@pytest.fixture
def recording(tmp_path):
    path = tmp_path / "run.tml"
    record(path)
    return path


def test_a_context_writes_over_a_recording_only_where_overwrite_says_so(recording):
    before = recording.read_bytes()
    with pytest.raises(tidemark.OptionError, match=KEPT):
        record(recording)
    assert recording.read_bytes() == before
    record(recording, overwrite=True)
    assert recording.read_bytes() != before


def test_a_picture_replaces_pictures_of_ours_alone(recording, tmp_path):
    picture = tidemark.Picture(PNG)
    target = tmp_path / "a.png"
    link = tmp_path / "link.png"
    link.symlink_to(target)
    picture.save(target)
    picture.save(link)
    assert link.is_symlink() and target.read_bytes() == PNG
    target.write_text("a letter")
    for path in (target, link, recording):
        before = path.read_bytes()
        with pytest.raises(tidemark.OptionError, match="exists"):
            picture.save(path)
        assert path.read_bytes() == before
    picture.save(target, overwrite=True)
    assert target.read_bytes() == PNG
    assert not [name for name in os.listdir(tmp_path) if "partial" in name]


def test_a_recording_of_pins_is_kept(tmp_path):
    path = tmp_path / "pins.jsonl"
    with tidemark.DeferrableMemory(tidemark.Context("sim"), 1 << 20, 1 << 24) as memory:
        with memory.record(path):
            pass
        with pytest.raises(tidemark.OptionError, match="is a recording"):
            with memory.record(path):
                pass
        with memory.record(path, overwrite=True):
            pass


def test_a_file_is_whole_or_as_it_was(tmp_path):
    path = tmp_path / "a"
    with pytest.raises(KeyError):
        with _outputs.whole_file(path, _outputs.OTHER) as partial:
            with open(partial, "w", encoding="utf-8") as file:
                file.write("half")
            raise KeyError
    assert os.listdir(tmp_path) == []
