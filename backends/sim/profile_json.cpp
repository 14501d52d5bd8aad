// Profiles as JSON: shipped ones and a user's. Every field is checked; errors name the field.
#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "backends/sim/costs.h"
#include "backends/sim/sim_device.h"
#include "core/base/text.h"

namespace tidemark {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kProfileJsonFormat = "tidemark-device-profile";
constexpr std::uint64_t kProfileJsonVersion = 1;
constexpr std::size_t kProfileJsonLargestFile = 1_MiB;
constexpr std::size_t kMostPoints = 1000;                    // of one curve
constexpr Nanoseconds kLongestCost = 1'000'000'000'000'000;  // 11 days
constexpr Nanoseconds kSteepest = 1000;                      // ns per byte beyond the last point

// Reads fields of one JSON object; the first fault is kept and names its path.
class ProfileReader {
  public:
    explicit ProfileReader(std::string_view where) : where_(where) {}

    const std::optional<Error>& fault() const { return fault_; }

    void refuse(const std::string& path, const std::string& what) {
        if (!fault_)
            fault_ = Error{ErrorCode::bad_input, path + ": " + what, std::string{where_},
                           "`tidemark calibrate` writes profiles"};
    }

    // The member `name` of `object`, or null after a fault.
    const Json* member(const Json& object, const std::string& path, std::string_view name) {
        const auto found = object.find(name);
        if (found == object.end()) {
            refuse(fmt::format("{}{}", path, name), "missing");
            return nullptr;
        }
        return &*found;
    }

    std::uint64_t number(const Json* value, const std::string& path, std::uint64_t largest) {
        if (value == nullptr)
            return 0;
        if (!value->is_number_unsigned() || value->get<std::uint64_t>() > largest) {
            refuse(path, fmt::format("expected a whole number from 0 to {}", largest));
            return 0;
        }
        return value->get<std::uint64_t>();
    }

    std::string text(const Json* value, const std::string& path) {
        if (value == nullptr)
            return {};
        if (!value->is_string()) {
            refuse(path, "expected a string");
            return {};
        }
        return value->get<std::string>();
    }

    CostCurve curve(const Json* value, const std::string& path);

