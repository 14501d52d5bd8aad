// Cutting segments into units.
#include "replay/analysis/advise/units.h"

#include "core/policies/torch_settings.h"

namespace tidemark {
namespace {

class UnitWalk {
  public:
    explicit UnitWalk(const SegmentRegions& segment) : segment_(segment) {}

    std::vector<ReleaseUnit> walk() {
        for (const Region& region : segment_.regions)
            add(region);
        finish();
        return std::move(units_);
    }

  private:
    void add(const Region& region) {
        if (segment_.page == 0) {
            put(region, region.range.size);
            return;
        }
        const Bytes begin = region.range.begin - segment_.range.begin;
        const Bytes end = begin + region.range.size;
        const Bytes first = begin / segment_.page;
        const Bytes last = (end - 1) / segment_.page;
        enter(first);
        put(region, std::min(end, (first + 1) * segment_.page) - begin);
        if (last == first)
            return;
        if (last > first + 1) {
            enter(first + 1);
            put(region, (last - first - 1) * segment_.page);
        }
        enter(last);
        put(region, end - last * segment_.page);
    }

    void enter(Bytes page) {
        if (page != page_)
            finish();
        page_ = page;
    }

    void put(const Region& region, Bytes bytes) {
        if (!is_free(region)) {
            unit_.in_use.push_back(&region);
            return;
        }
        unit_.free += bytes;
        unit_.largest_gap = std::max(unit_.largest_gap, region.range.size);
    }

    void finish() {
        if (unit_.free > 0)
            units_.push_back(std::move(unit_));
        unit_ = {};
    }

    const SegmentRegions& segment_;
    std::vector<ReleaseUnit> units_;
    ReleaseUnit unit_;
    Bytes page_ = 0;  // the one that `unit_` is
};

}  // namespace

SegmentRegions describe_segment(std::span<const Region> regions) {
    SegmentRegions segment{regions, regions.front().segment, regions.front().page};
    const Bytes unit = segment.page == 0 ? segment.range.size : segment.page;
    segment.small = unit == policies::kTorchSmallSegment;
    return segment;
}

std::vector<ReleaseUnit> units_of(const SegmentRegions& segment) {
    return UnitWalk(segment).walk();
}

LiveByAddress::LiveByAddress(const std::vector<LiveBlock>& live, std::size_t device) {
    for (const LiveBlock& block : live)
        if (block.device == device)
            blocks_.push_back(&block);
    std::ranges::sort(
        blocks_, [](const LiveBlock* a, const LiveBlock* b) { return a->address < b->address; });
}

const LiveBlock* LiveByAddress::find(Address address) const {
    const auto found = std::lower_bound(
        blocks_.begin(), blocks_.end(), address,
        [](const LiveBlock* block, Address wanted) { return block->address < wanted; });
    return found != blocks_.end() && (*found)->address == address ? *found : nullptr;
}

}  // namespace tidemark
