// What `tidemark record` saw, process by process, as text and as JSON. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "replay/analysis/trace/trace_summary.h"
#include "replay/report/forms/model.h"

namespace tidemark {

// What is in a recording of a program's calls of the driver.
struct RecordedCalls {
    TraceInfo info;
    TraceSummary summary;
    // Allocations that were live until the program destroyed their context.
    std::uint64_t ended_with_context = 0;
    Bytes ended_with_context_bytes = 0;
};

struct RecordedProcess {
    std::uint32_t process = 0;
    bool running = false;      // still
    std::string problem;       // why it wasn't recorded, or the recording can't be read; "" = none
    std::string untimed = {};  // why launches lack GPU times; "" = they have them, or need none
    std::string recording;     // its first file; "" = it allocated nothing
    std::optional<RecordedCalls> calls;
};

// Of a process that ran already: what its recording doesn't have.
struct AttachedCounts {
    std::uint64_t unknown_frees = 0;    // of memory allocated before
    std::uint64_t missed_frees = 0;     // noticed when the address was allocated again
    std::uint64_t unknown_devices = 0;  // allocations on GPUs beyond those that are known here
    std::uint64_t lost = 0;             // events without room, or that could not be written
};

struct ProgramRecord {
    std::string program;
    int exit_code = 0;
    std::vector<RecordedProcess> processes = {};  // those that initialized CUDA
    std::optional<AttachedCounts> attached = {};  // then the exit code is not known
};

// A few lines for each process, or why nothing was recorded.
std::vector<std::string> record_lines(const ProgramRecord& run);

std::string record_json(const ProgramRecord& run, const Provenance& provenance);

}  // namespace tidemark
