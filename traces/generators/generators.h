// Generators: seeded programs that never ran, as traces. "NAME:key=value,..." names one; the same
// text gives the same events on every machine. A new one is a new file here and one line in
// generators.inc: TIDEMARK_GENERATOR(name).
#pragma once

#include <span>
#include <string_view>

#include "core/base/options.h"
#include "core/base/result.h"
#include "traces/model/trace.h"

namespace tidemark {

struct GeneratorInfo {
    std::string_view name;     // "mix"
    std::string_view summary;  // one line
    std::span<const OptionInfo> options;
    // Appends the events to `sink` (never finish) and returns the information about them. Memory
    // O(live), however many events there are. Errors: those of the sink.
    Result<TraceInfo> (*generate)(const Options& options, TraceSink& sink);
};

// The catalogue (generators.cpp).
std::span<const GeneratorInfo> all_generators();

// Runs the generator that `spec` names, as above. Every option, defaults written out, is in the
// returned information's metadata. Errors: bad_option, with the nearest name; those of the sink.
Result<TraceInfo> generate(std::string_view spec, TraceSink& sink);

}  // namespace tidemark
