#!/usr/bin/env python3
"""Compares predictions with real runs of the same programs.

Usage: scripts/prove_predict.py measure FOLDER NAME ...                   on the GPU, optional
       scripts/prove_predict.py predict FOLDER [--card h100] [NAME ...]   needs no GPU
       scripts/prove_predict.py run FOLDER                                on the GPU
       scripts/prove_predict.py compare FOLDER [--json]
       scripts/prove_predict.py picture FOLDER NAME -o PICTURE.svg

`measure` writes FOLDER/NAME.book.json with cuDNN's workspaces in the program on the GPU. `predict` uses
that file if it exists, and writes FOLDER/NAME.SETTING.predicted.{tml,json} for the programs of
predict_programs.py under each setting. `run` runs what was predicted there and writes
FOLDER/NAME.SETTING.real.{tml,json}. `compare` prints the results, and for every miss what differs.
`picture` draws both curves of one program. Programs named two_* run on two GPUs. The environments must
have the same versions of PyTorch and of the programs' packages.
"""
import argparse
import concurrent.futures
import difflib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from memory_chart import MemoryChart, line_colours

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE / "predict_programs.py"
SETTINGS = {"default": "", "expandable": "expandable_segments:True"}
MIB = 1 << 20
sys.path.insert(0, str(HERE.parent / "python"))


def run(command, conf, log, timeout):
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent / "python"), "TQDM_DISABLE": "1"}
    for name in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"):
        environment.pop(name, None)
        if conf:
            environment[name] = conf
    # Compilation needs memory too, so a run must not use what another one has compiled.
    environment["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp(prefix="inductor-")
    begun = time.monotonic()
    with open(log, "w", encoding="utf-8") as file:
        try:
            code = subprocess.run([sys.executable, "-B", *map(str, command)], env=environment,
                                  stdout=file, stderr=subprocess.STDOUT, timeout=timeout,
                                  check=False).returncode
        except subprocess.TimeoutExpired:
            code = 124
    shutil.rmtree(environment["TORCHINDUCTOR_CACHE_DIR"], ignore_errors=True)
    text = pathlib.Path(log).read_text(encoding="utf-8", errors="replace")
    stats = [json.loads(line) for line in re.findall(r'\{"reserved"[^}]*\}', text)]
    return {"code": code, "seconds": time.monotonic() - begun,
            "stats": sorted(stats, key=lambda one: one.get("rank", 0))}


def program_names():
    listed = subprocess.run([sys.executable, "-B", "-m", "tidemark.predict",
                             str(PROGRAMS)], capture_output=True, text=True, check=False,
                            env={**os.environ, "PYTHONPATH": str(HERE.parent / "python")})
    return [line.split()[0] for line in listed.stdout.splitlines() if len(line.split()) == 2]


def one(folder, kind, name, setting, card):
    path = folder / f"{name}.{setting}.{kind}"
    conf = SETTINGS[setting]
    two = name.startswith("two_")
    book = folder / f"{name}.book.json"
    if kind == "predicted":
        command = ["-m", "tidemark.predict", "--force", "--card", card,
                   *["--world-size", "2"] * two]
        if book.exists():
            command += ["--book", book]
    elif kind == "measured":
        command = ["-m", "tidemark.predict", "--measure", book]
    else:
        port = ["--master-port", str(29500 + hash(name) % 1000)]
        command = [*["-m", "torch.distributed.run", "--nproc-per-node", "2", *port] * two,
                   "-m", "tidemark.record", "--force"]
    if kind != "measured":
        command += ["-o", f"{path}.tml"]
    found = run([*command, PROGRAMS, name], conf, f"{path}.log", 560)
    pathlib.Path(f"{path}.json").write_text(json.dumps(found))
    print(f"{name} {setting}: {found['code']}, {found['seconds']:.0f} s, {found['stats']}", flush=True)


def in_parallel(workers, tasks):
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda task: one(*task), tasks))


def requests(path):
    """The requested sizes, in order."""
    import tidemark

    trace = tidemark.load(str(path))
    kinds = trace.kind
    names = tidemark.trace.kind_names()
    sizes = trace.size
    return [int(size) for kind, size in zip(kinds, sizes) if names[kind] == "allocate"]


def alike(one, other):
    """The share of requests that are the same, in order."""
    if one == other:
        return 1.0
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
    return 2 * sum(block.size for block in matcher.get_matching_blocks()) / (len(one) + len(other))


def compare(folder):
    rows = []
    for path in sorted(folder.glob("*.real.json")):
        name, setting = path.name.split(".")[:2]
        real = json.loads(path.read_text())
        other = folder / f"{name}.{setting}.predicted.json"
        if not other.exists():
            rows.append({"program": name, "setting": setting, "failed": "predicted"})
            continue
        predicted = json.loads(other.read_text())
        row = {"program": name, "setting": setting, "seconds": predicted["seconds"]}
        ranks = max(len(real["stats"]), 1)
        if len(predicted["stats"]) < ranks or not real["stats"]:
            rows.append({**row, "failed": "predicted" if real["stats"] else "real"})
            continue
        for rank in range(ranks):
            rows.append({**row, **compare_rank(folder, f"{name}.{setting}", predicted, real, rank)})
    return rows


