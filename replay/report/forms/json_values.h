// What the JSON reports share: how an object becomes text, and the values that several of them
// print. Pure.
#pragma once

#include <cstdint>
#include <initializer_list>
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

// Indented, with a new line. Bytes of a file's strings that aren't UTF-8 become U+FFFD. O(size).
std::string text_of(const Json& json);

// 64 bits as text: JSON numbers above 2^53 lose digits in many readers.
std::string hash_text(std::uint64_t hash);

// Where a result comes from, with the hashes of its inputs, by name.
Json provenance_of(const Provenance& provenance,
                   std::initializer_list<std::pair<const char*, std::uint64_t>> hashes = {});

Json usage_of(const Usage& usage);

// `value_of` applied to each element of `range`.
template <class Range, class ValueOf>
Json list_of(const Range& range, ValueOf value_of) {
    Json list = Json::array();
    for (const auto& each : range)
        list.push_back(value_of(each));
    return list;
}

// The value; null for `none`, the field's value for nothing.
template <class T>
Json or_null(const T& value, const T& none = T()) {
    return value == none ? Json() : Json(value);
}

template <class T>
Json or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json();
}

// Null if there is none.
Json spread_of(const std::optional<PeakSpread>& spread);

// A list of objects, one for each device; empty if there is only one.
Json device_peaks_of(std::span<const Bytes> reserved);

// An object of the pairs, in their order.
Json pairs(std::span<const std::pair<std::string, std::string>> values);

// Adds its keys to an object about a trace.
void add_uses(Json& object, const UseCounts& uses);

// What `info` prints of a trace, without provenance.
Json trace_of(const std::string& name, const Trace& trace, const TraceSummary& summary);

// The options of a catalogue.
Json options_of(std::span<const OptionInfo> options);

}  // namespace tidemark::report