  private:
    std::string_view where_;
    std::optional<Error> fault_;
};

CostCurve ProfileReader::curve(const Json* value, const std::string& path) {
    if (value == nullptr)
        return {};
    if (!value->is_array() || value->empty() || value->size() > kMostPoints) {
        refuse(path,
               fmt::format("expected a list of 1 to {} points [bytes, nanoseconds]", kMostPoints));
        return {};
    }
    std::vector<CostPoint> points;
    for (const Json& item : *value) {
        const std::string at = fmt::format("{}[{}]", path, points.size());
        if (!item.is_array() || item.size() != 2) {
            refuse(at, "expected a point [bytes, nanoseconds]");
            return {};
        }
        const Bytes bytes = number(&item[0], at + "[0]", kLargestRequest);
        const auto cost =
            static_cast<Nanoseconds>(number(&item[1], at + "[1]", std::uint64_t{kLongestCost}));
        if (!points.empty() && bytes <= points.back().bytes)
            refuse(at, "expected more bytes than in the point before");
        if (fault_)
            return {};
        points.push_back({bytes, cost});
    }
    if (points.size() > 1) {
        const CostPoint& last = points.back();
        const CostPoint& before = points[points.size() - 2];
        const auto bytes = static_cast<Nanoseconds>(last.bytes - before.bytes);
        if ((last.cost - before.cost) / bytes > kSteepest)
            refuse(path, "rises by more than 1000 ns per byte at its end");
    }
    return fault_ ? CostCurve{} : CostCurve{points};
}

// The object at `name`; every member must be one of `names`.
const Json* section(ProfileReader& reader, const Json& root, std::string_view name,
                    std::span<const std::string_view> names) {
    const Json* value = reader.member(root, "", name);
    if (value == nullptr)
        return nullptr;
    if (!value->is_object()) {
        reader.refuse(std::string{name}, "expected an object");
        return nullptr;
    }
    for (const auto& item : value->items()) {
        if (std::ranges::find(names, item.key()) != names.end())
            continue;
        const std::string_view near = nearest(item.key(), names);
        reader.refuse(fmt::format("{}.{}", name, item.key()),
                      near.empty() ? "unknown" : fmt::format("unknown; did you mean {}", near));
    }
    return value;
}

// The calls up to this one must have a price; the others are free of cost if they have none.
constexpr auto kPricedAlways = static_cast<std::size_t>(DeviceCall::host_free) + 1;

void read_curves(ProfileReader& reader, const Json& root, CostProfile& profile) {
    std::vector<std::string_view> names;
    for (int i = 0; i < kDeviceCallCount; ++i)
        names.push_back(to_text(static_cast<DeviceCall>(i)));
    if (const Json* calls = section(reader, root, "calls", names)) {
        for (std::size_t i = 0; i < names.size(); ++i) {
            if (i >= kPricedAlways && !calls->contains(names[i]))
                continue;
            profile.calls[i] = reader.curve(reader.member(*calls, "calls.", names[i]),
                                            fmt::format("calls.{}", names[i]));
        }
    }
    names.clear();
    for (int i = 0; i < kTransferCount; ++i)
        names.push_back(to_text(static_cast<Transfer>(i)));
    if (const Json* transfers = section(reader, root, "transfers", names)) {
        for (std::size_t i = 0; i < names.size(); ++i)
            profile.transfers[i] = reader.curve(reader.member(*transfers, "transfers.", names[i]),
                                                fmt::format("transfers.{}", names[i]));
    }
    constexpr std::string_view kPool[] = {"create", "grow"};
    if (const Json* pool = section(reader, root, "pool", kPool)) {
        profile.pool_creation = static_cast<Nanoseconds>(reader.number(
            reader.member(*pool, "pool.", "create"), "pool.create", std::uint64_t{kLongestCost}));
        profile.pool_growth = reader.curve(reader.member(*pool, "pool.", "grow"), "pool.grow");
    }
}

// What a profile need not have.

void read_plain(ProfileReader& reader, const Json& root, CostProfile& profile) {
    constexpr std::string_view kMembers[] = {"page_open", "page_close", "largest_page"};
    if (!root.contains("plain"))
        return;
    const Json* plain = section(reader, root, "plain", kMembers);
    if (plain == nullptr)
        return;
    const auto price = [&](std::string_view name) {
        return static_cast<Nanoseconds>(reader.number(reader.member(*plain, "plain.", name),
                                                      fmt::format("plain.{}", name),
                                                      std::uint64_t{kLongestCost}));
    };
    profile.page_open = price("page_open");
    profile.page_close = price("page_close");
    profile.largest_page = reader.number(reader.member(*plain, "plain.", "largest_page"),
                                         "plain.largest_page", DriverPlacement::kLargestPage);
    if (!is_power_of_two(profile.largest_page) || profile.largest_page < DriverPlacement::kChunk)
        reader.refuse("plain.largest_page", "expected a power of two from 32 to 512 MiB");
}

void read_further(ProfileReader& reader, const Json& root, CostProfile& profile) {
    constexpr std::array kCalls{DeviceCall::set_access, DeviceCall::unmap};
    if (!root.contains("further"))
        return;
    std::vector<std::string_view> names;
    for (const DeviceCall call : kCalls)
        names.push_back(to_text(call));
    const Json* further = section(reader, root, "further", names);
    for (std::size_t i = 0; further != nullptr && i < names.size(); ++i) {
        if (further->contains(names[i]))
            profile.further[static_cast<std::size_t>(kCalls[i])] = reader.curve(
                reader.member(*further, "further.", names[i]), fmt::format("further.{}", names[i]));
    }
}

void read_header(ProfileReader& reader, const Json& root, CostProfile& profile) {
    if (reader.text(reader.member(root, "", "format"), "format") != kProfileJsonFormat)
        reader.refuse("format", fmt::format("expected \"{}\"", kProfileJsonFormat));
    if (reader.number(reader.member(root, "", "version"), "version", kProfileJsonVersion) !=
        kProfileJsonVersion)
        reader.refuse("version", fmt::format("expected {}", kProfileJsonVersion));
    profile.name = reader.text(reader.member(root, "", "name"), "name");
    profile.device = reader.text(reader.member(root, "", "device"), "device");
    profile.memory =
        reader.number(reader.member(root, "", "memory"), "memory", SimDevice::kLargestCapacity);
    profile.granularity =
        reader.number(reader.member(root, "", "granularity"), "granularity", 32_MiB);
    if (profile.memory == 0)
        reader.refuse("memory", "expected more than 0 bytes");
    if (!is_power_of_two(profile.granularity) || profile.granularity < PlainMemory::kUnit)
        reader.refuse("granularity", "expected a power of two from 512 to 32 MiB");
}

Result<std::string> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string text;
    text.resize(kProfileJsonLargestFile + 1);
    if (file)
        file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!file && !file.eof())
        return fail(ErrorCode::io, "cannot be read", path);
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text.size() > kProfileJsonLargestFile)
        return fail(ErrorCode::bad_input, "larger than 1 MiB: not a device profile", path);
    return text;
}

}  // namespace

Result<CostProfile> parse_profile(std::string_view json, std::string_view where) {
    Json root;
    try {
        root = Json::parse(json);
    } catch (const Json::parse_error& error) {
        return fail(ErrorCode::bad_input, fmt::format("not JSON: fault at byte {}", error.byte),
                    std::string{where}, "a device profile is expected");
    } catch (const Json::exception&) {  // a number that no double holds
        return fail(ErrorCode::bad_input, "not JSON: a number is out of range", std::string{where},
                    "a device profile is expected");
    }
    ProfileReader reader(where);
    CostProfile profile;
    if (!root.is_object()) {
        reader.refuse("profile", "expected an object");
    } else {
        read_header(reader, root, profile);
        read_curves(reader, root, profile);
        read_plain(reader, root, profile);
        read_further(reader, root, profile);
    }
    if (reader.fault())
        return tl::make_unexpected(*reader.fault());
    return profile;
}

Result<CostProfile> load_profile(std::string_view name_or_path) {
    for (const ShippedProfile& shipped : shipped_profiles()) {
        if (shipped.name == name_or_path)
            return parse_profile(shipped.json, shipped.name);
    }
    const std::string path{name_or_path};
    if (name_or_path.empty() || !std::ifstream(path).good()) {
        const std::vector<std::string_view> names = profile_names();
        const std::string_view near = nearest(name_or_path, names);
        const std::string hint = near.empty()
                                     ? fmt::format("known profiles: {}", fmt::join(names, " "))
                                     : fmt::format("did you mean {}", near);
        return fail(ErrorCode::not_found, "no device profile or file of that name", path, hint);
    }
    TM_ASSIGN(const std::string text, read_file(path));
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
