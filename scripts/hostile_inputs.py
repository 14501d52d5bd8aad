"""The valid inputs that scripts/hostile breaks: small ones of every format, generated or from tests."""
import dataclasses
import gzip
import lzma
import os
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
CORPUS = ROOT / "tests" / "fuzz" / "corpus"
# Folder of the test corpus -> file ending of that format.
FORMATS = {"torch_snapshot": ".pickle", "rmm_csv": ".csv", "jsonl": ".jsonl",
           "nsight_sqlite": ".sqlite", "torch_profiler": ".json", "pprof": ".prof", "tmk": ".tmk"}
GENERATED = ["mix:seed=3,events=300", "query:seed=2,tasks=5", "training:seed=1,steps=2"]
RINGS = 1 << 20  # bytes of a shared file that has everything a short program published
PUBLISHER = """
import sys, tidemark
context = tidemark.Context(machine="sim", policy="torch", record=sys.argv[1])
blocks = [context.alloc((i % 7 + 1) << 20) for i in range(40)]
for block in blocks[::2]:
    context.free(block)
print("published", flush=True)
sys.stdin.read()
"""


@dataclasses.dataclass
class Left:
    """A long sparse file: `data`, and zeros up to `size`."""
    path: str  # below the folder of a run
    data: bytes
    size: int


@dataclasses.dataclass
class Inputs:
    folder: pathlib.Path
    traces: dict     # file name -> bytes
    sides: dict      # "machine", "profile", ... -> bytes
    published: list  # Left: the files of a killed program
    long_trace: bytes  # .tmk, long enough to be read for a while


def make(folder, build):
    """Creates all inputs, which takes a few seconds. The sweep's units and others are of this build."""
    folder.mkdir(parents=True)
    program = str(pathlib.Path(build).resolve() / "tidemark")

    def call(*words):
        done = subprocess.run([program, *words], cwd=folder, capture_output=True, check=False)
        if done.returncode not in (0, 1, 4):
            sys.exit(f"hostile: {' '.join(words)} failed: {done.stderr.decode()}")
        return done.stdout

    traces = {}
    for name, ending in FORMATS.items():
        for path in sorted((CORPUS / name).iterdir()):
            traces[f"{name}-{path.name.replace('.', '_')}{ending}"] = path.read_bytes()
    for spec in GENERATED:
        name = spec.split(":")[0]
        call("generate", spec, "-o", f"{name}.tmk")
        for ending in ("jsonl", "csv"):
            call("export", f"{name}.tmk", "-o", f"{name}.{ending}")
        for ending in ("tmk", "jsonl", "csv"):
            traces[f"{name}.{ending}"] = (folder / f"{name}.{ending}").read_bytes()
    traces["query.jsonl.gz"] = gzip.compress(traces["query.jsonl"], mtime=0)
    traces["mix.csv.xz"] = lzma.compress(traces["mix.csv"])
    published = publish(folder, build)
    traces.update((f"left{i}.tml", left.data) for i, left in enumerate(published)
                  if left.path.endswith(".tml"))
    (folder / "mix.jsonl").write_bytes(traces["mix.jsonl"])
    sides = {
        "machine": call("machines", "h200-node", "-o", "-"),
        "profile": call("calibrate", "--device", "sim:h200", "--quick", "-o", "-"),
        "spec": (CORPUS / "sweep_inputs" / "spec.json").read_bytes(),
        "plan": (CORPUS / "plan_file" / "multistream.csv").read_bytes(),
    }
    call("gate", "mix.tmk", "-p", "torch", "--write-baseline", "baseline.json")
    sides["baseline"] = (folder / "baseline.json").read_bytes()
    call("sweep", "mix.tmk", "-o", "units", "-p", "torch", "-p", "bump")
    for i, unit in enumerate(sorted(path for path in (folder / "units").rglob("*")
                                    if path.is_file())):
        sides[f"unit{i}:{unit.relative_to(folder / 'units')}"] = unit.read_bytes()
    call("generate", "mix:seed=5,events=400000", "-o", "long.tmk")
    return Inputs(folder, traces, sides, published, (folder / "long.tmk").read_bytes())


def publish(folder, build):
    """The files of a program that publishes and is killed: its shared file and its recording."""
    home = folder / "published"
    home.mkdir()
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "python"),
                       TIDEMARK_LIBRARY=str(pathlib.Path(build).resolve() / "libtidemark.so"),
                       TIDEMARK_RUNTIME_DIR=str(home / "runtime"),
                       TIDEMARK_RECORDINGS=str(home / "recordings"))
    for name in ("victim", str(home / "named.tml")):
        process = subprocess.Popen([sys.executable, "-c", PUBLISHER, name], env=environment,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if process.stdout.readline() != b"published\n":
            sys.exit("hostile: a program could not publish")
        time.sleep(0.2)  # until its writer has written a part of it
        process.kill()
        process.wait()
    left = []
    for path in sorted(path for path in home.rglob("*") if path.is_file()):
        with open(path, "rb") as file:  # only the start of a ring has been written
            data = file.read(RINGS).rstrip(b"\0")
        left.append(Left(str(path.relative_to(home)), data, path.stat().st_size))
    shutil.rmtree(home)
    return left
