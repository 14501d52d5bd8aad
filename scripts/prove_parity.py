"""The criteria of scripts/prove-on-gpu device: a run on a GPU against the same on the simulator.

Pure functions over the JSON of `tidemark`, the lines of its decisions, and what test programs
print; nothing here starts anything.
"""
import itertools
import re
import statistics
import typing

MIB = 1 << 20
HANDLE = 2 * MIB  # granularity of a GPU's memory: the allowed error of a peak per handle
TIME_TOLERANCE = 0.15  # of the measured driver time
CALIBRATE_SECONDS = 60
ONE_GPU = "one GPU only"  # why a test of peers is skipped


class Fact(typing.NamedTuple):
    """One line of the table. `ok` is None for checks that were left out."""

    subject: str
    what: str
    ok: typing.Optional[bool]
    note: str = ""


def difference_of_lines(real, simulated):
    """(number, real line, simulated line) of the first difference between two iterables of lines,
    counted from 1; a missing line is None. None if they are equal."""
    for number, pair in enumerate(itertools.zip_longest(real, simulated), 1):
        if pair[0] != pair[1]:
            return (number, *(line if line is None else line.rstrip("\n") for line in pair))
    return None


def most_handles(decisions):
    """The largest number of pieces of memory that existed at the same time: those allocated from
    the driver, or created and not yet released."""
    live, most = set(), 0
    for line in decisions:
        words = line.split()[1:]  # without the event
        if len(words) < 3:
            continue
        device, call = words[0], words[1]
        if call in ("malloc", "malloc_async", "create") and re.fullmatch(r"[a-z]+\d+", words[-1]):
            live.add((device, words[-1]))
            most = max(most, len(live))
        elif call in ("free", "free_async", "release"):
            live.discard((device, words[2]))
    return most


def check_decisions(subject, real, simulated, difference):
    """Both ran and made the same decisions, at least one."""
    failed = broken(subject, "decisions", real, simulated)
    if failed:
        return failed
    if difference:
        number, one, other = difference
        return Fact(subject, "decisions", False,
                    f"line {number}: '{one}' on the GPU, '{other}' on the simulator")
    if not real.get("decisions") or real["decisions_hash"] != simulated["decisions_hash"]:
        return Fact(subject, "decisions", False, "no decisions, or another hash of the same lines")
    return Fact(subject, "decisions", True, f"{real['decisions']:,} equal")


