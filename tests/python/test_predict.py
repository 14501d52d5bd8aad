"""Predictions: the stubs and what they forward to, without PyTorch.

That a whole PyTorch runs over them is shown by scripts/prove_predict.py.
"""

import concurrent.futures
import ctypes
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import types

import pytest

from tidemark import predict
from tidemark.errors import Error, OptionError
from tidemark.predicting import book, cards, child, elf, limits, measuring, ranks, runs, stubs

RUNTIME = "libcudart.so.13"
SOLVER = "libcusolver.so.12"
PACKAGE = str(pathlib.Path(predict.__file__).resolve().parents[1])


def core():
    try:
        return predict._core()
    except Exception as failure:  # a build without it
        pytest.skip(str(failure))


def write_stub(folder, soname, names):
    implemented = stubs.implemented_functions(core())
    functions = {name: (soname, stubs.PREFIX + name if name in implemented else stubs.UNKNOWN)
                 for name in names}
    path = folder / soname
    path.write_bytes(elf.forwarding_library(soname, stubs.CORE, functions, stubs.UNKNOWN))
    return path


def run_over(folder, code, **settings):
    """What `code` prints over an imagined H100, and the journal."""
    libraries = [write_stub(folder, RUNTIME, [
        "cudaGetDeviceCount", "cudaMalloc", "cudaFree", "cudaMemGetInfo", "cudaMemcpy",
        "cudaMemset", "cudaPointerGetAttributes", "cudaGetDeviceProperties", "cudaStreamCreate",
        "cudaEventCreate", "cudaEventRecord", "cudaEventQuery", "cudaEventSynchronize",
        "cudaLaunchKernel", "__cudaRegisterFunction"]), write_stub(folder, SOLVER, [
            "cusolverDnSgetrf_bufferSize", "cusolverDnCreate", "cusolverDnSetStream"])]
    given = folder / "settings.json"
    given.write_text(json.dumps({
        "card": cards.load("h100"), "gpus": 1, "cuda": 13000, "late": False, "nonzero": 1.0,
        "unique": 1.0, "journal": str(folder / "journal"),
        "book": book.Book().for_run(), "cudnn": "", "cudnn_device": "", "exchange": None,
        **settings}))
    begin = ("import ctypes\n"
             f"cuda = ctypes.CDLL({RUNTIME!r})\nsolver = ctypes.CDLL({SOLVER!r})\n"
             "pointer, size = ctypes.c_void_p, ctypes.c_size_t\n"
             "def take(bytes):\n"
             "    at = pointer()\n"
             "    return cuda.cudaMalloc(ctypes.byref(at), size(bytes)), at\n")
    done = subprocess.run([sys.executable, "-c", begin + code], capture_output=True, text=True,
                          env={**os.environ, "TIDEMARK_IMAGINED": str(given), "LD_PRELOAD":
                               ":".join([str(core()), *map(str, libraries)])}, check=False)
    assert done.returncode == 0, done.stderr
    journal = folder / "journal"
    lines = journal.read_text().splitlines() if journal.exists() else []
    return done.stdout.split(), [json.loads(line) for line in lines]


def test_a_stub_has_the_name_the_functions_and_the_version(tmp_path):
    path = write_stub(tmp_path, RUNTIME, ["cudaMalloc", "cudaNobodyKnows"])
    library = elf.read_library(path)
    assert library.needed == [stubs.CORE]
    assert {one.name for one in library.symbols if one.defined} == \
        {"cudaMalloc", "cudaNobodyKnows", elf.CALLS}
    assert {one.name for one in library.symbols if not one.defined} == \
        {stubs.PREFIX + "cudaMalloc", stubs.UNKNOWN}


def test_a_stub_counts_calls_for_the_log(tmp_path):
    run_over(tmp_path, (
        f"import sys; sys.path.insert(0, {PACKAGE!r})\n"
        "from tidemark.predicting import child\n"
        "take(1 << 20), take(1 << 20), solver.cusolverDnSetStream(None, None)\n"
        "solver.cusolverDnSgetrf_bufferSize(None, 4, 4, None, 4, None)\n"
        f"child.write_calls({str(tmp_path / 'log')!r}, [{str(tmp_path / RUNTIME)!r}, "
        f"{str(tmp_path / SOLVER)!r}], ctypes.CDLL({str(core())!r}))\n"))
    lines = (tmp_path / "log").read_text().splitlines()
    assert [line.split(maxsplit=2) for line in lines] == [
        ["2", RUNTIME, "cudaMalloc"], ["1", SOLVER, "cusolverDnSetStream (does nothing)"],
        ["1", SOLVER, "cusolverDnSgetrf_bufferSize (fails)"]]


