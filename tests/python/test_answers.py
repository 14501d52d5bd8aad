"""Questions: the answers are those of the program, value by value."""

import json
import os
import re
import signal
import subprocess
import threading
import time

import pytest
from conftest import ROOT, SAMPLES

import tidemark
from tidemark.answers import _option_arguments
from tidemark.programs import program

SELF = "the same trace"  # stands for the sample in a list of arguments

# What differs from run to run, and where the program was called.
CHANGES = re.compile(r"^(elapsed(_total)?_ns|command)$")


def steady(value):
    """`value` without what no two runs have in common."""
    if isinstance(value, dict):
        return {name: steady(part) for name, part in value.items() if not CHANGES.match(name)}
    return [steady(part) for part in value] if isinstance(value, list) else value


def printed(*arguments):
    done = subprocess.run([program("tidemark"), *arguments, "--json"], stdout=subprocess.PIPE,
                          check=False)
    return json.loads(done.stdout)


@pytest.mark.parametrize("ask, arguments", [
    (lambda t: tidemark.info(t), ["info"]),
    (lambda t: tidemark.replay(t), ["replay"]),
    (lambda t: tidemark.replay(t, "extent:slack=0.1", memory=8 << 30, check=True),
     ["replay", "--policy=extent:slack=0.1", "--memory=8GiB", "--check"]),
    (lambda t: tidemark.replay(t, tidemark.policies.torch(expandable_segments=True),
                               machine=tidemark.machines.sim_h200),
     ["replay", "-p", "torch:expandable_segments=true", "--device", "sim:h200"]),
    (lambda t: tidemark.compare(t, policies=["torch", "extent"]),
     ["compare", "-p", "torch", "-p", "extent"]),
    (lambda t: tidemark.fit(t, "4GiB", spread=0), ["fit", "--memory", "4GiB", "--spread", "0"]),
    (lambda t: tidemark.verify(t), ["verify"]),
    (lambda t: tidemark.advise(t, budget=3), ["advise", "--budget", "3"]),
    (lambda t: tidemark.advise(t, budget=3, without="vmm", spread=0),
     ["advise", "--budget", "3", "--without", "vmm", "--spread", "0"]),
    (lambda t: tidemark.compare(t, policies="torch", all=False), ["compare", "-p", "torch"]),
    (lambda t: tidemark.diff(t, t, top=3), ["diff", SELF, "--top", "3"]),
    (lambda t: tidemark.gate(t, fail_if="peak_reserved > 70GiB"),
     ["gate", "--fail-if", "peak_reserved > 70GiB"]),
    (lambda t: tidemark.bound(t, capacity="100GiB"), ["bound", "--capacity", "100GiB"]),
])
def test_answers_are_those_of_the_program(sample, ask, arguments):
    given = [sample if each is SELF else each for each in arguments[1:]]
    assert steady(ask(sample).to_dict()) == steady(printed(arguments[0], sample, *given))


def test_an_answer_is_true_if_it_is_yes(sample):
    assert tidemark.fit(sample, "100GiB", policies="torch", spread=0)
    assert not tidemark.fit(sample, "4GiB", policies="torch", spread=0)
    assert tidemark.gate(sample, fail_if="peak_reserved > 70GiB")
    assert not tidemark.gate(sample, fail_if=["peak_reserved > 1GiB", "retries > 0"])
    assert not tidemark.bound(sample, capacity="1GiB")
    assert tidemark.info(sample)


def test_advice_begins_with_what_to_do(sample):
    answer = tidemark.advise(sample, budget=40, spread=0)
    lines = repr(answer).splitlines()
    assert lines[0] == answer.verdict and lines[0].startswith("Set expandable_segments:True")
    assert lines[1] == f"  {answer.best.line}" and "export " in lines[1]


def test_traces_are_cut_exported_and_made_small(sample, tmp_path):
    cut = tidemark.cut(sample, tmp_path / "part.jsonl", begin="#100", end="#300")
    assert cut.exit_code == 0 and tidemark.info(tmp_path / "part.jsonl").events > 0
    tidemark.export(tmp_path / "part.jsonl", tmp_path / "part.json", policies="torch")
    assert json.loads((tmp_path / "part.json").read_text())
    tidemark.minimize(tmp_path / "part.jsonl", "reserved > 100MiB", tmp_path / "small.jsonl",
                      policy="torch")
    assert 0 < tidemark.info(tmp_path / "small.jsonl").events <= \
        tidemark.info(tmp_path / "part.jsonl").events


def test_a_missing_file_is_what_python_calls_it():
    with pytest.raises(FileNotFoundError) as caught:
        tidemark.replay("nowhere.pickle", "torch")
    assert caught.value.filename and "nowhere.pickle" in str(caught.value)


def test_seconds_are_no_nanoseconds(sample):
    with pytest.raises(tidemark.OptionError, match="nanoseconds"):
        tidemark.load(sample).between(0.5, 1.0)


