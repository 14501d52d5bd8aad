#!/usr/bin/env python3
"""Compares `tidemark scale` with real runs of the same programs with larger batches.

Usage: scripts/prove_scale.py predict FOLDER [--times N ...] [--axis length] NAME ...   no GPU needed
       scripts/prove_scale.py run FOLDER [--times N ...] [--axis length] NAME ...       on a GPU
       scripts/prove_scale.py compare FOLDER [--times N] [--axis length]
       scripts/prove_scale.py fit FOLDER [--workers N] [NAME ...]                     on a GPU
       scripts/prove_scale.py cost FOLDER                                            on a GPU
       scripts/prove_scale.py picture FOLDER [--times N ...] NAME -o PICTURE.svg

`predict` and `run` record each program of predict_programs.py unchanged, and with batches (or texts) N
times as large, on the imagined CUDA or on the GPU: FOLDER/NAME.1.tml and FOLDER/NAME.N.tml. `compare`
lets `scale` predict the second recording from the first one, in each setting. `fit` asks `scale` for
the largest batch of each program that `run` recorded, in 1.6 times the memory that it needed. It then
runs the program there with that batch, rounded down, and with 5 % more than may fit, rounded up. `cost`
measures the cost of recording a step. `picture` draws the prediction of `scale` for one program, and
the recorded peaks.
"""
import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

from memory_chart import MemoryChart, line_colours

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE / "predict_programs.py"
SETTINGS = ("torch", "torch:expandable_segments=true", "extent")
MIB = 1 << 20


def recording(folder, name, times, axis):
    return folder / f"{name}.{times}{'.length' if axis == 'length' and times != 1 else ''}.tml"


def record(folder, name, times, module, axis):
    path = recording(folder, name, times, axis)
    ranks = ["torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m"] if name.startswith("two_") else []
    if path.exists():
        return
    with open(path.with_suffix(".log"), "w", encoding="utf-8") as log:
        code = subprocess.run(
            [sys.executable, "-B", "-m", *ranks, *module, "-o", path, PROGRAMS, name], stdout=log, stderr=subprocess.STDOUT, check=False,
            env={**os.environ, f"TIMES_{axis.upper()}": str(times), "TQDM_DISABLE": "1",
                 "PYTHONPATH": str(HERE.parent / "python")}).returncode
    for rank in path.with_suffix("").glob("rank*.tml"):
        rank.rename(recording(folder, f"{name}_{rank.stem}", times, axis))
    print(f"{name} x{times}: {code}", flush=True)


def scaled_peaks(tidemark, path, times, axis="tokens"):
    """The peaks that `scale` predicts for each setting, with their ranges; or why it can't."""
    if times == 1:
        return {setting: 3 * [peak(tidemark, path, setting)] for setting in SETTINGS}
    done = subprocess.run([tidemark, "scale", "--json", f"--{axis}", f"x{times}", path,
                           *[word for setting in SETTINGS for word in ("-p", setting)]],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1]
    rows = {row["policy"]: row for row in json.loads(done.stdout)["rows"]}
    return {setting: [rows[setting][f"peak_reserved_{which}bytes"] for which in
                      ("", "least_", "most_")] for setting in SETTINGS}


