// Names, thresholds and the checks of a machine description.
#include "core/tiers/machine/machine.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"

namespace tidemark {
namespace {

constexpr std::string_view kTierNames[kTierCount] = {"gpu", "host", "disk"};

__extension__ using Wide = unsigned __int128;

constexpr Nanoseconds kLongestTransfer = Nanoseconds{1} << 62;
constexpr Nanoseconds kLongestDelay = 1'000'000'000'000'000;  // 11 days, of a link
constexpr Bytes kPage = 4_KiB;
constexpr double kFastest = 1e18;  // bytes per second
constexpr int kShortFraction = 6;  // digits

// The error for a field that JSON calls /spaces/1/capacity.
tl::unexpected<Error> fault(std::string_view list, std::size_t index, std::string_view field,
                            std::string what) {
    return fail(ErrorCode::bad_input, std::move(what),
                fmt::format("/{}/{}/{}", list, index, field));
}

bool is_bandwidth(double bytes_per_second) {
    return bytes_per_second >= 1 && bytes_per_second <= kFastest;
}

std::string bandwidth_fault(double bytes_per_second) {
    return fmt::format("{} is not a bandwidth; expected 1 to 1e18 bytes per second",
                       bytes_per_second);
}

Result<void> check_fractions(const SpaceSpec& space, std::size_t index) {
    const std::pair<std::string_view, double> fractions[] = {
        {"reservation_limit", space.reservation_limit},
        {"spill_start", space.spill_start},
        {"spill_stop", space.spill_stop}};
    for (const auto& [name, fraction] : fractions) {
        if (!(fraction > 0 && fraction <= 1))
            return fault(
                "spaces", index, name,
                fmt::format("{} of {} is not above 0 and at most 1", fraction, to_text(space.id)));
        if (bytes_of_fraction(fraction, space.capacity) == 0)
            return fault("spaces", index, name,
                         fmt::format("{} of {} is less than a byte", fraction, to_text(space.id)));
    }
    if (space.spill_stop > space.spill_start)
        return fault("spaces", index, "spill_stop",
                     fmt::format("{} is above spill_start, {}: {} would spill without end",
                                 space.spill_stop, space.spill_start, to_text(space.id)));
    return {};
}

Result<void> check_host(const SpaceSpec& space, std::size_t index) {
    if (space.block == 0 || space.block % kPage != 0 || space.block > kLargestSpace)
        return fault(
            "spaces", index, "block",
            fmt::format("{} bytes is not a block size; expected a multiple of 4 KiB", space.block));
    if (space.blocks_per_pool == 0)
        return fault("spaces", index, "blocks_per_pool", "expected at least 1");
    return {};
}

Result<void> check_directories(const SpaceSpec& space, std::size_t index) {
    for (std::size_t i = 0; i < space.directories.size(); ++i) {
        const auto here = space.directories.begin() + static_cast<std::ptrdiff_t>(i);
        if (here->empty())
            return fault("spaces", index, fmt::format("directories/{}", i), "has no name");
        if (std::find(space.directories.begin(), here, *here) != here)
            return fault("spaces", index, fmt::format("directories/{}", i),
                         fmt::format("'{}' is listed twice", *here));
    }
    return {};
}

Result<void> check_space(const std::vector<SpaceSpec>& spaces, std::size_t index) {
    const SpaceSpec& space = spaces[index];
    if (static_cast<int>(space.id.tier) >= kTierCount || space.id.index < 0)
        return fault("spaces", index, "id",
                     "is not a space; expected a tier and a number of at least 0");
    if (index > 0 && spaces[index - 1].id == space.id)
        return fault("spaces", index, "id", fmt::format("{} is listed twice", to_text(space.id)));
    if (index > 0 && spaces[index - 1].id > space.id)
        return fault("spaces", index, "id",
                     fmt::format("{} comes after {}; the order is gpu, host, disk, each by number",
                                 to_text(space.id), to_text(spaces[index - 1].id)));
    if (space.capacity == 0 || space.capacity > kLargestSpace)
        return fault("spaces", index, "capacity",
                     fmt::format("{} bytes of {}; expected 1 byte to 4 PiB", space.capacity,
                                 to_text(space.id)));
    if (!is_power_of_two(space.granularity) || space.granularity > space.capacity)
        return fault("spaces", index, "granularity",
                     fmt::format("{} of {} is not a power of two within its capacity",
                                 space.granularity, to_text(space.id)));
    TM_TRY(check_fractions(space, index));
    if (space.id.tier == Tier::host)
        TM_TRY(check_host(space, index));
    return check_directories(space, index);
}

Result<void> check_buses(const std::vector<BusSpec>& buses) {
    for (std::size_t i = 0; i < buses.size(); ++i) {
        if (buses[i].name.empty())
            return fault("buses", i, "name", "a bus has no name");
        for (std::size_t j = 0; j < i; ++j) {
            if (buses[j].name == buses[i].name)
                return fault("buses", i, "name",
                             fmt::format("'{}' is listed twice", buses[i].name));
        }
        if (!is_bandwidth(buses[i].bytes_per_second))
            return fault("buses", i, "bytes_per_second",
                         bandwidth_fault(buses[i].bytes_per_second));
    }
    return {};
}

Result<void> check_ends(const MachineSpec& machine, std::size_t index) {
    const LinkSpec& link = machine.links[index];
    const std::string name = fmt::format("{} -> {}", to_text(link.source), to_text(link.target));
    if (machine.space(link.source) == nullptr)
        return fault("links", index, "source", fmt::format("{}: no such space", name));
    if (machine.space(link.target) == nullptr)
        return fault("links", index, "target", fmt::format("{}: no such space", name));
    if (link.source == link.target)
        return fault("links", index, "target", fmt::format("{} leads back to its source", name));
    if (machine.link(link.source, link.target) != &link)
        return fault("links", index, "target", fmt::format("{} is listed twice", name));
    return {};
}

Result<void> check_link(const MachineSpec& machine, std::size_t index) {
    TM_TRY(check_ends(machine, index));
    const LinkSpec& link = machine.links[index];
    if (!is_bandwidth(link.bytes_per_second))
        return fault("links", index, "bytes_per_second", bandwidth_fault(link.bytes_per_second));
    if (link.overhead < 0 || link.overhead > kLongestDelay)
        return fault("links", index, "overhead", "expected 0 to 1e15 nanoseconds");
    if (link.latency < 0 || link.latency > kLongestDelay)
        return fault("links", index, "latency", "expected 0 to 1e15 nanoseconds");
    const bool known =
        link.bus.empty() || std::any_of(machine.buses.begin(), machine.buses.end(),
                                        [&](const BusSpec& bus) { return bus.name == link.bus; });
    if (!known)
        return fault("links", index, "bus", fmt::format("there is no bus '{}'", link.bus));
    return {};
}

}  // namespace

std::string_view to_text(Tier tier) {
    return kTierNames[static_cast<int>(tier)];
}

std::string to_text(SpaceId id) {
    return fmt::format("{}:{}", to_text(id.tier), id.index);
}

Result<SpaceId> parse_space_id(std::string_view text) {
    const std::size_t colon = text.find(':');
    const auto name =
        std::find(std::begin(kTierNames), std::end(kTierNames), text.substr(0, colon));
    SpaceId id;
    if (colon == std::string_view::npos || name == std::end(kTierNames))
        return fail(ErrorCode::bad_option, fmt::format("'{}' is not a memory space", text), {},
                    "write gpu:0, host:0 or disk:0");
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, id.index);
    if (error != std::errc() || stop != end || id.index < 0)
        return fail(ErrorCode::bad_option, fmt::format("'{}' has no number", text), {},
                    "write gpu:0, host:0 or disk:0");
    id.tier = static_cast<Tier>(name - std::begin(kTierNames));
    return id;
}

