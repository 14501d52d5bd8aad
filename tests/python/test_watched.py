"""A viewer beside a program: it outlives whatever a policy does in a recorded context."""

import random
import subprocess
import time

import pytest

import tidemark
from tidemark.errors import NotFoundError
from tidemark.programs import program


@pytest.fixture
def viewer(tmp_path, monkeypatch):
    """The program `tidemark-view`, and folders of the test's own."""
    try:
        path = program("tidemark-view")
    except NotFoundError:
        pytest.skip("tidemark-view isn't built here")
    monkeypatch.setenv("TIDEMARK_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("TIDEMARK_RECORDINGS", str(tmp_path / "recordings"))
    return path


def work(context, numbers):
    """Blocks of very different sizes that come and go, and at the end all that was cached."""
    alive = []
    for _ in range(120):
        if alive and numbers.random() < 0.5:
            context.free(alive.pop(numbers.randrange(len(alive))))
            continue
        try:
            alive.append(context.alloc(numbers.choice([1, 5, 40, 200, 1024]) << 20))
        except tidemark.OutOfMemoryError:
            pass
    for address in alive:
        context.free(address)
    time.sleep(0.05)  # what the trim does is read by itself: few records, which end much
    context.trim()


# Those that map and unmap, and one that doesn't; all others are watched by
# tests/viz/headless/live_policies_test.cpp.
@pytest.mark.parametrize("policy", ["vpmm", "extent", "torch"])
def test_a_viewer_outlives_what_a_policy_does(viewer, policy):
    numbers = random.Random(3)
    context = tidemark.Context(machine="sim", policy=policy, record="pub")
    shown = subprocess.Popen([viewer, "--attach", "pub", "--serve", "--no-settings"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             stdin=subprocess.DEVNULL)
    try:
        assert shown.stdout.readline(), shown.stderr.read()
        for _ in range(3):
            work(context, numbers)
        context.close()
        with pytest.raises(subprocess.TimeoutExpired):
            shown.wait(0.5)
    finally:
        shown.kill()
        errors = shown.communicate()[1]
    assert b"check failed" not in errors
