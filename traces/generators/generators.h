// Generators: made-up programs, as traces, determined by a seed. "NAME:key=value,..." names one;
// the same text gives the same events on every machine. To add one, add a file here and one line in
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

// Runs the generator that `spec` names, as described above. The returned information's metadata has
// every option, with defaults written out. Errors: bad_option, with the nearest name; those of the
// sink.
Result<TraceInfo> generate(std::string_view spec, TraceSink& sink);

}  // namespace tidemark
