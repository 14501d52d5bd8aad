// One walk over the events.
#include "viz/model/memory/pool_envelopes.h"

#include <algorithm>
#include <map>
#include <queue>
#include <utility>

namespace tidemark::viz {
namespace {

using PoolKey = std::pair<PoolId, StreamId>;

// What a pool has reserved by now, and the changes of its envelope.
struct PoolLevel {
    Bytes taken = 0;
    Bytes high_water = 0;
    std::vector<LevelPyramid::Change> highs;
    std::vector<std::pair<EventIndex, Bytes>> segments;  // what is added; wraps where it shrinks
};

class PoolWalk {
  public:
    PoolWalk(const History& history, AxisUnit unit) : history_(history), unit_(unit) {}

    void walk(const Cancelled& cancelled) {
        const std::size_t events = history_.counts().events;
        for (std::size_t event = 0; event < events; ++event) {
            if (event % 4096 == 0 && cancelled)
                return;
            look_at(static_cast<EventIndex>(event));
        }
    }

    std::vector<PoolEnvelope> envelopes() {
        std::vector<PoolEnvelope> found;
        for (auto& [key, level] : levels_)
            found.push_back(
                {key.first, key.second, reserved(level), LevelPyramid(std::move(level.highs))});
        return found;
    }

  private:
    using Piece = std::pair<std::uint16_t, std::uint64_t>;  // device, address
    using End = std::pair<EventIndex, BlockIndex>;

    void look_at(EventIndex event) {
        const BlockIndex index = history_.block_at(event);
        if (index != kNoBlock) {
            const Block block = history_.block(index);
            const Site& site = history_.site(block.site);
            if (site.pool != PoolId::default_pool) {
                if (block.born == event)
                    begin(event, index, block, site);
                else if (block.freed == event)
                    level_of(site).taken -= block.size;
            }
        }
        for (; !unsaid_.empty() && unsaid_.top().first <= event; unsaid_.pop()) {
            const Block block = history_.block(unsaid_.top().second);
            level_of(history_.site(block.site)).taken -= block.size;
        }
    }

    PoolLevel& level_of(const Site& site) { return levels_[{site.pool, site.stream}]; }

    void begin(EventIndex event, BlockIndex index, const Block& block, const Site& site) {
        claim(event, block, site);
        if (block.freed == event)
            return;  // it was never live
        PoolLevel& level = level_of(site);
        level.taken += block.size;
        if (level.taken > level.high_water) {
            level.high_water = level.taken;
            level.highs.push_back({history_.position(unit_, event), level.high_water});
        }
        if (block.freed != kNever && history_.block_at(block.freed) != index)
            unsaid_.push({block.freed, index});
    }

    // The segments that contain the block, or their mapped pages, belong to its pool from their
    // birth.
    void claim(EventIndex event, const Block& block, const Site& site) {
        add_segments(event);
        const std::uint64_t begin = to_integer(block.address);
        auto at = pieces_.upper_bound({site.device, begin});
        if (at != pieces_.begin())
            --at;
        while (at != pieces_.end() && at->first.first == site.device &&
               at->first.second < begin + std::max<Bytes>(block.size, 1)) {
            const Segment segment = history_.segment(at->second);
            const bool holds = at->first.second + segment.size > begin && segment.died > event;
            if (!holds) {
                ++at;
                continue;
            }
            PoolLevel& level = level_of(site);
            level.segments.emplace_back(segment.born, segment.size);
            if (segment.died != kNever)
                level.segments.emplace_back(segment.died, Bytes{0} - segment.size);
            at = pieces_.erase(at);
        }
    }

    // Those that nobody has claimed, by address; older ones there have ended.
    void add_segments(EventIndex event) {
        const std::size_t count = history_.counts().segments;
        for (; next_segment_ < count; ++next_segment_) {
            const Segment segment = history_.segment(static_cast<SegmentIndex>(next_segment_));
            if (segment.born > event)
                return;
            if (!has_memory(segment.kind))
                continue;
            const std::uint64_t begin = to_integer(segment.begin);
            auto at = pieces_.lower_bound({segment.device, begin});
            if (at != pieces_.begin()) {
                const auto before = std::prev(at);
                if (before->first.first == segment.device &&
                    before->first.second + history_.segment(before->second).size > begin)
                    at = before;
            }
            while (at != pieces_.end() && at->first.first == segment.device &&
                   at->first.second < begin + segment.size)
                at = pieces_.erase(at);
            pieces_[{segment.device, begin}] = static_cast<SegmentIndex>(next_segment_);
        }
    }

    LevelPyramid reserved(PoolLevel& level) const {
        std::ranges::stable_sort(level.segments, {},
                                 [](const auto& change) { return change.first; });
        std::vector<LevelPyramid::Change> changes;
        Bytes now = 0;
        for (const auto& [event, bytes] : level.segments) {
            now += bytes;
            changes.push_back({history_.position(unit_, event), now});
        }
        return LevelPyramid(std::move(changes));
    }

    const History& history_;
    AxisUnit unit_;
    std::map<PoolKey, PoolLevel> levels_;
    std::map<Piece, SegmentIndex> pieces_;
    std::size_t next_segment_ = 0;
    std::priority_queue<End, std::vector<End>, std::greater<>> unsaid_;  // ends that no event is
                                                                         // about
};

}  // namespace

bool has_private_pools(const History& history) {
    return history.pools().size() > 1;
}

std::vector<PoolEnvelope> pool_envelopes(const History& history, const PoolQuestion& question,
                                         const Cancelled& cancelled) {
    PoolWalk walk(history, question.unit);
    walk.walk(cancelled);
    if (cancelled)
        return {};
    return walk.envelopes();
}

}  // namespace tidemark::viz
