// WriterInfo: a file format that Tidemark writes for other programs (.tmk is in traces/tmk). To add
// one, add a file here and one line in writers.inc: TIDEMARK_WRITER(name).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/result.h"
#include "traces/io/output_file.h"
#include "traces/model/trace.h"

namespace tidemark {

// What became of a trace's events. What a format cannot express is left out and counted, never
// distorted.
struct WriteSummary {
    std::uint64_t written = 0;          // events that are in the file
    std::uint64_t left_out_truth = 0;   // what the recorded allocator decided (segments, maps)
    std::uint64_t left_out_events = 0;  // what the program did, but the format cannot express
};

struct WriterInfo {
    std::string_view name;       // "jsonl"
    std::string_view extension;  // ".jsonl"
    std::string_view summary;    // one line
    // Writes all of `trace`; the caller commits `output`. The same trace gives the same bytes.
    // Errors: io; bad_input from a damaged trace. Memory O(live) + one batch.
    Result<WriteSummary> (*write)(const Trace& trace, OutputFile& output);
};

// The catalogue (writers.cpp), and one of its writers by name, or by the extension that
// `name_or_path` ends in. Errors (bad_option): unknown, with the list of known ones.
std::span<const WriterInfo> all_writers();
Result<const WriterInfo*> find_writer(std::string_view name_or_path);

}  // namespace tidemark