def test_every_version_of_a_library_that_packages_need_is_whole():
    def library(soname, function):
        return elf.Library(pathlib.Path("x.so"), [soname], [
            elf.Symbol(function, False, soname, soname)])

    wanted = stubs.wanted_functions([library("libcublasLt.so.13", "cublasLtMatmul"),
                                     library("libcublasLt.so.12", "cublasLtMatmul"),
                                     elf.Library(pathlib.Path("y.so"), [], [
                                         elf.Symbol("cublasLtUnversioned", False)])])
    assert set(wanted["libcublasLt.so.13"]) == {"cublasLtMatmul", "cublasLtUnversioned"}
    assert set(wanted["libcublasLt.so.12"]) == {"cublasLtMatmul"}
    stubs.add_found_at_run_time(wanted, {"cublasLtCreate", "cudaMalloc"})
    for soname in ("libcublasLt.so.12", "libcublasLt.so.13"):
        assert wanted[soname]["cublasLtCreate"] == soname


def test_what_is_no_library_is_refused(tmp_path):
    for content in (b"", b"\x7fELF", b"\x7fELF\x02\x01\x01" + bytes(200), bytes(64)):
        path = tmp_path / "file"
        path.write_bytes(content)
        with pytest.raises(elf.NoLibrary):
            elf.read_library(path)


def test_memory_is_counted_and_runs_out(tmp_path):
    said, _ = run_over(tmp_path, (
        "free, total = size(), size()\n"
        "status, at = take(3 << 20)\n"
        "cuda.cudaMemGetInfo(ctypes.byref(free), ctypes.byref(total))\n"
        "print(status, total.value, total.value - free.value)\n"
        "print(take(1 << 40)[0], cuda.cudaFree(at))\n"
        "cuda.cudaMemGetInfo(ctypes.byref(free), ctypes.byref(total))\n"
        "print(total.value - free.value)\n"))
    card = cards.load("h100")
    assert said == ["0", str(card["memory"]), str(card["context"] + (4 << 20)), "2", "0",
                    str(card["context"])]


def test_what_the_program_put_on_the_device_comes_back(tmp_path):
    said, _ = run_over(tmp_path, (
        "status, at = take(4 << 20)\n"
        "out = ctypes.create_string_buffer(6)\n"
        "cuda.cudaMemcpy(at, b'abcdef', size(6), 1)\n"
        "cuda.cudaMemset(pointer(at.value + 2), 120, size(2))\n"
        "cuda.cudaMemcpy(out, at, size(6), 2)\n"
        "print(out.raw[:6].decode())\n"
        "cuda.cudaMemcpy(out, pointer(at.value + 4), size(6), 2)\n"
        "print(out.raw[:6].count(0))\n"))
    assert said == ["abxxef", "6"]  # the second goes beyond what is known


@pytest.mark.parametrize("late, expected", [(False, "0"), (True, "600")])
def test_work_is_done_at_once_or_when_it_is_waited_for(tmp_path, late, expected):
    said, _ = run_over(tmp_path, (
        "stream, event = pointer(), pointer()\n"
        "cuda.cudaStreamCreate(ctypes.byref(stream))\n"
        "cuda.cudaEventCreate(ctypes.byref(event))\n"
        "status, at = take(1 << 20)\n"
        "cuda.cudaMemset(at, 0, size(16))\n"
        "cuda.cudaEventRecord(event, None)\n"
        "print(cuda.cudaEventQuery(event), cuda.cudaEventSynchronize(event),\n"
        "      cuda.cudaEventQuery(event))\n"), late=late)
    assert said == [expected, "0", "0"]


def test_a_function_that_would_write_a_size_fails_and_is_named(tmp_path):
    said, journal = run_over(tmp_path, (
        "handle = pointer()\n"
        "print(solver.cusolverDnCreate(ctypes.byref(handle)), bool(handle.value),\n"
        "      solver.cusolverDnSetStream(handle, None),\n"
        "      solver.cusolverDnSgetrf_bufferSize(handle, 4, 4, None, 4, None) != 0)\n"))
    assert said == ["0", "True", "0", "True"]
    assert {"unknown": "cusolverDnSgetrf_bufferSize", "refused": True} in journal
    assert {"unknown": "cusolverDnSetStream", "refused": False} in journal


