// Looking for gaps and for what keeps them.
#include "replay/analysis/advise/gaps.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "replay/analysis/advise/units.h"

namespace tidemark {
namespace {

// Later ends and, among those, earlier begins stay longer.
bool stays_longer(const LiveBlock& a, const LiveBlock& b) {
    return std::tuple(b.ends, a.born, a.slot) < std::tuple(a.ends, b.born, b.slot);
}

void add_to_pin(PinningSite& pin, const ReleaseUnit& unit, const LiveBlock& keeper) {
    const bool first = pin.segments++ == 0;
    pin.free += unit.free;
    pin.largest_gap = std::max(pin.largest_gap, unit.largest_gap);
    for (const Region* region : unit.in_use)
        pin.in_use += region->range.size;
    ++pin.blocks;
    pin.block_bytes += keeper.requested;
    pin.events.push_back(keeper.born);
    if (first || keeper.born < pin.born) {
        pin.born = keeper.born;
        pin.born_time = keeper.born_time;
        pin.stack = keeper.stack;
    }
    if (first || keeper.ends > pin.ends) {
        pin.ends = keeper.ends;
        pin.end_time = keeper.end_time;
    }
}

// The block of a unit that stays longest; null if all of them are only pending free.
const LiveBlock* keeper_of(const ReleaseUnit& unit, const LiveByAddress& live) {
    const LiveBlock* keeper = nullptr;
    for (const Region* region : unit.in_use) {
        const LiveBlock* block = live.find(region->range.begin);
        if (block != nullptr && (keeper == nullptr || stays_longer(*block, *keeper)))
            keeper = block;
    }
    return keeper;
}

}  // namespace

Gaps gaps(const PeakSnapshot& snapshot, bool by_size) {
    Gaps found;
    const TraceEvent& what = snapshot.growth.what;
    if (snapshot.growth.event == kNotInTrace ||
        (what.kind != EventKind::allocate && what.kind != EventKind::out_of_memory) ||
        what.device >= snapshot.at_growth.size())
        return found;
    found.requested = what.size;
    const bool small = what.size <= policies::kTorchSmallMax;
    for_each_segment(snapshot.at_growth[what.device], [&](const SegmentRegions& segment) {
        for (const Region& region : segment.regions) {
            if (!is_free(region))
                continue;
            const Bytes size = region.range.size;
            found.free += size;
            if (region.pool != PoolId{what.aux}) {
                found.other_pools += size;
            } else if (region.stream != what.stream) {
                found.other_streams += size;
            } else if (by_size && segment.small != small) {
                found.other_sizes += size;
            } else {
                found.reachable += size;
                found.whole += region.range == segment.range && !region.shared ? size : 0;
                found.largest = std::max(found.largest, size);
                ++found.count;
            }
        }
    });
    return found;
}

std::vector<PinningSite> pins(const PeakSnapshot& snapshot, Sites& sites, std::size_t top) {
    std::map<std::string, PinningSite> by_site;
    for (std::size_t device = 0; device < snapshot.at_growth.size(); ++device) {
        const LiveByAddress live(snapshot.growth.live, device);
        for_each_segment(snapshot.at_growth[device], [&](const SegmentRegions& segment) {
            for (const ReleaseUnit& unit : units_of(segment)) {
                const LiveBlock* keeper = keeper_of(unit, live);
                if (keeper == nullptr)
                    continue;
                const std::string& site = sites.site(keeper->stack);
                add_to_pin(by_site[site.empty() ? size_class(keeper->requested) : site], unit,
                           *keeper);
            }
        });
    }
    std::vector<PinningSite> list;
    for (auto& [site, pin] : by_site) {
        pin.site = site;
        list.push_back(std::move(pin));
    }
    keep_first(list, top, [](const PinningSite& a, const PinningSite& b) {
        return std::tuple(b.free, a.born, std::string_view(a.site)) <
               std::tuple(a.free, b.born, std::string_view(b.site));
    });
    return list;
}

}  // namespace tidemark
