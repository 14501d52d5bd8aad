"""Measures this computer's links and disks, and prints the figures for its machine file.

Runs `tidemark machines --discover --measure --json` and prints a line for each figure: its median, the
smallest and largest of its runs, and their spread; then what could not be measured, and why; then the
links and buses of the machine in the format of backends/machines/shipped. Only the program has to be
copied to the computer. Exit code 1 if the program failed, or a GPU was not measured.

Examples:
  scripts/prove-on-gpu machine --tidemark build/release/tidemark --disk /scratch
  scripts/prove-on-gpu machine --quick -o out/here.json
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

UNITS = {"bytes_per_second": (1e9, "GB/s")}  # all others are nanoseconds


def command(options):
    words = [options.tidemark, "machines", "--discover", "--measure", "--json"]
    for directory in options.disk:
        words += ["--disk", directory]
    if options.gpus:
        words += ["--gpus", options.gpus]
    if options.quick:
        words.append("--quick")
    if options.output:
        words += ["-o", options.output]
    return [str(word) for word in words]


def figure_line(measured):
    divisor, unit = UNITS.get(measured["figure"], (1, "ns"))
    median, least, most = (measured[key] / divisor for key in ("median", "least", "most"))
    spread = (most - least) / median * 100 if median else 0
    return f"{measured['what']:<18} {measured['figure']:<16} {median:>11.3f} {unit:<4} " \
           f"{least:>11.3f} to {most:>11.3f}  {measured['runs']} runs, spread {spread:.1f} %"


def unmeasured(machine):
    """The notes about figures that are still estimates because they could not be measured."""
    return [f"{note['what']}: {note['how']}" for note in machine["derived"]
            if "not measured" in note["how"]]


def member(key, value):
    return f"{json.dumps(key)}: {json.dumps(value)}"


def shipped_lines(machine):
    """Links and buses in the format of a machine file."""
    lines = []
    for link in machine["links"]:
        values = [("source", link["source"]), ("target", link["target"]),
                  ("bytes_per_second", link["bytes_per_second"]),
                  ("overhead", link["overhead_ns"]), ("latency", link["latency_ns"])]
        if link["bus"]:
            values.append(("bus", link["bus"]))
        lines.append("{" + ", ".join(member(*value) for value in values) + "}")
    for bus in machine["buses"]:
        lines.append("{" + ", ".join(member(*item) for item in bus.items()) + "}")
    return lines


def gpus_missed(document):
    """GPUs of the machine for which nothing was measured."""
    measured = {figure["what"] for figure in document["measured"]}
    return [space["space"] for space in document["machines"][0]["spaces"]
            if space["space"].startswith("gpu:") and f"{space['space']} -> host" not in measured]


def report(document):
    machine = document["machines"][0]
    lines = [figure_line(measured) for measured in document["measured"]]
    lines += ["", *(f"{note['what']}: {note['how']}" for note in machine["derived"])]
    if unmeasured(machine):
        lines += ["", "not measured:", *unmeasured(machine)]
    return "\n".join([*lines, "", *shipped_lines(machine)])


def main():
    parser = argparse.ArgumentParser(prog="scripts/prove-on-gpu machine", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tidemark", type=pathlib.Path,
                        default=os.environ.get("TIDEMARK", "build/release/tidemark"),
                        help="the program (default: $TIDEMARK, else build/release/tidemark)")
    parser.add_argument("--disk", action="append", default=[], help="a directory to measure")
    parser.add_argument("--gpus", default="", help="which, as in CUDA_VISIBLE_DEVICES")
    parser.add_argument("--quick", action="store_true", help="about 10 s instead of a minute")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="write the machine file there")
    options = parser.parse_args()
    try:
        done = subprocess.run(command(options), check=False, stdout=subprocess.PIPE, text=True)
    except OSError as error:
        print(f"{options.tidemark}: {error.strerror}; --tidemark names the program",
              file=sys.stderr)
        return 1
    if done.returncode != 0:
        return 1
    document = json.loads(done.stdout)
    print(report(document))
    missed = gpus_missed(document)
    for gpu in missed:
        print(f"{gpu} was not measured", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