def test_cards_are_whole():
    for name in cards.names():
        card = cards.load(name)
        assert card["source"] and card["memory"] > card["context"] > 0
        assert card["attributes"]["16"] > 0 and card["attributes"]["75"] > 0
        described = json.loads(cards.for_cudnn(card))
        assert described["multiProcessorCount"] == card["attributes"]["16"]
    with pytest.raises(OptionError):
        cards.load("../h100")
    with pytest.raises(OptionError):
        cards.load("h100", 1 << 20)


def test_assumptions_and_ends_are_read_or_refused():
    assert predict.parse_assumptions(["nonzero=6%", "a b.py:3=1e3"]) == \
        {"nonzero": 0.06, "a b.py:3": 1000.0}
    assert limits.parse(["3 steps", "2 min", "1.5 GiB"]) == limits.Limits(3, 120, 3 << 29)
    for text in ("nonzero", "nonzero=200%", "train.py=3", "train.py:3=x", "train.py:3=5%",
                 "others=5%", "unique=-1"):
        with pytest.raises(OptionError):
            predict.parse_assumptions([text])
    for text in ("3", "0 steps", "1.5 steps", "soon"):
        with pytest.raises(OptionError):
            limits.parse([text])


def test_what_is_not_known_has_a_kind_and_an_answer_of_its_own():
    scaler = {}
    for name in ("_maybe_opt_step", "get_scale"):
        exec(compile(f"import sys\ndef {name}(): return sys._getframe()", os.path.join(
            "site-packages", child.SCALER), "exec"), scaler)
    assert child.kind_of_read(scaler["_maybe_opt_step"](), bytes(4)) == "overflow"
    assert child.kind_of_read(scaler["get_scale"](), bytes(4)) == "read"
    assert child.kind_of_read(sys._getframe(), bytes(1)) == "flag"
    assert child.kind_of_read(sys._getframe(), b"\1") == "read"  # all() holds
    assert child.kind_of_read(None, bytes(8)) == "read"
    witness = child.Witness({"overflow": 1.0, "train.py:3": 7.0})
    assert witness._answer("train.py:9", 4, "overflow") == struct.pack("f", 1)
    assert witness._answer("train.py:3", 8, "read") == (7).to_bytes(8, "little")
    assert witness._answer("train.py:9", 1, "flag") is None
    plan = runs.Plan([], {}, 1, None, pathlib.Path(), None, {"flag": 0.0}, limits.Limits(), False,
                     False)
    assert plan.otherwise("flag", "overflow").assumed == {"flag": 0.0, "overflow": 1.0}
    assert plan.ending_after(60).limits.seconds == 60


