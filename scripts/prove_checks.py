"""The criteria of scripts/prove-on-gpu: predictions compared with the reports of real runs.

Pure functions over the JSON of `tidemark` and of the runs; nothing here starts anything.
"""
import typing

TOLERANCE = 0.01  # of the real peak, for predictions under settings that were not recorded
BELOW = 0.97  # of the smallest limit: there a run must run out of memory

# Names in `tidemark verify --json` -> names in torch's statistics. All values must be equal.
COUNTERS = {
    "peak.reserved_bytes": "reserved_bytes.all.peak",
    "peak.allocated_bytes": "allocated_bytes.all.peak",
    "peak.active_bytes": "active_bytes.all.peak",
    "retries": "num_alloc_retries",
    "out_of_memory": "num_ooms",
}


class Check(typing.NamedTuple):
    """One line of the table. `ok` is None for checks that were left out. `predicted` and `real` are
    bytes, or None if there are none."""

    subject: str
    what: str
    ok: typing.Optional[bool]
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
    """The error of the prediction, as a signed share of the real value."""
    return (predicted - real) / real if real else float(predicted != real)


def first_line(text):
    lines = (text or "").strip().splitlines()
    return lines[-1] if lines and lines[0].startswith("Traceback") else "".join(lines[:1])


def broken(subject, what, result):
    """The check of a run that did not finish."""
    note = refusal_text(result) or first_line(result.get("error")) or "no result"
    return Check(subject, what, False, note=note)


def check_verify(subject, what, verify, result):
    """Every decision of the run is reproduced, and torch's own counters are equal."""
    mismatches = verify.get("mismatches")
    if mismatches is None:
        return Check(subject, what, False, note="verify printed nothing: " + verify.get("error", ""))
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
    """A note if two runs did not request the same memory in the same order, else "". Figures are
    still compared: a prediction that holds anyway is not a failure."""
    if first.get("requests_digest") == second.get("requests_digest"):
        return ""
    return f"requested other memory: {second.get('requests')} requests for {first.get('requests')}"


def check_again(subject, what, first, second):
    """A rerun under the same settings: its peak shows the variation by chance."""
    return check_peak(subject, what, peak_of(first), second, first)


def left_out(subject, what, predicted, most):
    """The line of a rerun that would need too much memory."""
    return Check(subject, what, None, predicted, None, f"not run: over {bytes_text(most)}")


def counted(number, word):
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def refusal_text(result):
    """Where a run ran out of memory, first or last; "" if it did not."""
    refusal = result.get("last_refusal")
    if not refusal:
        return ""
    word = "died" if result["outcome"] == "out_of_memory" else "last refused"
    text = f"{word} after {refusal['after_allocations']:,} allocations, asking " \
           f"{refusal['bytes'] / (1 << 20):,.1f} MiB"
    if device_was_full(result):
        text += f"; the device had only {bytes_text(refusal['device_free'])} left"
    return text


def device_was_full(result):
    """Whether the device was full, not the limit reached: others used it, so it proves nothing."""
    refusal = result.get("last_refusal")
    return bool(refusal) and refusal["device_free"] < refusal["bytes"]


def predicted_counters(replay):
    """A replay's figures for the calls that torch counts; {} if there are none."""
    if "retries" not in replay:
        return {}
    refusals = replay.get("out_of_memory_events") or [{}]
    return {
        "retries": replay["retries"],
        # torch counts one for each segment, and one each time that it maps memory
        "device_allocations": replay.get("segments_created", 0) + replay.get("calls_set_access", 0),
        "refused_bytes": refusals[0].get("bytes"),
    }


def counters_text(result):
    """Predicted counters next to real ones; a difference is never a failure."""
    predicted, stats = result.get("predicted") or {}, result["stats"]
    retries, allocations = stats.get("num_alloc_retries"), stats.get("num_device_alloc")
    if not predicted:
        return f"retries {retries}"
    text = f"retries {predicted['retries']} for {retries}, " \
           f"device allocations {predicted['device_allocations']} for {allocations}"
    if predicted["refused_bytes"]:
        text += f", refusal predicted of {predicted['refused_bytes'] / (1 << 20):,.1f} MiB"
    return text


def check_survives(subject, what, limit, result):
    """Under the limit, the run finishes without an out-of-memory error."""
    if result["outcome"] not in ("finished", "out_of_memory"):
        return broken(subject, what, result)
    ok = result["outcome"] == "finished" and result["ooms"] == 0
    note = [] if ok else [counted(result["ooms"], "refusal"), refusal_text(result)]
    return Check(subject, what, ok, limit, peak_of(result),
                 "; ".join(filter(None, [*note, counters_text(result)])))


def check_dies(subject, what, limit, result):
    """Under the limit, the run runs out of memory. A library may catch that and use less; such a
    run counts too, and the note says so. A device that was full proves nothing."""
    if result["outcome"] not in ("finished", "out_of_memory"):
        return broken(subject, what, result)
    note = [] if result["ooms"] else ["survived"]
    if result["outcome"] == "finished" and result["ooms"]:
        note = [counted(result["ooms"], "refusal") + ", caught inside a library"]
    ok = result["ooms"] > 0 and not device_was_full(result)
    return Check(subject, what, ok, limit, peak_of(result),
                 "; ".join(filter(None, [*note, refusal_text(result), counters_text(result)])))


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
    was named, which is last, or the recorded settings, which are first. None if there is none.
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
    word = {True: "ok", False: "FAIL", None: "skip"}[check.ok]
    return (word, check.subject, check.what, bytes_text(check.predicted), bytes_text(check.real),
            off, check.note)


def line(check):
    """A check as one line, for progress."""
    return "  ".join(filter(None, cells(check)))


def exact(check):
    """A verified run without notes: it is counted, not listed."""
    return check.what.startswith("verify ") and check.ok and not check.note


def table(checks):
    """The checks as text, with failures marked. If a limit was set, "predicted" has the limit."""
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