def peak(tidemark, path, setting):
    done = subprocess.run([tidemark, "replay", "--json", "-p", setting, path],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["peak_reserved_bytes"]


def largest_growth(tidemark, path, setting, memory):
    done = subprocess.run([tidemark, "scale", "--json", "--fit", str(memory), "--overhead", "0", "-p", setting, path],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    row = next(row for row in json.loads(done.stdout)["rows"] if row["policy"] == setting)
    return row["largest_growth_surely"], row["largest_growth_perhaps"]


def survives(name, times, rounded, setting, memory):
    conf = "expandable_segments:True" if "expandable" in setting else ""
    done = subprocess.run([sys.executable, "-B", PROGRAMS, name], capture_output=True, text=True, check=False,
                          env={**os.environ, "TIMES_BATCH": str(times), "ROUND_BATCH": rounded, "MEMORY_LIMIT": str(memory),
                               "PYTORCH_CUDA_ALLOC_CONF": conf, "TQDM_DISABLE": "1"})
    if done.returncode and "OutOfMemoryError" not in done.stderr:
        raise RuntimeError(f"{name}: {done.stderr[-500:]}")
    return done.returncode == 0


def fit_one(folder, name, setting, tidemark):
    path = folder / f"{name}.1.tml"
    memory = int(1.6 * peak(tidemark, path, setting)) // (2 * MIB) * 2 * MIB
    growth = largest_growth(tidemark, path, setting, memory)
    if not growth or not growth[0]:
        print(f"fit {name:24} {setting}: no prediction", flush=True)
        return None
    try:
        found = (survives(name, growth[0], "down", setting, memory),
                 not survives(name, 1.05 * growth[1], "up", setting, memory))
    except RuntimeError as error:
        print(error, flush=True)
        return None
    print(f"fit {name:24} {setting:32} {memory // MIB:6,} MiB: x{growth[0]:.2f} to x{growth[1]:.2f}, "
          f"survives: {found[0]}, dies with more: {found[1]}", flush=True)
    return found


def fit(folder, names, workers, tidemark):
    names = names or sorted(path.name[:-6] for path in folder.glob("*.1.tml"))
    tasks = [(folder, name, setting, tidemark) for name in names for setting in SETTINGS[:2]]
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        found = [one for one in pool.map(lambda task: fit_one(*task), tasks) if one]
    print(f"fit: {len(found)} runs, {sum(one[0] for one in found)} survive, "
          f"{sum(one[1] for one in found)} die with more")


def compare(folder, times, tidemark, axis):
    off = {setting: [] for setting in SETTINGS}
    for path in sorted(folder.glob("*.1.tml")):
        larger = recording(folder, path.name[:-6], times, axis)
        if not larger.exists():
            continue
        found = scaled_peaks(tidemark, path, times, "length" if axis == "length" else "tokens")
        if isinstance(found, str):
            print(f"{path.name[:-6]:24} {found}")
            continue
        cells = []
        for setting, (likely, least, most) in found.items():
            real = peak(tidemark, larger, setting)
            inside = least * 0.99 <= real <= most * 1.01
            error = likely / real - 1
            off[setting].append((abs(error), inside, most / least - 1))
            cells.append(f"{likely / MIB:7,.0f} ({least / MIB:,.0f} to {most / MIB:,.0f}) for {real / MIB:7,.0f} "
                         f"{100 * error:+6.2f} %")
        print(f"{path.name[:-6]:24} " + " | ".join(cells))
    for setting, all_of in off.items():
        if not all_of:
            continue
        errors = [error for error, _, _ in all_of]
        print(f"{setting}: {len(errors)} programs, median {100 * statistics.median(errors):.2f} %, "
              f"within 3 %: {sum(one <= .03 for one in errors)}, in the range: "
              f"{sum(inside for _, inside, _ in all_of)}, which is wide: median "
              f"{100 * statistics.median(width for _, _, width in all_of):.1f} %, mean "
              f"{100 * statistics.mean(width for _, _, width in all_of):.1f} %")


def picture(folder, name, times, output, tidemark):
    path = folder / f"{name}.1.tml"
    growths = [.25 * number for number in range(2, 4 * max(times) + 1)]
    told = [scaled_peaks(tidemark, path, growth) for growth in growths]
    chart = MemoryChart(1.08 * max(peaks[0] for peaks in told[-1].values()))
    names = {"torch": "defaults", "torch:expandable_segments=true": "expandable segments"}
    colours = dict(zip(SETTINGS, line_colours()))
    shapes = []
    for setting, colour in colours.items():
        line = " ".join(f"{chart.x(growth / growths[-1]):.1f},{chart.y(peaks[setting][0]):.1f}"
                        for growth, peaks in zip(growths, told))
        shapes.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for growth in (1, *times):
            y = chart.y(peak(tidemark, folder / f"{name}.{growth}.tml", setting))
            shapes.append(f'<circle cx="{chart.x(growth / growths[-1]):.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>')
    for growth in (1, *times):
        shapes.append(f'<text x="{chart.x(growth / growths[-1]):.1f}" y="{chart.y(0) + 16:.0f}" '
                      f'text-anchor="middle">x{growth}</text>')
    title = ", ".join(f'<tspan fill="{colour}">{names.get(setting, setting)}</tspan>'
                      for setting, colour in colours.items())
    output.write_text(chart.text(shapes, f"lines: predicted from x1; dots: recorded. {title}",
                                 "batch"))


def cost(folder):
    """The cost of a step that waits for the host, with a recording, and with shapes."""
    import torch

    import tidemark.torch

    layer = torch.nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 8).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    text = torch.randn(4, 64, 128, device="cuda")

    def steps(count):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(count):
            model(text).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        torch.cuda.synchronize()
        return 1e3 * (time.perf_counter() - begin) / count

    steps(20)
    modes = {"none": None, "recorded": {}, "with shapes": {"shapes": True}}
    times = {mode: [] for mode in modes}
    for number in range(12):
        for mode, options in modes.items():
            path = folder / f"cost{number}.tml"
            with contextlib.nullcontext() if options is None else \
                    tidemark.torch.record(path, overwrite=True, **options):
                times[mode].append(steps(30))
    for mode, each in times.items():
        print(f"cost {mode}: {statistics.median(each):.3f} ms a step ({min(each):.3f} to {max(each):.3f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["predict", "run", "compare", "fit", "picture", "cost"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--times", type=int, nargs="*", default=[2])
    parser.add_argument("--axis", choices=["batch", "length"], default="batch")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("scale.svg"))
    parser.add_argument("--tidemark", default=HERE.parent / "build" / "release" / "tidemark")
    options = parser.parse_intermixed_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.step == "compare":
        for times in options.times:
            print(f"x{times}")
            compare(options.folder, times, options.tidemark, options.axis)
        return
    if options.step == "picture":
        picture(options.folder, options.names[0], options.times, options.output, options.tidemark)
        return
    if options.step == "cost":
        cost(options.folder)
        return
    if options.step == "fit":
        fit(options.folder, options.names, options.workers, options.tidemark)
        return
    module = ["tidemark.predict", "--once"] if options.step == "predict" else ["tidemark.record", "--shapes"]
    tasks = [(options.folder, name, times, module, options.axis) for name in options.names
             for times in (1, *options.times)]
    with concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
        list(pool.map(lambda task: record(*task), tasks))


if __name__ == "__main__":
    main()