def test_without_pytorch_it_says_so(tmp_path):
    script = tmp_path / "empty.py"
    script.write_text("")
    done = subprocess.run([sys.executable, "-m", "tidemark.predict", str(script)],
                          capture_output=True, text=True, check=False, cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": PACKAGE})
    assert done.returncode != 0
    assert "tidemark.predict:" in done.stderr and "Traceback" not in done.stderr


def elementwise(functor, tensors):
    """The mangled name of PyTorch's kernel for a functor of int64."""
    return (f"_ZN2at6native29vectorized_elementwise_kernelILi2ENS0_{len(functor)}{functor}IlEE"
            f"St5arrayIPcLm{tensors}EEEEviT0_T1_").encode()


FILL, ADD, UNKNOWN = (elementwise(*one) for one in (
    ("FillFunctor", 1), ("CUDAFunctorOnSelf_add", 2), ("UnknownFunctor", 2)))


def test_kernels_of_pytorch_compute_integers_that_are_known(tmp_path):
    said, _ = run_over(tmp_path, (
        "class Dim(ctypes.Structure):\n"
        "    _fields_ = [(name, ctypes.c_uint) for name in 'xyz']\n"
        "longs = lambda *some: (ctypes.c_int64 * len(some))(*some)\n"
        "def launch(number, name, functor, *tensors):\n"
        "    cuda.__cudaRegisterFunction(None, pointer(number), None, name, 0, *[None] * 5)\n"
        "    given = ctypes.c_int(5), functor, longs(*(one.value for one in tensors))\n"
        "    addresses = (pointer * 3)(*map(ctypes.addressof, given))\n"
        "    cuda.cudaLaunchKernel(pointer(number), Dim(1, 1, 1), Dim(1, 1, 1), addresses,\n"
        "                          size(0), None)\n"
        "a, b = take(1 << 20)[1], take(1 << 20)[1]\n"
        "out = longs(*[9] * 5)\n"
        "def found(of):\n"
        "    cuda.cudaMemcpy(out, of, size(40), 2)\n"
        "    print(*out)\n"
        f"launch(11, {FILL!r}, longs(3), a)\n"
        f"launch(12, {ADD!r}, longs(4, 2), b, a)\n"
        "found(a)\n"
        "found(b)\n"
        f"launch(13, {UNKNOWN!r}, longs(0), b, a)\n"
        "found(b)\n"))
    assert said == ["3"] * 5 + ["11"] * 5 + ["0"] * 5  # 3 + 4 * 2; then nobody knows


def test_recurrent_networks_ask_for_what_cudnn_asks_for():
    library = ctypes.CDLL(str(core()))
    data = json.loads((pathlib.Path(__file__).parent / "rnn_sizes.json").read_text())
    network, batch = (ctypes.create_string_buffer(512) for _ in range(2))
    exact = 0
    for row in data["rows"]:
        one = dict(zip(data["columns"], row))
        library.imagined_cudnnSetRNNDescriptor_v8(
            network, 0, one["cell"], one["bias"], one["bidirectional"], 0, one["type"], 0, 0,
            one["input"], one["hidden"], one["hidden"], one["layers"], None, ctypes.c_uint(0))
        lengths = (ctypes.c_int * one["rows"])(*[one["steps"]] * one["rows"])
        library.imagined_cudnnSetRNNDataDescriptor(batch, one["type"], 0, one["steps"], one["rows"],
                                                   one["input"], lengths, None)
        weights, work, reserve = (ctypes.c_size_t() for _ in range(3))
        library.imagined_cudnnGetRNNWeightSpaceSize(None, network, ctypes.byref(weights))
        assert weights.value == one["weights"]
        for training in (0, 1):
            library.imagined_cudnnGetRNNTempSpaceSizes(
                None, network, training, batch, ctypes.byref(work), ctypes.byref(reserve))
            expected = one["work_training" if training else "work_inference"]
            assert abs(work.value / expected - 1) < 0.25
            exact += work.value == expected
        assert abs(reserve.value - one["reserve"]) <= 256
    assert exact >= 0.75 * 2 * len(data["rows"])


def test_a_convolution_without_cudnn_takes_what_was_measured(tmp_path):
    """As a program describes one, attribute by attribute, with the numbers of cudnn_backend.h."""
    name = ("FORWARD FLOAT 5,3,8,8:192,64,8,1 FLOAT 4,3,3,3:27,9,3,1 FLOAT 5,4,8,8:256,64,8,1 "
            "pad 1,1 stride 1,1 dilation 1,1")
    said, _ = run_over(tmp_path, (
        f"dnn = ctypes.CDLL({str(core())!r})\n"
        "create, give = dnn.imagined_cudnnBackendCreateDescriptor, "
        "dnn.imagined_cudnnBackendSetAttribute\n"
        "def made(type, numbers, parts=()):\n"
        "    one = pointer()\n"
        "    create(type, ctypes.byref(one))\n"
        "    for name, some in numbers.items():\n"
        "        give(one, name, 3, ctypes.c_int64(len(some)), "
        "(ctypes.c_int64 * len(some))(*some))\n"
        "    for name, part in dict(parts).items():\n"
        "        give(one, name, 15, ctypes.c_int64(1), ctypes.byref(part))\n"
        "    return one\n"
        "def tensor(*sizes):\n"
        "    n, c, h, w = sizes\n"
        "    one = made(17, {902: sizes, 903: (c * h * w, h * w, w, 1)})\n"
        "    give(one, 901, 1, ctypes.c_int64(1), ctypes.byref(ctypes.c_int(0)))\n"
        "    return one\n"
        "def workspace(images):\n"
        "    ones = {102: (1, 1), 103: (1, 1), 105: (1, 1)}\n"
        "    operation = made(10, {}, {702: made(1, ones), 703: tensor(4, 3, 3, 3),\n"
        "                              704: tensor(images, 3, 8, 8), 705: tensor(images, 4, 8, 8)})"
        "\n"
        "    graph = made(15, {}, {801: operation})\n"
        "    engine = made(2, {}, {1300: graph})\n"
        "    plan = made(5, {}, {401: made(3, {}, {300: engine})})\n"
        "    found = ctypes.c_int64(9)\n"
        "    dnn.imagined_cudnnBackendGetAttribute(plan, 402, 3, ctypes.c_int64(1), None,\n"
        "                                          ctypes.byref(found))\n"
        "    return found.value\n"
        "print(workspace(5), workspace(6), dnn.imagined_workspaces_measured(0),\n"
        "      dnn.imagined_workspaces_measured(1))\n"),
        book={"plans": {}, "convolutions": {name: 4096}})
    assert said == ["4096", "0", "1", "1"]


FAKE_CUDNN = r"""
#include <stdint.h>
#include <string.h>
#define PLAN "{\"cudnnVersion\": 91900, \"GPUProfile\": {\"deviceName\": \"Card\"}, " \
    "\"operationGraph\": {\"tensors\": [{\"name\": \"1\", \"dataType\": " \
    "\"CUDNN_DATA_FLOAT\", \"dim\": [2, 2], \"stride\": [2, 1]}], \"nodes\": [{" \
    "\"operation\": \"CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR\", " \
    "\"X\": \"1\", \"W\": \"1\", \"Y\": \"1\", \"pad\": [0], \"stride\": [1], " \
    "\"dilation\": [1]}]}}"
int cudnnBackendGetAttribute(void* plan, int name, int type, int64_t n, int64_t* got, void* out) {
    if (name == 405) strcpy(out, PLAN);
    if (name == 402) *(int64_t*)out = 4096;
    return 0;
}
int cudnnBackendExecute(void* handle, void* plan, void* pack) { return 7; }
"""


def test_what_cudnn_takes_on_a_gpu_is_added_to_a_book(tmp_path, monkeypatch):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    (tmp_path / "cudnn.c").write_text(FAKE_CUDNN)
    library = tmp_path / measuring.LIBRARY
    subprocess.run([compiler, "-shared", "-fPIC", f"-Wl,-soname,{measuring.LIBRARY}", "-o", library,
                    tmp_path / "cudnn.c"], check=True)
    script = tmp_path / "script.py"
    script.write_text(
        "import ctypes, sys\n"
        f"ctypes.CDLL({str(library)!r})\n"
        "found, program = ctypes.c_int64(), ctypes.CDLL(None)\n"
        "program.cudnnBackendGetAttribute(None, 402, 3, ctypes.c_int64(1), None, "
        "ctypes.byref(found))\n"
        "sys.exit(program.cudnnBackendExecute(None, None, None) + (found.value != 4096))\n")
    monkeypatch.setattr(measuring, "needed_versions", lambda: {})
    path = str(tmp_path / "book.json")
    found, new, code = measuring.measure([str(script)], path, core())
    assert (found.card, found.cudnn, list(found.plans.values()), new, code) == \
        ("Card", 91900, [4096], 2, 7)
    shape = "FLOAT 2,2:2,1"
    assert found.convolutions == {
        f"FORWARD {shape} {shape} {shape} pad 0 stride 1 dilation 1": 4096}
    assert book.load(path) == found and measuring.measure([str(script)], path, core())[1] == 0
    assert book.for_card(path, {"name": "Card"}) == found
    with pytest.raises(OptionError, match="measured on one Card"):
        book.for_card(path, {"name": "Other"})
    book.write(book.Book("Other"), path)
    with pytest.raises(OptionError, match="the book is of card Other"):
        measuring.measure([str(script)], path, core())
    script.write_text("")
    with pytest.raises(Error, match="computed nothing"):
        measuring.measure([str(script)], path, core())


@pytest.mark.parametrize("content", [
    "", "[]", "3", "{\"card\": 3}", "{\"plans\": [1]}", "{\"others\": 1}",
    "{\"plans\": {\"a\": -1}}", "{\"plans\": {\"a\": \"b\"}}"])
def test_what_is_no_book_is_refused(tmp_path, content):
    (tmp_path / "book").write_text(content)
    with pytest.raises(OptionError):
        book.load(str(tmp_path / "book"))
    with pytest.raises(OptionError):
        book.load(str(tmp_path / "none"))


def test_batch_normalisation_takes_what_cudnn_takes():
    library = ctypes.CDLL(str(core()))
    data = json.loads((pathlib.Path(__file__).parent / "norm_sizes.json").read_text())
    tensor = ctypes.create_string_buffer(512)
    for row in data["rows"]:
        one = dict(zip(data["columns"], row))
        images, channels, height, width = one["sizes"]
        last = one["channels_last"]
        strides = [channels * height * width, *(
            [1, width * channels, channels] if last else [height * width, width, 1])]
        library.imagined_cudnnSetTensorNdDescriptor(
            tensor, one["type"], 4, (ctypes.c_int * 4)(*one["sizes"]), (ctypes.c_int * 4)(*strides))
        found = ctypes.c_size_t(7), ctypes.c_size_t(7)
        library.imagined_cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
            None, one["mode"], 0, tensor, None, tensor, None, None, ctypes.byref(found[0]))
        library.imagined_cudnnGetBatchNormalizationBackwardExWorkspaceSize(
            None, one["mode"], 0, tensor, None, tensor, None, tensor, None, None,
            ctypes.byref(found[1]))
        assert [size.value for size in found] == [one["forward"], one["backward"]], one


