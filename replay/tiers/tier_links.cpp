// Each link and each bus is free from some time on; a copy moves both times.
#include "replay/tiers/tier_links.h"

#include <algorithm>
#include <cmath>

namespace tidemark {

TierLinks::TierLinks(const MachineSpec& machine)
    : machine_(machine), states_(machine.links.size()), bus_free_at_(machine.buses.size()) {
    for (std::size_t i = 0; i < states_.size(); ++i)
        for (std::size_t bus = 0; bus < machine.buses.size(); ++bus)
            if (!machine.links[i].bus.empty() && machine.buses[bus].name == machine.links[i].bus)
                states_[i].bus = bus;
}

std::optional<std::size_t> TierLinks::find(SpaceId source, SpaceId target) const {
    const LinkSpec* const link = machine_.link(source, target);
    if (link == nullptr)
        return std::nullopt;
    return static_cast<std::size_t>(link - machine_.links.data());
}

LinkTransfer TierLinks::transfer(std::size_t link, Nanoseconds earliest, Bytes size) {
    State& state = states_[link];
    const LinkSpec& spec = machine_.links[link];
    LinkTransfer made;
    made.begin = std::max(earliest, state.free_at);
    if (state.bus != kNoBus)
        made.begin = std::max(made.begin, bus_free_at_[state.bus]);
    made.end = made.begin + transfer_time(spec, size);
    made.done = made.end + spec.latency;
    if (state.bus != kNoBus) {
        const double ns =
            static_cast<double>(size) * 1e9 / machine_.buses[state.bus].bytes_per_second;
        bus_free_at_[state.bus] = made.begin + std::llround(ns);
    }
    state.free_at = made.end;
    state.busy += made.end - made.begin;
    state.bytes += size;
    ++state.copies;
    return made;
}

LinkTransfer TierLinks::follow(std::size_t link, const LinkTransfer& first, Bytes size,
                               Bytes piece) {
    const LinkSpec& spec = machine_.links[link];
    const Nanoseconds whole = transfer_time(spec, size);
    const Nanoseconds last = transfer_time(spec, std::min(size, piece));
    return transfer(link, std::max(first.begin + last, first.done + last - whole), size);
}

}  // namespace tidemark
