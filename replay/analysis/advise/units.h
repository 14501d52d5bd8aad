// Units: the smallest pieces in which an allocator can release memory: whole segments, or, if
// segments grow page by page (expandable segments), pages. Every free byte of a list of regions is
// in one unit, and what else is in that unit pins it.
//
// Pure. Regions of one segment must follow each other by address, as for_each_region gives them.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "core/allocator/allocator.h"
#include "core/policies/torch_settings.h"
#include "replay/analysis/advise/peak.h"

namespace tidemark {

// Free to be allocated, or unusable until a trim.
inline bool is_free(const Region& region) {
    return region.state == Region::State::free || region.state == Region::State::hole;
}

// A segment, or a run of mapped pages.
struct SegmentRegions {
    std::span<const Region> regions;
    Range range;
    Bytes page = 0;      // 0: is reserved and released as a whole
    bool small = false;  // for small requests
};

// O(regions).
SegmentRegions describe_segment(std::span<const Region> regions);

// Calls visit(segment) for each. O(regions).
template <class Visit>
void for_each_segment(std::span<const Region> regions, Visit visit) {
    std::size_t begin = 0;
    for (std::size_t i = 1; i <= regions.size(); ++i) {
        if (i < regions.size() && regions[i].segment == regions[begin].segment)
            continue;
        visit(describe_segment(regions.subspan(begin, i - begin)));
        begin = i;
    }
}

struct ReleaseUnit {
    Bytes free = 0;
    Bytes largest_gap = 0;  // the largest gap that reaches into it
    std::vector<const Region*> in_use;
};

// The units of `segment` that have free bytes, in address order. Pages inside one region are one
// unit together. O(regions).
std::vector<ReleaseUnit> units_of(const SegmentRegions& segment);

// Live blocks of one device, to be found by their address. Memory O(live).
class LiveByAddress {
  public:
    // `live` must outlive this. O(live log live).
    LiveByAddress(const std::vector<LiveBlock>& live, std::size_t device);

    // Null if none starts there. O(log live).
    const LiveBlock* find(Address address) const;

  private:
    std::vector<const LiveBlock*> blocks_;
};

// The first `count` of `list` in the order of `before`.
template <class T, class Before>
void keep_first(std::vector<T>& list, std::size_t count, Before before) {
    std::ranges::sort(list, before);
    if (list.size() > count)
        list.resize(count);
}

}  // namespace tidemark
