// The first line of a JSONL trace: what it declares about all other lines. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "traces/model/trace.h"

namespace tidemark {

// No trace has more devices: larger numbers are mistakes.
constexpr std::size_t kMostJsonlDevices = 1024;

struct JsonlHeader {
    Nanoseconds unit = 1;
    std::vector<std::uint64_t> streams;  // original handles of streams 0, 1, ...; may be empty
    std::vector<std::string> pools;      // original names of pools 0, 1, ...; may be empty
};

// Reads `line` and puts what it says about the trace into `info`: `source`, `device`, `devices`,
// `settings` and `start_time` into their fields, and every key that Tidemark doesn't know into
// `metadata` (strings as they are, everything else as JSON). Errors (without `where`): bad_input,
// unsupported.
Result<JsonlHeader> read_jsonl_header(std::string_view line, TraceInfo& info);

}  // namespace tidemark
