"""Recordings that the tests read, and what a machine may lack."""

import os
import pathlib
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "traces" / "samples"

# A build's own library and programs; tests/python/run.py is told which build.
os.environ.setdefault("TIDEMARK_LIBRARY", str(ROOT / "build" / "release" / "libtidemark.so.1"))

# What the viewer keeps is no business of the user's cache.
CACHE = tempfile.TemporaryDirectory(prefix="tidemark-cache-")
os.environ["XDG_CACHE_HOME"] = CACHE.name


@pytest.fixture
def sample():
    """GPT-2 training: one stream, 18,359 events."""
    return str(SAMPLES / "torch" / "gpt2_var.pickle.xz")


@pytest.fixture
def small():
    """Some 1,000 events of several streams."""
    return str(SAMPLES / "torch" / "multistream.pickle.xz")


@pytest.fixture
def stacks():
    """A recording with call stacks."""
    return str(SAMPLES / "torch" / "resnet-frames.pickle.xz")
