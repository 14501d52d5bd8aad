// Adding up what lies in memory.
#include "replay/analysis/advise_memory.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "replay/analysis/advise_units.h"

namespace tidemark {
namespace {

// Adds a region that is in use.
void add_used(MemoryUse& use, const Region& region, const LiveBlock* block) {
    if (block == nullptr || block->retired || region.state == Region::State::waiting) {
        use.waiting += region.range.size;
        return;
    }
    const Bytes requested = std::min(block->requested, region.range.size);
    use.requested += requested;
    use.rounding += region.range.size - requested;
}

// Gathers holders of one kind under their names.
class HolderTable {
  public:
    explicit HolderTable(HolderKind kind) : kind_(kind) {}

    void add(const std::string& name, const LiveBlock& block, bool allocated_peak) {
        Holder& holder = by_name_[name];
        (allocated_peak ? holder.at_allocated_peak : holder.at_reserved_peak) += block.requested;
        holder.blocks += allocated_peak ? 1 : 0;
        if (block.requested > holder.largest || holder.stack == 0) {
            holder.largest = std::max(holder.largest, block.requested);
            holder.stack = block.stack;
        }
        named_ = named_ || !name.empty();
    }

    // Adds the largest to `list`; nothing if none of them has a name.
    void give(std::vector<Holder>& list, std::size_t top) {
        if (!named_)
            return;
        std::vector<Holder> all;
        for (auto& [name, holder] : by_name_) {
            holder.kind = kind_;
            holder.name = name;
            all.push_back(holder);
        }
        keep_first(all, top, [](const Holder& a, const Holder& b) {
            return std::tuple(b.at_reserved_peak + b.at_allocated_peak, std::string_view(a.name)) <
                   std::tuple(a.at_reserved_peak + a.at_allocated_peak, std::string_view(b.name));
        });
        list.insert(list.end(), all.begin(), all.end());
    }

    bool named() const { return named_; }

  private:
    HolderKind kind_;
    std::map<std::string, Holder> by_name_;
    bool named_ = false;
};

}  // namespace

std::string_view to_text(HolderKind kind) {
    switch (kind) {
        case HolderKind::place:
            return "place";
        case HolderKind::operation:
            return "operator";
        case HolderKind::annotation:
            return "annotation";
        case HolderKind::size:
            return "size";
    }
    return "unknown";
}

MemoryUse memory_use(const PeakPicture& picture, bool paged) {
    MemoryUse use;
    use.reserved = picture.fullest.usage.reserved;
    for (std::size_t device = 0; device < picture.at_peak.size(); ++device) {
        const std::vector<Region>& regions = picture.at_peak[device];
        const LiveByAddress live(picture.fullest.live, device);
        for (const Region& region : regions)
            if (!is_free(region))
                add_used(use, region, live.find(region.range.begin));
        for_each_segment(regions, paged, [&use](const SegmentRegions& segment) {
            for (const ReleaseUnit& unit : units_of(segment))
                (unit.in_use.empty() ? use.unused : use.fragmentation) += unit.free;
        });
    }
    return use;
}

std::vector<Holder> holders(const PeakPicture& picture, const TraceInfo& info, Sites& sites,
                            std::size_t top) {
    HolderTable places(HolderKind::place);
    HolderTable operations(HolderKind::operation);
    HolderTable annotations(HolderKind::annotation);
    HolderTable sizes(HolderKind::size);
    const auto add = [&](const Moment& moment, bool allocated_peak) {
        for (const LiveBlock& block : moment.live) {
            if (block.retired)
                continue;
            places.add(sites.place(block.stack), block, allocated_peak);
            operations.add(sites.operation(block.stack), block, allocated_peak);
            const std::string note = block.annotation < info.strings.size()
                                         ? std::string(info.strings[block.annotation])
                                         : std::string();
            annotations.add(note, block, allocated_peak);
            sizes.add(size_class(block.requested), block, allocated_peak);
        }
    };
    add(picture.fullest, false);
    add(picture.allocated, true);
    std::vector<Holder> list;
    places.give(list, top);
    operations.give(list, top);
    annotations.give(list, top);
    if (!places.named())
        sizes.give(list, top);
    return list;
}

}  // namespace tidemark
