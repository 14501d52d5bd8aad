// Profiles as JSON: shipped ones and a user's. Every field is checked; errors name the field.
#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "backends/sim/costs.h"
#include "backends/sim/description_file.h"
#include "backends/sim/json_value.h"
#include "backends/sim/sim_device.h"
#include "core/base/text.h"

namespace tidemark {
namespace {

using Json = nlohmann::json;
using Value = JsonValue<Json>;

constexpr std::string_view kProfileJsonFormat = "tidemark-device-profile";
constexpr std::uint64_t kProfileJsonVersion = 1;
constexpr std::size_t kMostPoints = 1000;                    // of one curve
constexpr Nanoseconds kLongestCost = 1'000'000'000'000'000;  // 11 days
constexpr Nanoseconds kSteepest = 1000;                      // ns per byte beyond the last point

Error profile_fault(std::string_view where, const std::string& path, std::string what,
                    std::string /*hint*/) {
    return {ErrorCode::bad_input, path + ": " + what, std::string{where},
            "`tidemark calibrate` writes profiles"};
}

constexpr JsonStyle kProfileStyle{.pointers = false, .text = "a string", .error = profile_fault};

Nanoseconds read_cost(const Value& value) {
    return static_cast<Nanoseconds>(value.count(std::uint64_t{kLongestCost}));
}

CostCurve read_curve(const Value& value) {
    if (!value.present())
        return {};
    if (!value->is_array() || value->empty() || value->size() > kMostPoints) {
        value.refuse(
            fmt::format("expected a list of 1 to {} points [bytes, nanoseconds]", kMostPoints));
        return {};
    }
    std::vector<CostPoint> points;
    for (std::size_t i = 0; i < value->size(); ++i) {
        const Value item = value.element(i);
        if (!item->is_array() || item->size() != 2) {
            item.refuse("expected a point [bytes, nanoseconds]");
            return {};
        }
        const Bytes bytes = item.element(0).count(kLargestRequest);
        const Nanoseconds cost = read_cost(item.element(1));
        if (!points.empty() && bytes <= points.back().bytes)
            item.refuse("expected more bytes than in the point before");
        if (item.at_fault())
            return {};
        points.push_back({bytes, cost});
    }
    if (points.size() > 1) {
        const CostPoint& last = points.back();
        const CostPoint& before = points[points.size() - 2];
        const auto bytes = static_cast<Nanoseconds>(last.bytes - before.bytes);
        if ((last.cost - before.cost) / bytes > kSteepest)
            value.refuse("rises by more than 1000 ns per byte at its end");
    }
    return value.at_fault() ? CostCurve{} : CostCurve{points};
}

// Whether it is an object; every member must be one of `names`.
bool is_section(const Value& value, std::span<const std::string_view> names) {
    if (!value.is_object())
        return false;
    for (const auto& item : value->items()) {
        if (std::ranges::find(names, item.key()) != names.end())
            continue;
        const std::string_view near = nearest(item.key(), names);
        value.refuse_member(
            item.key(), near.empty() ? "unknown" : fmt::format("unknown; did you mean {}", near));
    }
    return true;
}

// The calls up to this one must have a price; the others cost nothing if they have none.
constexpr auto kPricedAlways = static_cast<std::size_t>(DeviceCall::host_free) + 1;

void read_curves(const Value& root, CostProfile& profile) {
    std::vector<std::string_view> names;
    for (int i = 0; i < kDeviceCallCount; ++i)
        names.push_back(to_text(static_cast<DeviceCall>(i)));
    if (const Value calls = root.member("calls"); is_section(calls, names)) {
        for (std::size_t i = 0; i < names.size(); ++i) {
            if (i < kPricedAlways || calls->contains(names[i]))
                profile.calls[i] = read_curve(calls.member(names[i]));
        }
    }
    names.clear();
    for (int i = 0; i < kTransferCount; ++i)
        names.push_back(to_text(static_cast<Transfer>(i)));
    if (const Value transfers = root.member("transfers"); is_section(transfers, names)) {
        for (std::size_t i = 0; i < names.size(); ++i)
            profile.transfers[i] = read_curve(transfers.member(names[i]));
    }
    constexpr std::string_view kPool[] = {"create", "grow"};
    if (const Value pool = root.member("pool"); is_section(pool, kPool)) {
        profile.pool_creation = read_cost(pool.member("create"));
        profile.pool_growth = read_curve(pool.member("grow"));
    }
}

// Optional members of a profile.

void read_plain(const Value& root, CostProfile& profile) {
    constexpr std::string_view kMembers[] = {"page_open", "page_close", "largest_page"};
    const Value plain = root.optional_member("plain");
    if (!is_section(plain, kMembers))
        return;
    profile.page_open = read_cost(plain.member("page_open"));
    profile.page_close = read_cost(plain.member("page_close"));
    profile.largest_page = plain.member("largest_page").count(DriverPlacement::kLargestPage);
    if (!is_power_of_two(profile.largest_page) || profile.largest_page < DriverPlacement::kChunk)
        plain.refuse_member("largest_page", "expected a power of two from 32 to 512 MiB");
}

void read_further(const Value& root, CostProfile& profile) {
    constexpr std::array kCalls{DeviceCall::set_access, DeviceCall::unmap};
    std::vector<std::string_view> names;
    for (const DeviceCall call : kCalls)
        names.push_back(to_text(call));
    const Value further = root.optional_member("further");
    if (!is_section(further, names))
        return;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (further->contains(names[i]))
            profile.further[static_cast<std::size_t>(kCalls[i])] =
                read_curve(further.member(names[i]));
    }
}

void read_header(const Value& root, CostProfile& profile) {
    if (root.member("format").text() != kProfileJsonFormat)
        root.refuse_member("format", fmt::format("expected \"{}\"", kProfileJsonFormat));
    if (root.member("version").count(kProfileJsonVersion) != kProfileJsonVersion)
        root.refuse_member("version", fmt::format("expected {}", kProfileJsonVersion));
    profile.name = root.member("name").text();
    profile.device = root.member("device").text();
    profile.memory = root.member("memory").count(SimDevice::kLargestCapacity);
    profile.granularity = root.member("granularity").count(32_MiB);
    if (profile.memory == 0)
        root.refuse_member("memory", "expected more than 0 bytes");
    if (!is_power_of_two(profile.granularity) || profile.granularity < PlainMemory::kUnit)
        root.refuse_member("granularity", "expected a power of two from 512 to 32 MiB");
}

}  // namespace

