// Adding up what is in memory.
#include "replay/analysis/advise/memory.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "replay/analysis/advise/units.h"
#include "replay/analysis/trace/program_steps.h"

namespace tidemark {
namespace {

// Adds a region that is in use.
void add_used(facts::MemoryParts& parts, const Region& region, const LiveBlock* block) {
    if (block == nullptr || block->retired || region.state == Region::State::waiting) {
        parts.waiting += region.range.size;
        return;
    }
    const Bytes requested = std::min(block->requested, region.range.size);
    parts.in_use += requested;
    parts.rounding += region.range.size - requested;
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
        case HolderKind::site:
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

facts::MemoryParts memory_parts(const PeakSnapshot& snapshot) {
    facts::MemoryParts parts;
    parts.reserved = snapshot.fullest.usage.reserved;
    for (std::size_t device = 0; device < snapshot.at_peak.size(); ++device) {
        const std::vector<Region>& regions = snapshot.at_peak[device];
        const LiveByAddress live(snapshot.fullest.live, device);
        for (const Region& region : regions)
            if (!is_free(region))
                add_used(parts, region, live.find(region.range.begin));
        for_each_segment(regions, [&parts](const SegmentRegions& segment) {
            for (const ReleaseUnit& unit : units_of(segment))
                (unit.in_use.empty() ? parts.cached : parts.fragmentation) += unit.free;
        });
    }
    return parts;
}

std::vector<Holder> holders(const PeakSnapshot& snapshot, const TraceInfo& info, Sites& sites,
                            std::size_t top) {
    HolderTable sites_of_blocks(HolderKind::site);
    HolderTable operations(HolderKind::operation);
    HolderTable annotations(HolderKind::annotation);
    HolderTable sizes(HolderKind::size);
    const auto add = [&](const Moment& moment, bool allocated_peak) {
        for (const LiveBlock& block : moment.live) {
            if (block.retired)
                continue;
            sites_of_blocks.add(sites.site(block.stack), block, allocated_peak);
            operations.add(sites.operation(block.stack), block, allocated_peak);
            const std::string note = block.annotation < info.strings.size()
                                         ? range_family(info.strings[block.annotation])
                                         : std::string();
            annotations.add(note, block, allocated_peak);
            sizes.add(size_class(block.requested), block, allocated_peak);
        }
    };
    add(snapshot.fullest, false);
    add(snapshot.allocated, true);
    std::vector<Holder> list;
    sites_of_blocks.give(list, top);
    operations.give(list, top);
    annotations.give(list, top);
    if (!sites_of_blocks.named())
        sizes.give(list, top);
    return list;
}

namespace {

// Gathers shares by stream, pool and site.
class ShareTable {
  public:
    StreamShare& at(StreamId stream, PoolId pool, const std::string& site) {
        StreamShare& share = shares_[{to_integer(stream), to_integer(pool), site}];
        share.stream = stream;
        share.pool = pool;
        share.site = site;
        return share;
    }

    std::vector<StreamShare> give(std::size_t top) const {
        std::vector<StreamShare> list;
        for (const auto& [key, share] : shares_)
            list.push_back(share);
        std::ranges::stable_sort(list, std::greater(), &StreamShare::bytes);
        list.resize(std::min(list.size(), top));
        return list;
    }

  private:
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::string>, StreamShare> shares_;
};

std::string site_or_size(const LiveBlock& block, Sites& sites) {
    const std::string& site = sites.site(block.stack);
    return site.empty() ? size_class(block.requested) : site;
}

}  // namespace

std::string pool_text(const TraceInfo& info, PoolId pool) {
    const std::uint32_t number = to_integer(pool);
    if (number == 0)
        return "default pool";
    if (number >= info.pools.size() || info.pools[number].empty())
        return fmt::format("pool {}", number);
    const std::string& name = info.pools[number];
    if (name.starts_with("pool "))
        return name;
    const bool captured = name.size() > 3 && name.ends_with(" 0)") && name[1] != '0';
    return fmt::format("{}pool {}", captured ? "graph " : "", name);
}

std::string stream_text(const TraceInfo& info, StreamId stream) {
    const std::uint32_t number = to_integer(stream);
    if (number >= info.streams.size() || info.streams[number] == number)
        return fmt::format("stream {}", number);
    return fmt::format("stream {} ({:#x})", number, info.streams[number]);
}

std::vector<StreamShare> waiting_blocks(const PeakSnapshot& snapshot, const TraceInfo& info,
                                        Sites& sites, std::size_t top) {
    // PyTorch's allocator waits for nothing but the streams that record_stream named.
    const bool from_torch = info.from_torch();
    ShareTable table;
    for (const LiveBlock& block : snapshot.fullest.live) {
        if (!block.retired)
            continue;
        StreamShare& share = table.at(block.stream, block.pool, site_or_size(block, sites));
        share.bytes += block.requested;
        ++share.blocks;
        share.record_stream = share.record_stream || from_torch || block.recorded;
    }
    return table.give(top);
}

std::vector<StreamShare> kept_free(const PeakSnapshot& snapshot, bool other_pools, Sites& sites,
                                   std::size_t top) {
    const TraceEvent& what = snapshot.growth.what;
    if (snapshot.growth.event == kNotInTrace || what.kind != EventKind::allocate ||
        what.device >= snapshot.at_growth.size())
        return {};
    const LiveByAddress live(snapshot.growth.live, what.device);
    ShareTable table;
    for_each_segment(snapshot.at_growth[what.device], [&](const SegmentRegions& segment) {
        const LiveBlock* largest = nullptr;
        for (const Region& region : segment.regions)
            if (const LiveBlock* block = is_free(region) ? nullptr : live.find(region.range.begin);
                block != nullptr && (largest == nullptr || block->requested > largest->requested))
                largest = block;
        for (const Region& region : segment.regions) {
            const bool other_pool = region.pool != PoolId{what.aux};
            if (!is_free(region) || other_pool != other_pools ||
                (!other_pool && region.stream == what.stream))
                continue;
            StreamShare& share =
                table.at(region.stream, region.pool,
                         largest == nullptr ? std::string() : site_or_size(*largest, sites));
            share.bytes += region.range.size;
            ++share.blocks;
        }
    });
    return table.give(top);
}

std::vector<PoolShare> pool_shares(const PeakSnapshot& snapshot) {
    std::map<std::uint32_t, PoolShare> pools;
    for (const std::vector<Region>& regions : snapshot.at_peak) {
        for (const Region& region : regions) {
            PoolShare& pool = pools[to_integer(region.pool)];
            pool.pool = region.pool;
            pool.reserved += region.range.size;
            pool.in_use += is_free(region) ? 0 : region.range.size;
            pool.blocks += is_free(region) ? 0U : 1U;
        }
    }
    std::vector<PoolShare> list;
    for (const auto& [number, pool] : pools)
        list.push_back(pool);
    if (list.size() == 1 && list.front().pool == PoolId::default_pool)
        list.clear();
    std::ranges::stable_sort(list, std::greater(), &PoolShare::reserved);
    return list;
}

}  // namespace tidemark