def test_memory_and_events_are_shown_to_other_processes(tmp_path):
    said, journal = run_over(tmp_path, (
        "import os\n"
        f"core = ctypes.CDLL({str(core())!r})\n"
        "class Handle(ctypes.Structure):\n"
        "    _fields_ = [('bytes', ctypes.c_char * 64)]\n"
        "handle, there, event = Handle(), pointer(), pointer()\n"
        "status, at = take(4 << 20)\n"
        "print(core.imagined_cudaIpcGetMemHandle(ctypes.byref(handle), at),\n"
        "      core.imagined_cudaIpcOpenMemHandle(ctypes.byref(there), handle, 1),\n"
        "      there.value != at.value, core.imagined_cudaIpcCloseMemHandle(there),\n"
        "      core.imagined_cudaIpcCloseMemHandle(there))\n"
        "print(core.imagined_cudaIpcGetEventHandle(ctypes.byref(handle), None),\n"
        "      core.imagined_cudaIpcOpenEventHandle(ctypes.byref(event), handle),\n"
        "      cuda.cudaEventQuery(event))\n"
        "made, other, number = ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_int()\n"
        "properties = (ctypes.c_int * 8)(1, 1, 1, 0)\n"
        "core.imagined_cuMemCreate(ctypes.byref(made), size(4 << 20), properties,\n"
        "                          ctypes.c_uint64())\n"
        "print(core.imagined_cuMemExportToShareableHandle(ctypes.byref(number), made, 1,\n"
        "                                                 ctypes.c_uint64()),\n"
        "      core.imagined_cuMemImportFromShareableHandle(\n"
        "          ctypes.byref(other), pointer(number.value), 1),\n"
        "      os.fstat(number.value).st_size, other.value != made.value)\n"
        "properties[1] = 8  # fabric\n"
        "print(core.imagined_cuMemCreate(ctypes.byref(made), size(4 << 20), properties,\n"
        "                                ctypes.c_uint64()))\n"))
    assert said == ["0", "0", "True", "0", "1", "0", "0", "0", "0", "0", str(4 << 20), "True",
                    "800"]
    assert sum("process" in line for line in journal) == 1


