"""The catalogue: written from what the program says, and taken by it."""

import subprocess
import sys

import pytest
from conftest import ROOT

import tidemark
from tidemark import policies
from tidemark.programs import program


def test_the_catalogue_is_that_of_the_program():
    done = subprocess.run([sys.executable, str(ROOT / "scripts" / "make_catalogue.py"), "--check",
                           "--program", program("tidemark")], stdout=subprocess.PIPE, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("given, text", [
    (policies.torch(), "torch"),
    (policies.torch(expandable_segments=True, max_split_size_mb=64),
     "torch:expandable_segments=true,max_split_size_mb=64"),
    (policies.torch(expandable_segments=False), "torch:expandable_segments=false"),
    (policies.cuda_malloc(), "cuda-malloc"),
    (policies.best_fit(segment=1 << 20), "best-fit:segment=1048576B"),
    (policies.best_fit(segment="1MiB"), "best-fit:segment=1MiB"),
    (policies.extent(slack=0.1), "extent:slack=0.1"),
])
def test_policies_are_texts(given, text):
    assert given == text


def test_the_program_takes_them(small):
    for name in policies.__all__:
        policy = getattr(policies, name)()
        assert tidemark.replay(small, policy).policy == policy


def test_what_is_no_option_is_a_type_error():
    with pytest.raises(TypeError):
        policies.torch(spilt=1)
