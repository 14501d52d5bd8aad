// umpire-replay: the log that Umpire writes with UMPIRE_REPLAY, one JSON object per line, in the
// current form of its events and in the previous one:
//
//   {"category":"operation","name":"allocate","numeric_args":{"size":4096},
//    "string_args":{"allocator_ref":"0x10","pointer":"0x1000"},"timestamp":...}
//   {"kind":"replay","event":"allocate","payload":{"allocator_ref":"0x10","size":4096},
//    "result":{"memory_ptr":"0x1000"},"timestamp":...}
//
// Everything that isn't an allocation or a free (creating allocators, copies) is skipped. Times are
// nanoseconds.
#include <algorithm>
#include <limits>
#include <string_view>

#include <nlohmann/json.hpp>

#include "traces/readers/allocation_lines.h"
#include "traces/readers/format.h"

namespace tidemark::formats {
namespace {

const nlohmann::json& member(const nlohmann::json& object, const char* key) {
    static const nlohmann::json kNothing;
    const auto found = object.find(key);
    return found == object.end() ? kNothing : *found;
}

LineMeaning parse_umpire_line(const nlohmann::json& line, AddressEvent& event) {
    const nlohmann::json& name =
        line.contains("name") ? member(line, "name") : member(line, "event");
    if (name != "allocate" && name != "deallocate")
        return LineMeaning::nothing;
    const bool is_free = name == "deallocate";
    event.kind = is_free ? EventKind::free : EventKind::allocate;
    std::uint64_t time = 0;
    take_whole_number(line, "timestamp", time);
    constexpr std::uint64_t kLatest = std::uint64_t{1} << 62U;
    event.time = static_cast<Nanoseconds>(std::min(time, kLatest));
    const bool has_address =
        take_whole_number(member(line, "string_args"), "pointer", event.address) ||
        take_whole_number(member(line, "result"), "memory_ptr", event.address) ||
        take_whole_number(member(line, "payload"), "memory_ptr", event.address);
    const bool has_size = take_whole_number(member(line, "numeric_args"), "size", event.size) ||
                          take_whole_number(member(line, "payload"), "size", event.size);
    return has_address && (has_size || is_free) ? LineMeaning::event : LineMeaning::malformed;
}

bool recognises_umpire(std::span<const std::byte> head) {
    const std::string_view line = first_line(head);
    const auto has = [line](std::string_view mark) {
        return line.find(mark) != std::string_view::npos;
    };
    return line.starts_with('{') && has("\"replay\"") && (has("\"category\"") || has("\"kind\""));
}

Result<TraceInfo> read_umpire(ByteSource& source, TraceSink& sink, const ReadOptions& options) {
    TraceInfo info;
    info.format = "umpire-replay";
    info.source = "Umpire's replay log";
    return read_allocation_lines(source, sink, options, std::move(info), parse_umpire_line);
}

}  // namespace

FormatInfo umpire_replay() {
    return {"umpire-replay", "replay log of Umpire (UMPIRE_REPLAY)", recognises_umpire,
            read_umpire};
}

}  // namespace tidemark::formats