def test_managed_memory_is_freed_as_the_devices_and_pinned_memory_is_not(tmp_path):
    said, _ = run_over(tmp_path, (
        f"core = ctypes.CDLL({str(core())!r})\n"
        "managed, pinned = pointer(), pointer()\n"
        "core.imagined_cudaMallocManaged(ctypes.byref(managed), size(64), 1)\n"
        "core.imagined_cudaHostAlloc(ctypes.byref(pinned), size(64), 0)\n"
        "print(cuda.cudaFree(managed), cuda.cudaFree(pinned), core.imagined_cudaFreeHost(pinned))"
        "\n"))
    assert said == ["0", "1", "0"]


def test_the_drivers_monitor_knows_the_same_devices(tmp_path):
    said, _ = run_over(tmp_path, (
        f"monitor = ctypes.CDLL({str(core())!r})\n"
        "handle, same, count = pointer(), pointer(), ctypes.c_uint()\n"
        "text = ctypes.create_string_buffer(96)\n"
        "memory = (ctypes.c_uint64 * 3)()\n"
        "print(monitor.imagined_nvmlInit_v2(),\n"
        "      monitor.imagined_nvmlDeviceGetCount_v2(ctypes.byref(count)), count.value)\n"
        "print(monitor.imagined_nvmlDeviceGetHandleByIndex_v2(1, ctypes.byref(handle)),\n"
        "      monitor.imagined_nvmlDeviceGetHandleByIndex_v2(2, ctypes.byref(same)))\n"
        "monitor.imagined_nvmlDeviceGetUUID(handle, text, 96)\n"
        "monitor.imagined_nvmlDeviceGetHandleByUUID(text, ctypes.byref(same))\n"
        "print(same.value == handle.value, len(text.value))\n"
        "monitor.imagined_cudaDeviceGetPCIBusId(text, 96, 1)\n"
        "monitor.imagined_nvmlDeviceGetHandleByPciBusId_v2(text, ctypes.byref(same))\n"
        "print(same.value == handle.value,\n"
        "      monitor.imagined_nvmlDeviceGetHandleByPciBusId_v2(b'x', ctypes.byref(same)))\n"
        "monitor.imagined_nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle))\n"
        "monitor.imagined_nvmlDeviceGetMemoryInfo(handle, memory)\n"
        "before = memory[2]\n"
        "take(4 << 20)\n"
        "monitor.imagined_nvmlDeviceGetMemoryInfo(handle, memory)\n"
        "print(memory[2] - before, memory[0] == memory[1] + memory[2])\n"), gpus=2)
    assert said == ["0", "0", "2", "0", "6", "True", "40", "True", "6", str(4 << 20), "True"]


