"""What importing costs: no GPU, no thread, no library of others."""

import os
import subprocess
import sys

import tidemark


def run(code, **environment):
    package = os.path.dirname(os.path.dirname(tidemark.__file__))
    return subprocess.check_output(
        [sys.executable, "-c", code], text=True,
        env={**os.environ, "PYTHONPATH": package, **environment}).strip()


def test_importing_loads_nothing_and_starts_nothing():
    assert run("import os, sys, threading, tidemark\n"
               "others = {'numpy', 'pandas', 'torch', 'cupy', 'numba', 'IPython'}\n"
               "maps = open('/proc/self/maps').read()\n"
               "print(others & set(sys.modules), threading.active_count(),\n"
               "      len(os.listdir('/proc/self/task')), 'libtidemark' in maps,\n"
               "      'libcuda' in maps)") == "set() 1 1 False False"


def test_importing_works_where_the_library_is_missing():
    assert run("import tidemark; print(tidemark.policies.torch())",
               TIDEMARK_LIBRARY="/nowhere") == "torch"


def test_where_a_module_of_others_is_missing_the_error_says_what_to_install():
    said = run("import sys\nsys.modules['numpy'] = sys.modules['pandas'] = None\n"
               "import tidemark\n"
               "trace = tidemark.load('generate:mix:seed=1')\n"
               "print(len(trace) > 0)\n"
               "for ask in (lambda: trace.size, trace.to_frame,\n"
               "            tidemark.replay(trace, 'torch', progress=False).to_frame):\n"
               "    try: ask()\n"
               "    except ImportError as failure: print(failure)").splitlines()
    assert said[0] == "True" and len(said) == 4
    assert all("pip install " + module in line
               for module, line in zip(("numpy", "pandas", "pandas"), said[1:]))
