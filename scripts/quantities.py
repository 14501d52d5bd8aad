"""Quantities that several of Tidemark's answers have in common, and where each one has them.

FROM_JSON has a function for each command, which turns its answer into quantity -> value. from_text()
does the same with its printed text. Used by scripts/try-as-user.
"""
import pathlib
import re


def known(pairs):
    return {name: value for name, value in pairs if value is not None}


def peaks(of, prefix="peak_"):
    return [(f"peak_{kind}_bytes", of.get(f"{prefix}{kind}_bytes"))
            for kind in ("reserved", "allocated", "active", "requested")]


def events(of):
    return [(name, of.get(name)) for name in ("out_of_memory", "retries")]


def parts(said):
    """The parts of the largest peak."""
    names = ("reserved", "in_use", "rounding", "waiting", "fragmentation", "cached")
    return [(f"fullest_{name}_bytes", said.get(f"{name}_bytes")) for name in names]


def first_refusal(event, requested, reserved, free, largest):
    return [("refused_event", event), ("refused_bytes", requested),
            ("refused_reserved_bytes", reserved), ("refused_free_bytes", free),
            ("refused_largest_bytes", largest)]


def first_of_run(said):
    for each in said.get("out_of_memory_events", [])[:1]:
        usage = each["usage"]
        return first_refusal(each["event"], each["bytes"], usage["reserved_bytes"],
                             usage["reserved_bytes"] - usage["active_bytes"],
                             each["largest_free_bytes"])
    return []


def limit_of(said):
    """0 and a missing value both mean that there is none."""
    return [("limit_bytes", said.get("limit_bytes") or 0)]


def from_run(said):
    return known(peaks(said) + events(said) + limit_of(said) + first_of_run(said) +
                 [(name, said.get(name)) for name in ("segments_created", "driver_ns", "events",
                                                      "peak_reserved_event")])


def from_recorded(run):
    """The recorded run itself: other policies are simulated, and so are the recorded settings."""
    return known([(name, run.get(name)) for name in ("peak_reserved_bytes", "out_of_memory",
                                                     "retries")])


def from_compare(said):
    rows = [row for row in said["runs"] if row["baseline"]]
    recorded = said["traces"][0]["recorded_run"]
    figures = from_recorded(recorded) if recorded else from_run(rows[0]) if rows else {}
    return {**figures, **known(from_ranks(said.get("ranks")))}


def of_gpu(figures, gpu):
    """The quantities of one GPU of several, which are compared only with each other."""
    return figures if gpu is None else {f"GPU {gpu}: {name}": each for name, each in figures.items()}


def from_verify(said):
    limits = {fact["bytes"] for fact in said["facts"] if fact["kind"] == "limit"}
    return known(peaks(said["peak"] or {}, "") + events(said) +
                 [("limit_bytes", limits.pop() if len(limits) == 1 else None),
                  ("segments_created", said.get("segments_created")),
                  ("events", said.get("events"))])


def from_fit(said):
    rows = [row for row in said["candidates"] if row["recorded"]]
    if not rows:
        return {}
    return known([("peak_requested_bytes", rows[0].get("peak_requested_bytes")),
                  ("recorded_out_of_memory", said.get("recorded_out_of_memory"))])


def from_advise(said):
    before = said["before"]
    run = said["recorded_run"]
    figures = from_recorded(run) if run else known(
        peaks(before) + events(before) + [("driver_ns", before.get("driver_ns"))])
    figures |= known(limit_of(said) +
                     [("peak_requested_bytes", said.get("peak_requested_bytes")),
                      ("offline_lower_bytes", said.get("offline_lower_bytes") or None),
                      ("recorded_peak_reserved_bytes",
                       said.get("recorded_peak_reserved_bytes") or None),
                      ("recorded_out_of_memory", said.get("recorded_out_of_memory"))] +
                     parts(said["memory"]) + first_of_advice(said))
    return of_gpu(figures, said.get("gpu"))


def first_of_advice(said):
    for each in said.get("out_of_memory_cases", [])[:1]:
        return first_refusal(each["event"], each["bytes"], each["usage"]["reserved_bytes"],
                             each["free_bytes"], each["largest_hole_bytes"])
    return []


def from_view(said):
    """The figures of the viewer's overview."""
    run = said["runs"][0]
    ranks = known(from_ranks(said.get("ranks")))
    if "events" not in run:
        return ranks
    first = run["first_out_of_memory"] if run["out_of_memory"] else None
    return ranks | of_gpu(known(peaks(run) + events(run) + parts(run["memory"]) +
                 [(f"{name}, legend", value) for name, value in parts(run["legend"] or {})] +
                 [(name, run[name]) for name in ("events", "peak_reserved_event")] +
                 (first_refusal(first["event"], first["requested_bytes"], first["reserved_bytes"],
                                first["free_bytes"], first["largest_free_bytes"]) if first else [])),
                          run.get("gpu"))


def from_report(said):
    run = said["runs"][0]
    return known(peaks(run) + events(run) +
                 [(name, run.get(name)) for name in ("events", "offline_lower_bytes")])