Result<CostProfile> parse_profile(std::string_view json, std::string_view where) {
    Json root;
    try {
        root = Json::parse(json);
    } catch (const Json::parse_error& error) {
        return fail(ErrorCode::bad_input, fmt::format("not JSON: fault at byte {}", error.byte),
                    std::string{where}, "a device profile is expected");
    } catch (const Json::exception&) {  // a number that doesn't fit into a double
        return fail(ErrorCode::bad_input, "not JSON: a number is out of range", std::string{where},
                    "a device profile is expected");
    }
    JsonDocument document(kProfileStyle, where);
    CostProfile profile;
    if (!root.is_object()) {
        document.refuse("profile", "expected an object");
    } else {
        const Value value(document, &root);
        read_header(value, profile);
        read_curves(value, profile);
        read_plain(value, profile);
        read_further(value, profile);
    }
    if (document.fault())
        return tl::make_unexpected(*document.fault());
    return profile;
}

Result<CostProfile> load_profile(std::string_view name_or_path) {
    for (const ShippedProfile& shipped : shipped_profiles()) {
        if (shipped.name == name_or_path)
            return parse_profile(shipped.json, shipped.name);
    }
    const std::string path{name_or_path};
    TM_ASSIGN(const std::string text,
              read_description(path, profile_names(),
                               {"device profile", "profiles", "not a device profile"}));
    return parse_profile(text, path);
}

std::vector<std::string_view> profile_names() {
    std::vector<std::string_view> names;
    for (const ShippedProfile& shipped : shipped_profiles())
        names.push_back(shipped.name);
    std::ranges::sort(names);
    return names;
}

}  // namespace tidemark
