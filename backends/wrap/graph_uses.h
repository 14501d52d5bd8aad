// GraphUses: which bytes a captured graph reads and writes, by address, as far as the checker sees
// it: what copies and fills name, and what was granted or used on a captured stream.
//
// Not thread-safe. O(log n + parts touched).
#pragma once

#include <cstdint>
#include <vector>

#include "backends/wrap/interval_map.h"
#include "backends/wrap/stream_order.h"
#include "core/base/units.h"

namespace tidemark {

// A graph's use of some bytes, which belonged to an allocation when it was captured.
struct GraphUse {
    std::uint64_t grant = 0;        // of the allocation, 0 = none
    Address begin = Address::null;  // of the allocation
    std::uint64_t event = 0;        // of its grant, or of the use if there is none
    bool own = false;               // granted in the capture itself
    bool writes = false;
};

class GraphUses {
  public:
    // Where uses overlap, the later one counts, but a read does not hide a write.
    void add(Range range, const GraphUse& use) {
        if (!use.writes)
            add_in_gaps(range, use);
        else
            uses_.assign(range, use);
    }

    void erase(Range range) { uses_.erase(range); }

    // `visit(range, use)` sees each, by address.
    template <class Visit>
    void for_each(Visit visit) const {
        uses_.for_each({Address::null, ~Bytes{0}}, visit);
    }

  private:
    void add_in_gaps(Range range, const GraphUse& use) {
        std::vector<Range> gaps;
        Address at = range.begin;
        uses_.for_each(range, [&](Range part, const GraphUse&) {
            if (part.begin != at)
                gaps.push_back({at, part.begin - at});
            at = part.begin + part.size;
        });
        if (at != range.begin + range.size)
            gaps.push_back({at, range.begin + range.size - at});
        for (const Range& gap : gaps)
            uses_.assign(gap, use);
    }

    IntervalMap<GraphUse> uses_;
};

// A launch that may still use some bytes.
struct LaunchWork {
    StreamOrder::Work work;
    std::uint64_t graph = 0;
    std::uint64_t event = 0;   // of the launch
    std::uint64_t offset = 0;  // address it uses - physical address
    bool writes = false;
};

}  // namespace tidemark