def test_functions_that_a_compiled_driver_calls_are_found(tmp_path):
    folder = tmp_path / "triton" / "backends" / "nvidia"
    folder.mkdir(parents=True)
    (folder / "driver.c").write_text("int x = cuCtxSetLimit(1); curl(); cuSomething; // cu(\n")
    sources = stubs.driver_sources(tmp_path)
    assert list(map(stubs.driver_names_in_source, sources)) == [{"cuCtxSetLimit"}]


def test_communicators_take_memory_when_they_are_used(tmp_path):
    said, _ = run_over(tmp_path, (
        f"core = ctypes.CDLL({str(core())!r})\n"
        "core.imagined_held.restype = ctypes.c_uint64\n"
        "class Id(ctypes.Structure):\n"
        "    _fields_ = [('bytes', ctypes.c_char * 128)]\n"
        "def communicator(ranks):\n"
        "    one = pointer()\n"
        "    core.imagined_ncclCommInitRank(ctypes.byref(one), ranks, Id(), 0)\n"
        "    return one\n"
        "def taken(one, pairs=False):\n"
        "    before = core.imagined_held(0)\n"
        "    if pairs:\n"
        "        core.imagined_ncclSend(None, size(0), 0, 1, one, None)\n"
        "    else:\n"
        "        core.imagined_ncclAllReduce(None, None, size(0), 0, 0, one, None)\n"
        "    return core.imagined_held(0) - before\n"
        "first, second, pair = communicator(2), communicator(8), communicator(2)\n"
        "print(taken(first), taken(first), taken(second), taken(pair, True),\n"
        "      taken(first, True), taken(communicator(1)))\n"))
    memory = cards.load("h100")["communicators"]
    assert said == [str(size) for size in (memory["first"], 0, memory["next"], memory["pair"],
                                           memory["exchange"], 0)]


