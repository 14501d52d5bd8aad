"""What scripts/prove-on-gpu calls true: predictions against what a real run reported.

Pure functions over the JSON of `tidemark` and of the runs; nothing here starts anything.
"""
import typing

TOLERANCE = 0.01  # of the real peak, for predictions under settings that were not recorded
BELOW = 0.97  # of the smallest limit: there a run must be refused

# What `tidemark verify --json` says -> where torch's statistics say it. All must be equal.
COUNTERS = {
    "peak.reserved_bytes": "reserved_bytes.all.peak",
    "peak.allocated_bytes": "allocated_bytes.all.peak",
    "peak.active_bytes": "active_bytes.all.peak",
    "retries": "num_alloc_retries",
    "out_of_memory": "num_ooms",
}


class Check(typing.NamedTuple):
    """One line of the table. `predicted` and `real` are bytes, or None where there are none."""

    subject: str
    what: str
    ok: bool
    predicted: typing.Optional[int] = None
    real: typing.Optional[int] = None
    note: str = ""


def lookup(document, path):
    """The value at a dotted path of nested objects, or None."""
    for name in path.split("."):
        if not isinstance(document, dict) or name not in document:
            return None
        document = document[name]
    return document


def peak_of(result):
    return lookup(result, "stats").get("reserved_bytes.all.peak")


def difference(predicted, real):
    """How far the prediction is off, as a part of what was real; signed."""
    return (predicted - real) / real if real else float(predicted != real)


def first_line(text):
    lines = (text or "").strip().splitlines()
    return lines[-1] if lines and lines[0].startswith("Traceback") else "".join(lines[:1])


def broken(subject, what, result):
    """The check of a run that brought no result at all."""
    return Check(subject, what, False, note=first_line(result.get("error")) or "no result")


def check_verify(subject, what, verify, result):
    """Every decision of the run is reproduced, and torch's own counters come out equal."""
    mismatches = verify.get("mismatches")
    if mismatches is None:
        return Check(subject, what, False, note="verify said nothing: " + verify.get("error", ""))
    stats, odd = result["stats"], []
    for ours, theirs in COUNTERS.items():
        predicted, real = lookup(verify, ours), stats.get(theirs)
        if "device_stats" not in result and predicted != real:
            odd.append(f"{theirs}: {predicted} for {real}")
    note = [f"{mismatches} of {verify.get('decisions')} decisions differ"] if mismatches else []
    if verify.get("not_inferable"):
        note.append(f"{verify['not_inferable']} not inferable")
    return Check(subject, what, not mismatches and not odd,
                 lookup(verify, "peak.reserved_bytes"), peak_of(result), "; ".join(note + odd))


def check_peak(subject, what, predicted, result, recorded):
    """The predicted peak of reserved memory is within TOLERANCE of the real one. `recorded` is the
    run from which it was predicted."""
    if result["outcome"] != "finished":
        return broken(subject, what, result)
    if predicted is None:
        return Check(subject, what, False, real=peak_of(result), note="no prediction")
    ok = abs(difference(predicted, peak_of(result))) <= TOLERANCE
    return Check(subject, what, ok, predicted, peak_of(result), other_requests(recorded, result))


def other_requests(first, second):
    """Says so if two runs did not ask for the same memory in the same order, for no prediction can
    hold then; else nothing."""
    if first.get("requests_digest") == second.get("requests_digest"):
        return ""
    return f"other requests: {second.get('requests')}, recorded {first.get('requests')}"


def check_again(subject, what, first, second):
    """A rerun under the same settings asks for the same; its peak shows what chance does."""
    if second["outcome"] != "finished":
        return broken(subject, what, second)
    note = other_requests(first, second)
    return Check(subject, what, not note, peak_of(first), peak_of(second), note)


def check_survives(subject, what, limit, result):
    """Under the limit the run ends without a refusal."""
    if result["outcome"] not in ("finished", "out_of_memory"):
        return broken(subject, what, result)
    ok = result["outcome"] == "finished" and result["ooms"] == 0
    note = f"{result['stats'].get('num_alloc_retries')} retries"
    if not ok:
        note = f"{result['ooms']} refusals, {result['outcome']}, {note}"
    return Check(subject, what, ok, limit, peak_of(result), note)


def check_dies(subject, what, limit, result):
    """Under the limit the run is refused memory. A library may catch that and do with less; such a
    run counts as refused, and the note says so."""
    if result["outcome"] not in ("finished", "out_of_memory"):
        return broken(subject, what, result)
    note = "died" if result["outcome"] == "out_of_memory" else "survived"
    if result["outcome"] == "finished" and result["ooms"]:
        note = f"{result['ooms']} refusals, caught inside a library"
    return Check(subject, what, result["ooms"] > 0, limit, peak_of(result), note)


def check_advice(subject, advice):
    """advise answered: with settings, or that nothing helps."""
    if "error" in advice or "best" not in advice:
        return broken(subject, "advise", advice)
    conf, peak = advised(advice)
    return Check(subject, "advise", True, peak, note=conf or "nothing helps")


def advised(advice):
    """(settings, predicted peak) of the best found; (None, None) if nothing helps."""
    best = advice.get("best") or {}
    conf = best.get("conf")
    return (conf, best.get("peak_reserved_bytes")) if conf else (None, None)


def smallest_limit(fit, named):
    """The smallest limit under which a candidate of `tidemark fit --json` survives: the one that
    was named, which comes last, or the recorded settings, which come first. None if none is told.
    """
    candidates = fit.get("candidates") or []
    if not candidates:
        return None
    return candidates[-1 if named else 0].get("smallest_limit_bytes") or None


def bytes_text(value):
    return "" if value is None else f"{value / (1 << 20):,.0f} MiB"


def cells(check):
    """A check as the columns of the table."""
    off = ""
    if check.predicted and check.real and check.what.startswith("peak"):
        off = f"{100 * difference(check.predicted, check.real):+.2f} %"
    return ("ok" if check.ok else "FAIL", check.subject, check.what, bytes_text(check.predicted),
            bytes_text(check.real), off, check.note)


def line(check):
    """A check as one line, for progress."""
    return "  ".join(filter(None, cells(check)))


def exact(check):
    """A verified run without anything to say about it: counted, not listed."""
    return check.what.startswith("verify ") and check.ok and not check.note


def table(checks):
    """The checks as text, failures marked. Under "predicted" stands the limit where one was set."""
    rows = [("", "workload", "check", "predicted", "real", "off by", "")]
    rows += [cells(check) for check in checks if not exact(check)]
    widths = [max(len(row[i]) for row in rows) for i in range(6)]
    right = {3, 4, 5}
    lines = []
    for row in rows:
        padded = [cell.rjust(width) if i in right else cell.ljust(width)
                  for i, (cell, width) in enumerate(zip(row, widths))]
        lines.append("  ".join([*padded, row[6]]).rstrip())
    if any(map(exact, checks)):
        lines.append(f"ok    verify: every decision and counter of {sum(map(exact, checks))} runs")
    return "\n".join(lines)
