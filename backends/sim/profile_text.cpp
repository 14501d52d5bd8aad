// Writing a profile.
#include "backends/sim/profile_text.h"

#include <fmt/format.h>

#include "backends/sim/json_text.h"

namespace tidemark {
namespace {

std::string curve_text(const CostCurve& curve) {
    std::vector<std::string> points;
    for (const CostPoint& point : curve.points())
        points.push_back(fmt::format("[{}, {}]", point.bytes, point.cost));
    if (points.empty())
        points.emplace_back("[0, 0]");
    return fmt::format("[{}]", fmt::join(points, ", "));
}

// `"name": {` and one member per line.
std::string object_text(std::string_view name, const std::vector<std::string>& members) {
    return fmt::format("  {}: {{\n    {}\n  }}", json_text(name), fmt::join(members, ",\n    "));
}

std::string measured_text(const MeasuredCost& m) {
    return fmt::format(
        "{{\"operation\": {}, \"state\": {}, \"bytes\": {}, \"count\": {}, "
        "\"p10_ns\": {}, \"median_ns\": {}, \"mean_ns\": {}, \"p90_ns\": {}}}",
        json_text(m.operation), json_text(m.state), m.bytes, m.count, m.p10, m.median, m.mean,
        m.p90);
}

// The calls that every profile prices, and those of the others that cost something.
std::vector<std::string> calls_text(const CostProfile& profile) {
    std::vector<std::string> calls;
    for (std::size_t i = 0; i < profile.calls.size(); ++i) {
        const auto call = static_cast<DeviceCall>(i);
        if (call <= DeviceCall::host_free || !profile.calls[i].points().empty())
            calls.push_back(json_member(to_text(call), curve_text(profile.calls[i])));
    }
    return calls;
}

}  // namespace

std::string profile_text(const CostProfile& profile, const ProfileNotes& notes) {
    std::vector<std::string> parts{
        "  \"format\": \"tidemark-device-profile\"",
        "  \"version\": 1",
        fmt::format("  \"name\": {}", json_text(profile.name)),
        fmt::format("  \"device\": {}", json_text(profile.device)),
        fmt::format("  \"memory\": {}", profile.memory),
        fmt::format("  \"granularity\": {}", profile.granularity),
        object_text("calls", calls_text(profile)),
        object_text("plain",
                    {json_member("page_open", fmt::format("{}", profile.page_open)),
                     json_member("page_close", fmt::format("{}", profile.page_close)),
                     json_member("largest_page", fmt::format("{}", profile.largest_page))}),
        object_text("pool", {json_member("create", fmt::format("{}", profile.pool_creation)),
                             json_member("grow", curve_text(profile.pool_growth))}),
    };
    std::vector<std::string> transfers;
    for (std::size_t i = 0; i < profile.transfers.size(); ++i)
        transfers.push_back(
            json_member(to_text(static_cast<Transfer>(i)), curve_text(profile.transfers[i])));
    parts.push_back(object_text("transfers", transfers));
    std::vector<std::string> further;
    for (std::size_t i = 0; i < profile.further.size(); ++i) {
        if (profile.further[i])
            further.push_back(
                json_member(to_text(static_cast<DeviceCall>(i)), curve_text(*profile.further[i])));
    }
    if (!further.empty())
        parts.push_back(object_text("further", further));
    std::vector<std::string> derived;
    for (const auto& [what, how] : notes.derived)
        derived.push_back(json_member(what, json_text(how)));
    if (!derived.empty())
        parts.push_back(object_text("derived", derived));
    std::vector<std::string> measured;
    for (const MeasuredCost& each : notes.measured)
        measured.push_back(measured_text(each));
    if (!measured.empty())
        parts.push_back(
            fmt::format("  \"measured\": [\n    {}\n  ]", fmt::join(measured, ",\n    ")));
    return fmt::format("{{\n{}\n}}\n", fmt::join(parts, ",\n"));
}

}  // namespace tidemark
