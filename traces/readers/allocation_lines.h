// What logs with one JSON object per line share, if they record what was allocated and freed, and
// where.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "core/base/result.h"
#include "traces/io/byte_source.h"
#include "traces/model/trace.h"
#include "traces/readers/address_events.h"

namespace tidemark {

// What a line is: an event, something without interest, or malformed.
enum class LineMeaning { event, nothing, malformed };

// Fills in the event that `line`, an object, describes.
using LineParser = std::function<LineMeaning(const nlohmann::json& line, AddressEvent& event)>;

// Reads all of `source` into `sink`; `info` has the format and its writer. Errors (bad_input, with
// the line): not a JSON object, or malformed, unless options.lenient; those of
// write_address_events. O(n log n).
Result<TraceInfo> read_allocation_lines(ByteSource& source, TraceSink& sink,
                                        const ReadOptions& options, TraceInfo info,
                                        const LineParser& parse);

// The first line of a file whose first bytes are `head`.
inline std::string_view first_line(std::span<const std::byte> head) {
    const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
    return text.substr(0, text.find('\n'));
}

// A whole number at `key` of an object: a number, or a text in decimal or "0x...". False: none.
bool take_whole_number(const nlohmann::json& object, const char* key, std::uint64_t& number);

}  // namespace tidemark