def check_time(subject, real, simulated, measured=None):
    """The simulated driver time is within TIME_TOLERANCE of the measured. `measured` are the times
    of all runs on the GPU, of which the median counts."""
    failed = broken(subject, "driver time", real, simulated)
    if failed:
        return failed
    times = sorted(measured or [real["driver_ns"]])
    middle, predicted = times[len(times) // 2], simulated["driver_ns"]
    if not middle:
        return Fact(subject, "driver time", False, "the GPU's driver took no time")
    off = (predicted - middle) / middle
    note = f"{predicted / 1e6:,.2f} for {middle / 1e6:,.2f} ms, {100 * off:+.1f} %"
    if len(times) > 1:
        note += f" ({times[0] / 1e6:,.2f} to {times[-1] / 1e6:,.2f})"
    return Fact(subject, "driver time", abs(off) <= TIME_TOLERANCE, note)


def check_total_time(policy, times):
    """The same over all traces. `times`: (simulated, measured) of each, None if one failed."""
    if not times or not all(all(pair) for pair in times):
        return Fact(policy, "driver time of all", False, "a run is missing")
    predicted, measured = (sum(each) for each in zip(*times))
    off = (predicted - measured) / measured
    return Fact(policy, "driver time of all", abs(off) <= TIME_TOLERANCE,
                f"{predicted / 1e6:,.1f} for {measured / 1e6:,.1f} ms, {100 * off:+.1f} %")


def median_profile(profiles):
    """The median, number by number, of profiles of one card measured one after another."""
    first = profiles[0]
    if isinstance(first, dict):
        return {key: median_profile([each[key] for each in profiles])
                for key in first if all(key in each for each in profiles)}
    if isinstance(first, list):
        return [median_profile(list(each)) for each in zip(*profiles)]
    return first if isinstance(first, str) else int(statistics.median(profiles))


def check_peak(subject, real, handles):
    """The GPU's missing memory at the peak equals what the policy reported, within 2 MiB a handle."""
    failed = broken(subject, "peak", real, real)
    if failed:
        return failed
    held, taken = real.get("peak_reserved_bytes"), real.get("device_peak_bytes")
    if held is None or taken is None:
        return Fact(subject, "peak", False, "no peak is reported")
    off, allowed = taken - held, HANDLE * max(handles, 1)
    note = f"{held / MIB:,.0f} for {taken / MIB:,.0f} MiB, {off / MIB:+,.1f} MiB, {handles} handles"
    return Fact(subject, "peak", abs(off) <= allowed, note)


def check_leak(subject, real):
    """No memory is missing after everything was destroyed."""
    leak = real.get("device_leak_bytes")
    if leak is None:
        return Fact(subject, "given back", False, first_line(real.get("error")) or "not told")
    return Fact(subject, "given back", abs(leak) <= HANDLE, f"{leak / MIB:+,.1f} MiB")


def check_touch(subject, run):
    """All allocated memory was written and checked, and no byte belonged to two blocks."""
    touch = run.get("touch")
    if not touch:
        return Fact(subject, "content", False, first_line(run.get("error")) or "nothing touched")
    sound = touch["allocations"] > 0 and not touch["differing_bytes"] and \
        not touch["failures"] and not touch["damaged"]
    note = f"{touch['allocations']:,} allocations, {touch['bytes'] / (1 << 30):,.1f} GiB"
    if not sound:
        note += f"; {touch['differing_bytes']:,} bytes differ in {touch['damaged']:,} of them, " \
                f"{touch['failures']:,} calls failed; first: {touch.get('first_difference')}"
    return Fact(subject, "content", sound, note)


def check_calibrate(document, seconds):
    """A profile was written in time."""
    if "error" in document:
        return Fact("calibrate", "profile", False, first_line(document["error"]))
    return Fact("calibrate", "profile", seconds < CALIBRATE_SECONDS, f"in {seconds:.1f} s")


def check_tests(name, code, output):
    """A test program ran all its tests on the GPU: one that found none proves nothing. Tests that
    need two GPUs may be left out, and are named."""
    skipped = [line.strip() for line in output.splitlines() if "skipped" in line]
    if any(ONE_GPU not in line for line in skipped):
        return Fact(name, "tests", False, next(each for each in skipped if ONE_GPU not in each))
    said = re.findall(r"All tests passed \((.*)\)", output)  # its children print before it does
    if code == 0 and said:
        left_out = f"; {skipped[0]}" if skipped else ""
        return Fact(name, "tests", True, said[-1] + left_out)
    failed = [line.strip() for line in output.splitlines() if ": FAILED" in line]
    ends = f"exit code {code}" if code is not None else "cut off"
    return Fact(name, "tests", False, "; ".join([ends, *failed[:3]]))


def graph_facts(output):
    """The facts that the graph proof printed: a line for each source of intermediates."""
    for line in output.splitlines():
        said = re.match(r"(.*?) +(\d+) bytes, (\d+) launches: (\d+) words of the output wrong, "
                        r"(\d+) of others", line)
        if said:
            source, size, launches, outputs, others = said.groups()
            expected = "shared" in source  # the source that must fail
            wrong = int(outputs) + int(others)
            yield Fact(f"graph of {int(size):,} bytes", source.strip(), (wrong > 0) == expected,
                       f"{int(launches):,} launches, {wrong:,} words wrong"
                       f"{', as they must be' if expected and wrong else ''}")


def broken(subject, what, real, simulated):
    """The fact of a pair of runs of which one did not finish; else None."""
    for where, run in (("GPU", real), ("simulator", simulated)):
        if "error" in run:
            return Fact(subject, what, False, f"{where}: {first_line(run['error'])}")
        if "driver_ns" not in run:
            return Fact(subject, what, False, f"{where}: printed no such result")
    return None


def first_line(text):
    return ((text or "").strip().splitlines() or [""])[0]


def table(facts):
    """The facts as text, failures marked."""
    rows = [("", "subject", "check", "")]
    words = {True: "ok", False: "FAIL", None: "skip"}
    rows += [(words[fact.ok], fact.subject, fact.what, fact.note) for fact in facts]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    return "\n".join("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths)),
                                row[3]]).rstrip() for row in rows)