def compare_rank(folder, name, predicted, real, rank):
    alone = len(real["stats"]) == 1
    row = {} if alone else {"program": f"{name.split('.')[0]}/{rank}"}
    for key in ("reserved", "requested"):
        row[key] = [side["stats"][rank][key] for side in (predicted, real)]
    file = ".tml" if alone else f"/rank{rank}.tml"
    sides = [requests(folder / f"{name}.{kind}{file}") for kind in ("predicted", "real")]
    row["smallest"] = [smallest(folder / f"{name}.{kind}{file}") for kind in ("predicted", "real")]
    row["same_order"] = sides[0] == sides[1]
    row["alike"] = alike(*sides) if max(map(len, sides)) < 60000 else float(row["same_order"])
    return row


def smallest(path):
    """The smallest card on which that run fits, found by replays."""
    import tidemark

    return tidemark.fit(str(path), policies=["torch"], overhead=0).candidates[0].smallest_bytes


def curve(path):
    """Reserved bytes after each event that changes them, over the number of requests before it."""
    import tidemark

    trace = tidemark.load(str(path))
    names = tidemark.trace.kind_names()
    requested, reserved, points = 0, 0, [(0, 0)]
    for kind, size in zip(trace.kind, trace.size):
        if names[kind] == "allocate":
            requested += 1
        elif names[kind] in ("segment_alloc", "segment_free"):
            reserved += int(size) if names[kind] == "segment_alloc" else -int(size)
            points.append((requested, reserved))
    return [*points, (requested, reserved)]


def picture(folder, name, output):
    """The steps of both: the real run as a band, the predicted one as a line over it."""
    measured, _, predicted = line_colours()
    curves = [curve(folder / f"{name}.default.{kind}.tml") for kind in ("real", "predicted")]
    chart = MemoryChart(max(value for points in curves for _, value in points) * 1.08)
    last = max(points[-1][0] for points in curves)

    def path_of(points):
        return " ".join(f"{chart.x(at / last):.1f},{chart.y(y):.1f}"
                        for (at, value), (_, before) in zip(points, [(0, 0), *points])
                        for y in (before, value))

    output.write_text(chart.text(
        [f'<polyline points="{path_of(curves[0])}" fill="none" stroke="{measured}" stroke-width="7"/>',
         f'<polyline points="{path_of(curves[1])}" fill="none" stroke="{predicted}" stroke-width="2"/>'],
        f'reserved: <tspan fill="{measured}">on an H100</tspan>, '
        f'<tspan fill="{predicted}">predicted before</tspan>', f"allocations ({last:,} of them)"))


def show(rows):
    good = [row for row in rows if "failed" not in row]
    for row in rows:
        if "failed" in row:
            print(f"{row['program']:20} {row['setting']:10}  the {row['failed']} run failed")
            continue
        (here, there), (asked, really) = row["reserved"], row["requested"]
        print(f"{row['program']:20} {row['setting']:10} {here / MIB:9,.0f} {there / MIB:9,.0f} MiB "
              f"{100 * (here / there - 1):+7.2f} %   requested {100 * (asked / really - 1):+8.4f} %"
              f"   order {'same' if row['same_order'] else format(row['alike'], '.4f')}"
              f"   {row['seconds']:.0f} s")

    def share(of):
        return f"{sum(map(of, good))} of {len(good)}"

    off = [abs(row["reserved"][0] / row["reserved"][1] - 1) for row in good]
    print(f"reserved to 2 MiB: {share(lambda r: abs(r['reserved'][0] - r['reserved'][1]) <= 2 * MIB)}; "
          f"within 1 %: {sum(one <= .01 for one in off)}; within 3 %: {sum(one <= .03 for one in off)}")
    borders = [here <= there * 1.01 and there <= here * 1.01
               for here, there in (row["smallest"] for row in good)]
    print(f"smallest card within 1 %: {sum(borders)} of {len(borders)}")
    print(f"requested to the byte: {share(lambda r: r['requested'][0] == r['requested'][1])}; "
          f"same order: {share(lambda r: r['same_order'])}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["measure", "predict", "run", "compare", "picture"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--card", default="h100")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--settings", nargs="*", default=list(SETTINGS), choices=list(SETTINGS))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("-o", "--output", type=pathlib.Path, default="predict.svg")
    options = parser.parse_intermixed_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.step == "picture":
        picture(options.folder, options.names[0], options.output)
        return
    if options.step == "compare":
        rows = compare(options.folder)
        print(json.dumps(rows, indent=1)) if options.json else show(rows)
        return
    if options.step == "measure":
        tasks = [(options.folder, "measured", name, "default", options.card)
                 for name in options.names]
    elif options.step == "predict":
        tasks = [(options.folder, "predicted", name, setting, options.card)
                 for name in options.names or program_names() for setting in options.settings]
    else:
        tasks = [(options.folder, "real", *path.name.split(".")[:2], options.card)
                 for path in sorted(options.folder.glob("*.predicted.json"))
                 if not options.names or path.name.split(".")[0] in options.names]
    in_parallel(options.workers, tasks)


if __name__ == "__main__":
    main()