def test_names_are_attributes_and_keys(sample):
    answer = tidemark.compare(sample, policies=["torch", "extent"])
    assert answer.runs[0].peak_reserved_bytes == answer["runs"][0]["peak_reserved_bytes"] > 0
    assert answer.runs[0].policy == "extent" and answer.runs[0].best
    assert "verdict" in answer and "verdict" in dir(answer) and len(answer) > 5
    assert answer.exit_code == 0
    with pytest.raises(AttributeError, match="no 'nosuch' here"):
        answer.nosuch
    with pytest.raises(KeyError):
        answer["nosuch"]


def test_no_name_of_an_answer_is_hidden_by_a_function():
    keys = set(re.findall(r"[\w]+", " ".join(re.findall(
        r"`([\w.\[\]*]+)`", (ROOT / "docs" / "json.md").read_text()))))
    ours = {name for name in dir(tidemark.Record({})) if not name.startswith("_")}
    assert not keys & ours
    first = {key.split(".")[0].split("[")[0] for line in
             (ROOT / "docs" / "json.md").read_text().splitlines() if line.startswith("| `")
             for key in re.findall(r"`([^`]+)`", line.split("|")[1])}
    answers = {name for name in dir(tidemark.Answer([], "", "", 0)) if not name.startswith("_")}
    assert not first & answers


def test_out_of_memory_is_an_answer(small):
    answer = tidemark.replay(small, "torch", memory="256MiB", overhead=0)
    assert answer.exit_code == 4 and answer.out_of_memory > 0
    assert answer.out_of_memory_events[0].bytes > 0


def test_no_is_an_answer(sample):
    answer = tidemark.fit(sample, "2GiB", exit_code=True)
    assert answer.exit_code == 1 and answer.survives is False


@pytest.mark.parametrize("ask, kind", [
    (lambda t: tidemark.replay(t, "nosuch"), tidemark.OptionError),
    (lambda t: tidemark.replay(t, nosuch=3), tidemark.OptionError),
    (lambda t: tidemark.replay(t, memory="80"), tidemark.OptionError),
    (lambda t: tidemark.replay("/nowhere/run.pickle"), tidemark.Error),
    (lambda t: tidemark.run("nosuch"), tidemark.Error),
    (lambda t: tidemark.run("view", t), tidemark.UnsupportedError),
    (lambda t: tidemark.advise(t, machine="cuda:0"), tidemark.UnsupportedError),
    (lambda t: tidemark.compare(), tidemark.OptionError),
])
def test_wrong_use_is_refused(sample, ask, kind):
    with pytest.raises(kind):
        ask(sample)


def test_traces_and_paths_are_the_same(small, tmp_path):
    trace = tidemark.load(small)
    assert steady(tidemark.replay(trace, "torch").to_dict()) == \
        steady(tidemark.replay(small, "torch").to_dict())
    with pytest.raises(tidemark.OptionError, match="cut"):
        tidemark.replay(trace[:100])
    odd = tidemark.load(small, lenient=True, as_recorded=True)
    assert {"--lenient", "--as-recorded"} <= set(tidemark.replay(odd).arguments)
    assert "--as-recorded" not in tidemark.verify(odd).arguments


def test_several_traces(small, sample):
    assert {run.trace for run in tidemark.compare(small, sample, policies=["torch"]).runs} == {
        "multistream.pickle.xz", "gpt2_var.pickle.xz"}
    assert len(tidemark.info(small, sample).traces) == 2
    assert tidemark.advise(small, sample).by


def test_tiers():
    answer = tidemark.replay(SAMPLES / "uses" / "query.jsonl.xz", gpu_memory="60%",
                             machine=tidemark.machines.h200_node)
    assert answer.spilled_bytes > 0


def test_run_is_exactly_the_program(small):
    answer = tidemark.run("info", small)
    assert answer.text == subprocess.check_output([program("tidemark"), "info", small], text=True)
    assert tidemark.run("policies", "--json").policies[0].name == "cuda-malloc"


def test_options_become_arguments():
    assert _option_arguments("replay", {
        "policy": "torch", "memory": 8 << 30, "limit": None, "check": True, "touch": False,
        "gpu_memory": ["60%", 1024], "machine": "cuda:0"}) == [
        "--policy=torch", "--memory=8589934592B", "--check", "--gpu-memory=60%",
        "--gpu-memory=1024B", "--device=cuda:0"]
    assert _option_arguments("replay", {"machine": "two-gpu"}) == ["--machine=two-gpu"]
    assert _option_arguments("fit", {"machine": "sim:h200"}) == ["--profile=h200"]


def test_progress_may_end_a_search():
    seen = []

    def progress(label, done, total):
        seen.append(label)
        return True

    try:
        answer = tidemark.advise("generate:mix:events=400000", budget=1000, spread=0,
                                 progress=progress)
        assert answer.interrupted
    except tidemark.CancelledError:
        pass
    assert seen


