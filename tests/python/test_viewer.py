"""The viewer in a notebook's cell."""

import gc
import http.client
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

import tidemark
from tidemark.programs import program


@pytest.fixture(autouse=True)
def serves():
    try:
        path = program("tidemark-view")
    except tidemark.NotFoundError:
        pytest.skip("tidemark-view is not built here")
    done = subprocess.run([path, "--serve", "generate:training", "--bind", "nowhere"],
                          stderr=subprocess.PIPE, text=True, check=False)
    if "without Boost" in done.stderr:
        pytest.skip("tidemark-view was built without Boost.Beast")


def page(url):
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.read().decode()


def test_it_is_served_until_it_is_closed(small):
    viewer = tidemark.view(small, view="timeline", goto="peak", height=500)
    assert viewer.alive and viewer.url in repr(viewer)
    assert "<canvas" in page(viewer.url)
    with pytest.raises(urllib.error.HTTPError):
        page(viewer.url[:-1])
    cell = viewer._repr_html_()
    assert viewer.url in cell and 'height="500"' in cell
    port = re.search(r":(\d+)/", viewer.url)[1]
    assert f"ssh -L {port}:127.0.0.1:{port}" in cell and "jupyter-server-proxy" in cell
    # Twice in a notebook, each cell finds its own parts.
    assert cell != viewer._repr_html_()
    viewer.close()
    viewer.close()
    assert not viewer.alive and "ended" in repr(viewer)
    with pytest.raises(urllib.error.URLError):
        page(viewer.url)


def test_it_ends_as_a_context_and_with_its_object(small):
    with tidemark.view(tidemark.load(small), policies=["torch", "extent"]) as viewer:
        child = viewer._child
        assert viewer.alive
    assert child.poll() == 0
    child = tidemark.view(small)._child
    gc.collect()
    assert child.wait(60) == 0


def test_it_ends_with_the_process_that_showed_it(small):
    package = os.path.dirname(os.path.dirname(tidemark.__file__))
    said = subprocess.run(
        [sys.executable, "-c",
         "import os, sys; sys.modules['IPython'] = None\n"  # needs nothing of a notebook
         "import tidemark; viewer = tidemark.view(sys.argv[1])\n"
         "print(viewer.url, viewer._repr_html_(), flush=True); os._exit(9)", small],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": package}, check=False)
    assert said.returncode == 9
    url, cell = said.stdout.split(" ", 1)
    assert url in cell
    with pytest.raises((OSError, http.client.HTTPException)):  # refused, or cut off in an answer
        for _ in range(10_000):  # it is on its way out
            page(url)


def test_behind_a_proxy_the_cell_shows_the_proxy(small):
    with tidemark.view(small, through="/user/me/proxy/{port}/",
                       allow_host="hub.example.org") as viewer:
        port, token = re.fullmatch(r"/user/me/proxy/(\d+)/\?token=(\w+)", viewer.url).groups()
        request = urllib.request.Request(f"http://127.0.0.1:{port}/?token={token}",
                                       headers={"Host": "hub.example.org"})
        assert "<canvas" in page(request)
        assert f'<iframe src="{viewer.url}"' in viewer._repr_html_()


def test_wrong_use_is_refused(small):
    with pytest.raises(tidemark.OptionError):
        tidemark.view(small, view="nosuch")
    with pytest.raises(tidemark.OptionError):
        tidemark.view()
    with tidemark.view(small) as viewer:
        port = int(re.search(r":(\d+)/", viewer.url)[1])
        with pytest.raises(tidemark.UnsupportedError) as refused:
            tidemark.view(small, port=port)
        assert "another program uses this port" in str(refused.value)