def from_info(said):
    recorded = said["peak_recorded_reserved"]
    return known([("peak_requested_bytes", said["peak_requested"]["value"]),
                  ("recorded_out_of_memory", said["out_of_memory"]),
                  ("recorded_peak_reserved_bytes", recorded["value"] if recorded else None),
                  ("recorded_peak_reserved_event", recorded["event"] if recorded else None),
                  ("events", said["events"])])


def from_gate(said):
    return known([(budget["metric"], budget["value"]) for budget in said["budgets"]])


def from_diff(said):
    """The quantities of a comparison of a trace with itself."""
    return known([("peak_requested_bytes", said["after"]["peak"]["bytes"]),
                  ("peak_reserved_bytes", said["before"]["peak_reserved_bytes"])])


def from_bound(said):
    devices = said["devices"]
    recorded = devices[0]["recorded_reserved_bytes"] if len(devices) == 1 else None
    return known([("offline_lower_bytes", sum(each["lower_bytes"] for each in devices)),
                  ("recorded_peak_reserved_bytes", recorded or None)])


def from_ranks(said):
    """Which rank sets the limit and which diverges, from `compare` and from the viewer."""
    if not said:
        return []
    where = said["diverge"] or {}
    return [("ranks_limit", folder_of(said["sets_limit"])),
            ("ranks_diverge", folder_of(where["trace"]) if where else "none"),
            ("ranks_diverge_event", where.get("event")), ("ranks_alike", where.get("allocation"))]


def folder_of(file):
    return pathlib.PurePath(file).parent.name


FROM_PAGE = {
    "peak_reserved_bytes": r"<dt>Peak reserved</dt><dd><strong>([^<]+)</strong>",
    "peak_reserved_event": r"<dt>Peak reserved</dt><dd><strong>[^<]+</strong><span>at event ([\d,]+)",
    "peak_requested_bytes": r"<dt>Requested</dt><dd><strong>([^<]+)</strong>",
    "out_of_memory": r"<dt>Out of memory</dt><dd><strong>([\d,]+)</strong>",
    "retries": r"<dt>Out of memory</dt><dd><strong>[\d,]+</strong><span>times?, ([\d,]+) retr",
    "events": r"<dt>Events</dt><dd><strong>([\d,]+)</strong>",
}
MOST_CARDS = 4  # traces; of more, the page shows only the highest ones


def from_page(page):
    """Quantity -> its text in a report's page, for the first run."""
    if page.count("<dt>trace</dt>") > MOST_CARDS:
        return {}
    found = {name: re.search(pattern, page) for name, pattern in FROM_PAGE.items()}
    return {name: match[1] for name, match in found.items() if match}


FROM_JSON = {"gate": from_gate, "diff": from_diff, "bound": from_bound, "info": from_info, "replay": from_run, "compare": from_compare, "verify": from_verify,
             "fit": from_fit, "advise": from_advise, "report": from_report, "view": from_view}

def policy_of(command, said):
    """The allocator that an answer's figures are for; None: the one that was given."""
    if command in ("advise", "diff"):
        return said["before"].get("policy")
    return None


def is_of_program(quantity):
    """Whether the quantity is the same under every allocator."""
    return quantity.startswith(("recorded_", "ranks_")) or quantity in (
        "peak_requested_bytes", "offline_lower_bytes", "limit_bytes")


SIZE = r"([\d.]+ [KMGTPE]?i?B)"
COUNT = r"([\d,]+|once|twice)"
# Command -> quantity -> pattern of its text.
FROM_TEXT = {
    "info": {"peak_requested_bytes": rf"requested, peak +{SIZE}"},
    "replay": {"peak_reserved_bytes": rf"\n  reserved +{SIZE}",
               "peak_allocated_bytes": rf"\n  allocated +{SIZE}",
               "peak_requested_bytes": rf"\n  requested +{SIZE}",
               "out_of_memory": rf"\n  out of memory +{COUNT}"},
    "verify": {"peak_reserved_bytes": rf"\n  peak reserved +{SIZE}",
               "peak_allocated_bytes": rf"\n  peak allocated +{SIZE}",
               "retries": rf"\n  retries +{COUNT}",
               "out_of_memory": rf"\n  out of memory +{COUNT}"},
    "advise": {"peak_reserved_bytes": rf"Where it went: {SIZE} reserved"},
    "report": {"peak_reserved_bytes": rf"\n  Peak reserved +{SIZE}",
               "peak_requested_bytes": rf"\n  Requested +{SIZE}",
               "out_of_memory": rf"\n  Out of memory +{COUNT}"},
}


def from_text(command, text):
    """Quantity -> its printed text."""
    found = {}
    for quantity, pattern in FROM_TEXT.get(command, {}).items():
        match = re.search(pattern, text)
        if match:
            found[quantity] = {"once": "1", "twice": "2"}.get(match[1], match[1])
    gpu = re.search(r"everything below is about GPU (\d+)", text)
    return of_gpu(found, int(gpu[1]) if gpu else None)
