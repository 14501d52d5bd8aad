// Names, thresholds and the checks of a machine description.
#include "core/tiers/machine.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace tidemark {
namespace {

constexpr std::string_view kTierNames[kTierCount] = {"gpu", "host", "disk"};

Bytes fraction_of(Bytes capacity, double fraction) {
    if (fraction >= 1)
        return capacity;
    return static_cast<Bytes>(static_cast<double>(capacity) * fraction);
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
    const auto name = std::find(std::begin(kTierNames), std::end(kTierNames), text.substr(0, colon));
    SpaceId id;
    if (colon == std::string_view::npos || name == std::end(kTierNames))
        return fail(ErrorCode::bad_option, fmt::format("'{}' is no memory space", text), {},
                    "write gpu:0, host:0 or disk:0");
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, id.index);
    if (error != std::errc() || stop != end)
        return fail(ErrorCode::bad_option, fmt::format("'{}' has no number", text), {},
                    "write gpu:0, host:0 or disk:0");
    id.tier = static_cast<Tier>(name - std::begin(kTierNames));
    return id;
}

Thresholds SpaceSpec::thresholds() const {
    return {fraction_of(capacity, reservation_limit), fraction_of(capacity, spill_start),
            fraction_of(capacity, spill_stop)};
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

Nanoseconds transfer_time(const LinkSpec& link, Bytes size) {
    const double ns = static_cast<double>(size) * 1e9 / link.bytes_per_second;
    return link.overhead + static_cast<Nanoseconds>(std::llround(ns));
}

}  // namespace tidemark
