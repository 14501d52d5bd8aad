// Reading the header with nlohmann's tree: one line, once.
#include "traces/readers/jsonl_header.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "traces/io/json_depth.h"
#include "traces/readers/line_reader.h"

namespace tidemark {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLongestHeader = kLongestLine;
constexpr std::size_t kDeepestHeader = 64;
constexpr std::size_t kMostEntries = std::size_t{1} << 20U;
constexpr std::string_view kExample = R"({"type":"header","version":1,"unit":"ns"})";

tl::unexpected<Error> bad(std::string what) {
    return fail(ErrorCode::bad_input, std::move(what), {},
                fmt::format("the first line must look like {}", kExample));
}

// A string as it is, anything else as JSON.
std::string text_of(const Json& value) {
    return value.is_string() ? value.get_ref<const std::string&>()
                             : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::uint64_t number_in(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

std::string text_in(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && !found->is_null() ? text_of(*found) : std::string();
}

Result<void> read_kind(const Json& header, JsonlHeader& result) {
    if (text_in(header, "type") != "header")
        return bad("the header is missing");
    const auto version = header.find("version");
    if (version == header.end() || !version->is_number_integer())
        return bad("the header has no version");
    if (*version != 1)
        return fail(ErrorCode::unsupported,
                    fmt::format("version {} of the format", text_of(*version)), {},
                    "this Tidemark knows version 1");
    const std::string unit = text_in(header, "unit");
    if (unit != "ns" && unit != "us" && unit != "ms")
        return bad(unit.empty() ? "the header has no unit"
                                : fmt::format("unit '{}' is not one of ns, us, ms", unit));
    result.unit = unit == "ns" ? 1 : (unit == "us" ? 1'000 : 1'000'000);
    return {};
}

Result<void> read_lists(const Json& header, JsonlHeader& result) {
    if (const auto streams = header.find("streams"); streams != header.end()) {
        if (!streams->is_array() || streams->size() > kMostEntries)
            return bad("'streams' is not a list of handles");
        for (const Json& handle : *streams) {
            if (!handle.is_number_unsigned())
                return bad("'streams' is not a list of handles");
            result.streams.push_back(handle.get<std::uint64_t>());
        }
    }
    if (const auto pools = header.find("pools"); pools != header.end()) {
        if (!pools->is_array() || pools->size() > kMostEntries)
            return bad("'pools' is not a list of names");
        for (const Json& name : *pools)
            result.pools.push_back(text_of(name));
    }
    return {};
}

Result<void> read_devices(const Json& header, TraceInfo& info) {
    info.devices.assign(1, {text_in(header, "device"), 0});
    const auto devices = header.find("devices");
    if (devices == header.end())
        return {};
    if (!devices->is_array() || devices->size() > kMostJsonlDevices)
        return bad("'devices' is not a list of devices");
    info.devices.resize(std::max<std::size_t>(1, devices->size()));
    for (std::size_t i = 0; i < devices->size(); ++i) {
        if (!(*devices)[i].is_object())
            return bad("'devices' is not a list of devices");
        info.devices[i] = {text_in((*devices)[i], "name"),
                           number_in((*devices)[i], "total_memory")};
    }
    return {};
}

}  // namespace

Result<JsonlHeader> read_jsonl_header(std::string_view line, TraceInfo& info) {
    if (line.size() > kLongestHeader || json_depth(line) > kDeepestHeader)
        return bad("the first line is not a header");
    const Json header = Json::parse(line.begin(), line.end(), nullptr, false);
    if (!header.is_object())
        return bad("the first line is not a JSON object");
    JsonlHeader result;
    TM_TRY(read_kind(header, result));
    TM_TRY(read_lists(header, result));
    TM_TRY(read_devices(header, info));
    info.source = text_in(header, "source");
    info.start_time = static_cast<Nanoseconds>(
        std::min<std::uint64_t>(number_in(header, "start_time"), INT64_MAX));
    if (const auto settings = header.find("settings");
        settings != header.end() && settings->is_object()) {
        for (const auto& [name, value] : settings->items())
            info.settings.emplace_back(name, text_of(value));
    }
    constexpr std::string_view kKnown[] = {"type",    "version", "unit",  "source",   "device",
                                           "devices", "streams", "pools", "settings", "start_time"};
    for (const auto& [name, value] : header.items()) {
        if (std::find(std::begin(kKnown), std::end(kKnown), name) == std::end(kKnown))
            info.metadata.emplace_back(name, text_of(value));
    }
    return result;
}

}  // namespace tidemark
