// The loop over the lines.
#include "traces/readers/allocation_lines.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "traces/readers/line_reader.h"
#include "traces/readers/number_text.h"

namespace tidemark {

Result<TraceInfo> read_allocation_lines(ByteSource& source, TraceSink& sink,
                                        const ReadOptions& options, TraceInfo info,
                                        const LineParser& parse) {
    constexpr std::size_t kLineMax = std::size_t{1} << 20U;
    info.pools.assign(1, "default");
    LineReader lines(source, options.progress);
    std::vector<AddressEvent> events;
    for (;;) {
        std::string_view text;
        TM_ASSIGN(const bool more, lines.next(text));
        if (!more)
            break;
        if (text.find_first_not_of(" \t\r") == std::string_view::npos)
            continue;
        const nlohmann::json line = text.size() <= kLineMax
                                        ? nlohmann::json::parse(text, nullptr, false)
                                        : nlohmann::json();
        AddressEvent event;
        const LineMeaning meaning = line.is_object() ? parse(line, event) : LineMeaning::malformed;
        if (meaning == LineMeaning::event) {
            events.push_back(event);
        } else if (meaning == LineMeaning::malformed && !lines.terminated()) {
            info.cut_off = true;
        } else if (meaning == LineMeaning::malformed) {
            if (!options.lenient)
                return fail(ErrorCode::bad_input,
                            "'" + excerpt(text) + "' is not a line of such a log", lines.position(),
                            "--lenient skips and counts such lines");
            ++info.anomalies.bad_records;
        }
    }
    if (info.cut_off)
        info.warnings.push_back("the file is cut off: everything after this point is missing");
    TM_TRY(write_address_events(std::move(events), sink, options, source.name(), info));
    return info;
}

bool take_whole_number(const nlohmann::json& object, const char* key, std::uint64_t& number) {
    const auto found = object.is_object() ? object.find(key) : object.end();
    if (!object.is_object() || found == object.end())
        return false;
    if (found->is_number_unsigned()) {
        number = found->get<std::uint64_t>();
        return true;
    }
    if (!found->is_string())
        return false;
    const auto& text = found->get_ref<const std::string&>();
    return text.starts_with("0x") ? parse_hex(std::string_view(text).substr(2), number)
                                  : parse_decimal(text, number);
}

}  // namespace tidemark
