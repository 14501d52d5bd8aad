"""Exceptions: one for each status, and what they are besides."""

import pickle
import re

import pytest
from conftest import ROOT

import tidemark
from tidemark import errors


def test_every_status_of_the_header_has_a_class():
    text = (ROOT / "replay" / "c_api" / "tidemark.h").read_text()
    enum = text.split("typedef enum tm_status {")[1].split("} tm_status;")[0]
    statuses = {int(number) for number in re.findall(r"TM_[A-Z_]+ = (\d+)", enum)}
    assert statuses - {0} == set(errors.BY_STATUS)


@pytest.mark.parametrize("kind, base", [
    (tidemark.OutOfMemoryError, MemoryError), (tidemark.NotFoundError, LookupError),
    (tidemark.MissingFileError, FileNotFoundError), (tidemark.FileError, OSError),
    (tidemark.SpaceError, OSError), (tidemark.UnsupportedError, NotImplementedError),
    (tidemark.DriverError, RuntimeError), (tidemark.InternalError, RuntimeError),
    (tidemark.OptionError, ValueError), (tidemark.AddressError, ValueError)])
def test_they_are_what_python_programs_expect(kind, base):
    assert issubclass(kind, base) and issubclass(kind, tidemark.Error)


def test_text_and_pickling():
    error = tidemark.OptionError("unrecognized key 'spilt'", "policy torch", "did you mean split?")
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == "policy torch: unrecognized key 'spilt'; did you mean split?"
    assert (copy.what, copy.where, copy.hint, copy.status) == (
        "unrecognized key 'spilt'", "policy torch", "did you mean split?", 3)
