"""What is compiled is loaded later: nobody else may have had their hands in it."""

import os

import pytest

from tidemark.errors import UnsupportedError
from tidemark.torch import _compiled


def test_only_a_file_of_ones_own_is_loaded(tmp_path):
    library = tmp_path / "a.so"
    assert not _compiled.is_own_file(library)
    library.write_bytes(b"\x7fELF")
    library.chmod(0o700)
    assert _compiled.is_own_file(library)
    library.chmod(0o770)
    assert not _compiled.is_own_file(library)
    link = tmp_path / "b.so"
    link.symlink_to(library)
    assert not _compiled.is_own_file(link)


def test_the_folder_is_ones_own_and_closed_to_others(tmp_path):
    folder = tmp_path / "cache" / "tidemark"
    _compiled.make_own_folder(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o775)
    _compiled.make_own_folder(folder)
    assert folder.stat().st_mode & 0o022 == 0
    if os.geteuid() != 0:
        pytest.skip("only root can make a folder of another user")
    os.chown(folder, 12345, 12345)
    with pytest.raises(UnsupportedError, match="12345"):
        _compiled.make_own_folder(folder)