def test_interrupts_end_a_search():
    threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        tidemark.advise("generate:mix:events=400000", budget=100000, spread=0)
    assert time.monotonic() - begun < 20


@pytest.mark.parametrize("command, table", [
    ("compare", None), ("compare", "traces"), ("info", None), ("info", "sizes"), ("fit", None),
    ("replay", None), ("replay", "devices"), ("advise", "holders"), ("policies", None),
    ("policies", "policies.options")])
def test_frames_are_the_tables_of_csv(small, command, table):
    pandas = pytest.importorskip("pandas")
    import io

    options = {"compare": ["-p", "torch", "-p", "extent"], "fit": ["--spread=0"],
             "advise": ["--budget=2"]}.get(command, [])
    call = [command, *([] if command == "policies" else [small]), *options]
    frame = tidemark.run(*call, "--json").to_frame(table)
    text = tidemark.run(*call, "--csv", *(["--table", table] if table else [])).text
    printed_frame = pandas.read_csv(io.StringIO(text))
    assert list(frame.columns) == list(printed_frame.columns)
    assert len(frame) == len(printed_frame)
    for name in frame.columns:
        if not CHANGES.match(name.split(".")[-1]):
            ours = frame[name].dropna().astype(str).replace("", None).dropna().tolist()
            theirs = printed_frame[name].dropna().tolist()
            assert len(ours) == len(theirs)
            if printed_frame[name].dtype.kind in "if":
                assert [float(value) for value in ours] == pytest.approx(theirs)


def test_tables_that_are_not_there(small):
    pytest.importorskip("pandas")
    answer = tidemark.replay(small)
    with pytest.raises(tidemark.OptionError, match="one of: "):
        answer.to_frame("nosuch")
    assert "devices" in answer.tables


def test_pages(small, tmp_path):
    page = tmp_path / "page.html"
    written = tidemark.report(small, out=page, advise=False, no_advise=True)
    assert page.read_text().startswith("<!") and written.exit_code == 0
    other = tmp_path / "other.html"
    tidemark.compare(small, policies=["torch", "extent"]).report(other)
    assert "extent" in other.read_text()
    foreign = tmp_path / "mine.html"
    foreign.write_text("mine")
    with pytest.raises(tidemark.Error):
        tidemark.report(small, out=foreign, no_advise=True)
    assert foreign.read_text() == "mine"
    with pytest.raises(tidemark.UnsupportedError):
        tidemark.info(small).report(other)


def test_how_they_look(small):
    compared = tidemark.compare(small, policies=["torch", "extent"])
    assert compared.verdict in repr(compared)
    assert compared._repr_html_().count("<tr>") == 3 and "GiB" in compared._repr_html_()
    replayed = tidemark.replay(small)
    assert "peak_reserved_bytes: " in repr(replayed) and "<table>" in replayed._repr_html_()
    assert repr(replayed.devices[0]).startswith("Record(device=0")
    assert "<pre>" in tidemark.run("info", small)._repr_html_()


def test_markup_in_names_is_text():
    answer = tidemark.Answer(["compare"], json.dumps(
        {"verdict": "<b>", "runs": [{"label": "<script>", "peak_reserved_bytes": 1}]}), "", 0)
    assert "<script>" not in answer._repr_html_() and "<b>" not in answer._repr_html_()


def test_a_trace_that_is_open_is_not_read_again(tmp_path):
    path = tmp_path / "gone.tmk"
    tidemark.run("generate", "mix:events=1000", "-o", path)
    trace = tidemark.load(path)
    path.unlink()
    assert tidemark.replay(trace, "best-fit").events == len(trace)
    assert tidemark.run("info", trace, "--json").events == len(trace)
    with pytest.raises(tidemark.FileError):
        tidemark.replay(path, "best-fit")


def test_errors_name_keywords():
    with pytest.raises(tidemark.OptionError) as raised:
        tidemark.replay("generate:mix:events=100", "best-fit", gpu_memroy="60%")
    assert str(raised.value) == (
        "replay: there is no option 'gpu_memroy=60%'; did you mean gpu_memory?")


def test_scale_is_a_question_too():
    path = SAMPLES / "torch" / "gpt2_var.pickle.xz"
    answer = tidemark.scale(path, tokens=2, policies=["torch"])
    assert answer.rows[0].peak_reserved_bytes > answer.rows[0].before_peak_reserved_bytes
    assert not answer.length_known
    assert tidemark.scale(path, tokens="24/12", policies=["torch"]).rows == answer.rows
    assert tidemark.scale(path, steps=50, policies=["torch"]).steps_in_all == 50
    with pytest.raises(tidemark.errors.OptionError):
        tidemark.scale(path, length=2)