OF_RANK = """
import struct
class Id(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 128)]
core, one = ctypes.CDLL(CORE), pointer()
core.imagined_ncclCommInitRank(ctypes.byref(one), 2, Id(b"the same"), RANK)
def device(text):
    at = take(512)[1]
    cuda.cudaMemcpy(at, text, size(len(text)), 1)
    return at
def show(at, length):
    text = ctypes.create_string_buffer(length)
    cuda.cudaMemcpy(text, at, size(length), 2)
    print(text.raw[:length].strip(bytes(1)).decode() or "unknown")
to = take(512)[1]
core.imagined_ncclAllGather(device(b"ab" if RANK else b"cd"), to, size(2), 0, one, None)
show(to, 4)
core.imagined_ncclAlltoAll(device(b"efgh" if RANK else b"ijkl"), to, size(2), 0, one, None)
show(to, 4)
core.imagined_ncclBroadcast(device(b"root" if RANK else b"mine"), to, size(4), 0, 1, one, None)
show(to, 4)
for type, form, how in ((4, "q", 0), (2, "i", 2), (4, "q", 3), (7, "f", 4), (8, "d", 1)):
    at = device(struct.pack(form, -5 if RANK else 2))
    core.imagined_ncclAllReduce(at, at, size(1), type, how, one, None)
    number = ctypes.create_string_buffer(struct.calcsize(form))
    cuda.cudaMemcpy(number, at, size(len(number)), 2)
    print(struct.unpack(form, number)[0])
core.imagined_ncclGroupStart()
core.imagined_ncclRecv(to, size(5), 0, 1 - RANK, one, None)
core.imagined_ncclRecv(pointer(to.value + 8), size(5), 0, RANK, one, None)
for peer in (0, 1):
    core.imagined_ncclSend(device(f"{RANK}to{peer}.".encode()), size(5), 0, peer, one, None)
core.imagined_ncclGroupEnd()
show(to, 5)
show(pointer(to.value + 8), 5)
if RANK:
    core.imagined_ncclSend(take(512)[1], size(6), 0, 0, one, None)
else:
    core.imagined_ncclRecv(to, size(6), 0, 1, one, None)
    show(to, 6)
    core.imagined_ncclRecv(to, size(7), 0, 1, one, None)
    show(to, 7)
"""


def test_ranks_that_run_together_have_each_others_small_messages(tmp_path):
    folders = [tmp_path / "rank0", tmp_path / "rank1"]
    meeting = tmp_path / "meeting"
    for folder in (meeting, *folders):
        folder.mkdir()

    def run_rank(rank):
        said, _ = run_over(folders[rank], f"CORE, RANK = {str(core())!r}, {rank}\n{OF_RANK}",
                           exchange={"folder": str(meeting), "rank": rank, "ranks": 2})
        (meeting / f"ended-{rank}").touch()
        return said

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        said = list(pool.map(run_rank, (0, 1)))
    # The last two: its content was not known, and the other rank ended without sending it.
    reduced = ["-3", "2", "-5", "-1.5", "-10.0"]
    assert said == [["cdab", "ijef", "root", *reduced, "1to0.", "0to0.", "unknown", "unknown"],
                    ["cdab", "klgh", "root", *reduced, "0to1.", "1to1."]]


def test_a_store_has_the_keys_that_it_and_running_ranks_set():
    shared = {"of another": b"id"}
    exchange = types.SimpleNamespace(put=shared.__setitem__, take=shared.get)
    store = ranks._store_of_all(types.SimpleNamespace(Store=object), 2, exchange)
    copy = store.clone()
    store.set("key", "value")
    assert copy.get("key") == b"value" and copy.add("count", 1) == 2
    assert shared["key"] == b"value" and store.get("of another") == b"id"
    assert store.get("of nobody") == ranks.UNIQUE_ID


def test_a_group_that_is_split_gets_the_ranks_of_its_part():
    made = []
    distributed = types.SimpleNamespace(
        get_rank=lambda: 5, get_global_rank=lambda parent, rank: parent[rank],
        new_group=lambda members, **named: made.append((members, named["group_desc"])) or members)
    split_group = ranks._split_by_new_groups(distributed)
    assert split_group(None, [[0, 1], [5, 4]], group_desc="x") == [4, 5]
    assert split_group([3, 5, 7, 9], [[0, 1], [2, 3]]) == [3, 5]
    assert split_group([3, 7], [[0, 1]]) is None
    assert made == [([0, 1], "x"), ([4, 5], "x"), ([3, 5], None), ([7, 9], None), ([3, 7], None)]


def test_ranks_with_the_same_answer_share_a_line():
    def answer(text):
        return types.SimpleNamespace(line=lambda: text, notes=lambda: [])

    found = predict._texts(range(4), [answer("a"), answer("b"), answer("a"), answer("a")])
    assert found == [("a", [0, 2, 3]), ("b", [1])]
    assert [predict._ranks_text(alike) for alike in ([1], [0, 1], [0, 2, 3], [4, 5, 6])] == [
        "rank 1", "ranks 0 and 1: each", "ranks 0, 2 and 3: each", "ranks 4 to 6: each"]


def test_a_script_that_ends_before_it_allocates_is_an_error(monkeypatch):
    run = types.SimpleNamespace(path="run.tml", exit_code=3, held=0)
    monkeypatch.setattr(predict, "_peaks", lambda _path: {})
    with pytest.raises(Error, match="exit code 3 before it allocated"):
        predict._answer(run, run, [], {}, False)