Bytes bytes_of_fraction(double fraction, Bytes capacity) {
    if (!(fraction > 0))
        return 0;
    if (fraction >= 1)
        return capacity;
    // The shortest decimal that gives this double is what was written: as a binary number 0.29 is a
    // little less, and 0.29 of 100 would be 28.
    char text[32];
    const auto end =
        std::to_chars(text, std::end(text), fraction, std::chars_format::scientific).ptr;
    std::uint64_t digits = 0;
    int digit_count = 0;
    const char* at = text;
    for (; at != end && *at != 'e'; ++at) {
        if (*at == '.')
            continue;
        digits = digits * 10 + static_cast<std::uint64_t>(*at - '0');
        ++digit_count;
    }
    int exponent = 0;
    TM_CHECK(at != end && std::from_chars(at + 1, end, exponent).ec == std::errc());
    Wide product = Wide{capacity} * digits;  // below 2^64 * 10^17
    for (int i = exponent - (digit_count - 1); i < 0 && product != 0; ++i)
        product /= 10;
    return static_cast<Bytes>(product);
}

double fraction_of_bytes(Bytes part, Bytes capacity) {
    TM_CHECK(0 < part && part <= capacity && capacity <= kLargestSpace);
    const double exact = static_cast<double>(part) / static_cast<double>(capacity);
    double scale = 1;
    for (int digits = 0; digits <= kShortFraction; ++digits, scale *= 10) {
        const double rounded = std::round(exact * scale) / scale;
        if (bytes_of_fraction(rounded, capacity) == part)
            return rounded;
    }
    double fraction = exact;
    while (bytes_of_fraction(fraction, capacity) < part)  // once, if rounding went down
        fraction = std::nextafter(fraction, 1.0);
    TM_CHECK(bytes_of_fraction(fraction, capacity) == part);
    return fraction;
}

Thresholds SpaceSpec::thresholds() const {
    return {bytes_of_fraction(reservation_limit, capacity),
            bytes_of_fraction(spill_start, capacity), bytes_of_fraction(spill_stop, capacity)};
}

const SpaceSpec* MachineSpec::space(SpaceId id) const {
    const auto found = std::find_if(spaces.begin(), spaces.end(),
                                    [id](const SpaceSpec& space) { return space.id == id; });
    return found == spaces.end() ? nullptr : &*found;
}

const LinkSpec* MachineSpec::link(SpaceId source, SpaceId target) const {
    const auto found = std::find_if(links.begin(), links.end(), [&](const LinkSpec& link) {
        return link.source == source && link.target == target;
    });
    return found == links.end() ? nullptr : &*found;
}

Result<void> MachineSpec::validate() const {
    if (spaces.empty())
        return fail(ErrorCode::bad_input, "a machine without memory", "/spaces");
    for (std::size_t i = 0; i < spaces.size(); ++i)
        TM_TRY(check_space(spaces, i));
    TM_TRY(check_buses(buses));
    for (std::size_t i = 0; i < links.size(); ++i)
        TM_TRY(check_link(*this, i));
    return {};
}

Nanoseconds transfer_time(const LinkSpec& link, Bytes size) {
    const double ns = static_cast<double>(size) * 1e9 / link.bytes_per_second;
    if (!(ns < static_cast<double>(kLongestTransfer)))
        return kLongestTransfer;
    return link.overhead + static_cast<Nanoseconds>(std::llround(ns));
}

}  // namespace tidemark
