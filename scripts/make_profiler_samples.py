#!/usr/bin/env python3
"""Writes small files in the formats of profilers, for tests. They are synthetic, not recorded.

Usage: scripts/make_profiler_samples.py [FOLDER]

  FOLDER   where to write (default: traces/samples/profilers; the seeds of the fuzz targets go to
           tests/fuzz/corpus)

Their content follows documentation and sources: the tables of Nsight Systems' SQLite Schema
Reference, the events that Kineto's output_json.cpp and PyTorch's profiler_kineto.cpp write, and
pprof's profile.proto.
"""
import gzip
import json
import pathlib
import sqlite3
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MIB = 1 << 20
PID = 7 << 24

USAGE = """CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (
    start INTEGER NOT NULL, globalPid INTEGER NOT NULL, deviceId INTEGER NOT NULL,
    contextId INTEGER NOT NULL, address INTEGER NOT NULL, pc INTEGER NOT NULL,
    bytes INTEGER NOT NULL, memKind INTEGER NOT NULL, memoryOperationType INTEGER NOT NULL,
    name TEXT, correlationId INTEGER, streamId INTEGER)"""

# start, address, bytes, memKind (1 pinned, 2 device, 4 managed), operation (0 allocation), stream
NSIGHT_ROWS = [
    (1000, 0x7000000, 64 * MIB, 2, 1, 7),  # freed, but allocated before the session
    (2000, 0x1000000, 2 * MIB, 2, 0, 7),
    (2500, 0x9000000, 1 * MIB, 1, 0, 7),
    (3000, 0x2000000, 32 * MIB, 2, 0, 13),
    (3500, 0x8000000, 8 * MIB, 4, 0, 7),
    (4000, 0x2000000, 32 * MIB, 2, 1, 13),
    (5000, 0x2000000, 48 * MIB, 2, 0, 13),
    (6000, 0x1000000, 2 * MIB, 2, 1, 7),
]


def write_nsight(path, rows=NSIGHT_ROWS, usage=USAGE):
    path.unlink(missing_ok=True)
    database = sqlite3.connect(path)
    database.execute("PRAGMA page_size = 512")
    database.execute("CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, totalMemory INTEGER)")
    database.execute("INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H200', 150109880320)")
    database.execute("CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER)")
    database.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000)")
    if usage:
        database.execute(usage)
    if usage == USAGE:
        database.executemany(
            "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (?, ?, 0, 1, ?, 0, ?, ?, ?, NULL, 0, ?)",
            [(start, PID, *rest) for start, *rest in rows])
    database.commit()
    database.execute("VACUUM")
    database.close()


def memory(time, address, size, device_type=1, name="[memory]", **more):
    args = {"Total Reserved": 0, "Total Allocated": 0, "Bytes": size, "Addr": address,
            "Device Id": 0 if device_type else -1, "Device Type": device_type, **more}
    return {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": name, "pid": 42, "tid": 42,
            "ts": time, "args": args}


# In the order of threads, not of time, as profilers write them.
TORCH_EVENTS = [
    {"ph": "X", "cat": "cpu_op", "name": "aten::empty", "pid": 42, "tid": 42, "ts": 10.5,
     "dur": 3.25, "args": {"External id": 1, "Input Dims": [[], [2, 3]]}},
    memory(30.25, 0x7F0000400, 1024),
    memory(11.125, 0x7F0000000, 512),
    memory(12, 0x5500, 96, device_type=0),
    memory(25.5, 0x7F0000000, -512),
    memory(20, 0x7F0008000, -4096),  # allocated before the profiler started
    {**memory(40, None, 85899345920, name="[OutOfMemory]")},
    memory(50.001, 0x7F0000000, 2048),
]


def torch_trace(events):
    for event in events:
        if event.get("args", {}).get("Addr", 0) is None:
            del event["args"]["Addr"]
    return json.dumps({
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150109880320}],
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": 1700000000000000000,
        "traceEvents": events,
        "traceName": "made_up.json"}, indent=1).encode()


def pprof_profile():
    """Two sample types, a sample without a location, and the strings that they use."""
    def field(number, payload):
        return bytes([number << 3 | 2, len(payload)]) + payload
    types = field(1, b"\x08\x01\x10\x02") + field(1, b"\x08\x03\x10\x04")
    sample = field(2, field(2, b"\x02\x80\x08"))
    strings = b"".join(field(6, text) for text in (b"", b"allocations", b"count", b"space",
                                                   b"bytes"))
    return types + sample + strings


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "traces/samples/profilers"
    if folder.name in ("-h", "--help"):
        print(__doc__.strip())
        return
    corpus = ROOT / "tests/fuzz/corpus" if len(sys.argv) == 1 else folder / "corpus"
    for path in (folder, *(corpus / name for name in ("nsight_sqlite", "torch_profiler", "pprof"))):
        path.mkdir(parents=True, exist_ok=True)
    write_nsight(folder / "nsight.sqlite")
    trace = torch_trace(TORCH_EVENTS)
    (folder / "torch_profiler.json.gz").write_bytes(gzip.compress(trace, mtime=0))
    (folder / "jax_memory.prof").write_bytes(gzip.compress(pprof_profile(), mtime=0))

    write_nsight(corpus / "nsight_sqlite/whole")
    write_nsight(corpus / "nsight_sqlite/no_table", usage=None)
    write_nsight(corpus / "nsight_sqlite/empty", rows=[])
    write_nsight(corpus / "nsight_sqlite/bad_row",
                 rows=[*NSIGHT_ROWS[:3], (2600, 1, -1, 2, 0, 7), *NSIGHT_ROWS[3:]])
    write_nsight(corpus / "nsight_sqlite/no_times", rows=[(0, *row[1:]) for row in NSIGHT_ROWS[1:4]])
    write_nsight(corpus / "nsight_sqlite/other_columns",
                 usage="CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, memoryUsed INTEGER)")
    # A malicious database may have a view with the table's name, which computes forever.
    write_nsight(corpus / "nsight_sqlite/view",
                 usage="CREATE VIEW CUDA_GPU_MEMORY_USAGE_EVENTS AS WITH RECURSIVE n(start) AS "
                       "(SELECT 1 UNION ALL SELECT start + 1 FROM n) SELECT start, 1 AS address, 1 "
                       "AS bytes, 2 AS memKind, 0 AS memoryOperationType FROM n")
    (corpus / "torch_profiler/whole").write_bytes(trace)
    (corpus / "torch_profiler/cut_off").write_bytes(trace[:len(trace) * 2 // 3])
    (corpus / "torch_profiler/no_memory").write_bytes(torch_trace(TORCH_EVENTS[:1]))
    (corpus / "pprof/whole").write_bytes(pprof_profile())
    (corpus / "pprof/types").write_bytes(pprof_profile()[:12])
    (corpus / "pprof/short").write_bytes(pprof_profile()[:7])


if __name__ == "__main__":
    main()
