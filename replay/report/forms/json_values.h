// What the JSON reports share: how an object becomes text, and the values that several of them
// print. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/allocator/allocator.h"
#include "replay/analysis/trace/trace_summary.h"
#include "replay/report/forms/model.h"
#include "replay/scenario/peak_spread.h"
#include "traces/model/trace.h"

namespace tidemark::report {

using Json = nlohmann::ordered_json;  // keys in the order of assignment, so that people can read

// Indented, with a new line. Strings of files may be no UTF-8: such bytes become U+FFFD. O(size).
std::string text_of(const Json& json);

// 64 bits as text: JSON numbers above 2^53 lose digits in many readers.
std::string hash_text(std::uint64_t hash);

Json provenance_of(const Provenance& provenance);
Json usage_of(const Usage& usage);

// Null where there is none.
Json spread_of(const std::optional<PeakSpread>& spread);

// An object of the pairs, in their order.
// A list of objects, one for each of several devices; empty for one.
Json device_peaks_of(std::span<const Bytes> reserved);

Json pairs(std::span<const std::pair<std::string, std::string>> values);

// What `info` prints of a trace, without provenance.
Json trace_of(const std::string& name, const Trace& trace, const TraceSummary& summary);

// What a catalogue says of options.
Json options_of(std::span<const OptionInfo> options);

}  // namespace tidemark::report
