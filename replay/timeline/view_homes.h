// ViewHomes: where memory counts that is mapped a second time. An allocator may map memory that
// already has an address at another one too (SegmentKind::view). Sums count it once, at its home,
// so blocks in a view must be counted there as well.
//
// Not thread-safe while it changes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "replay/timeline/history.h"

namespace tidemark {

class ViewHomes {
  public:
    // A view comes and goes. O(log views).
    void begin(const Segment& view) { views_[key(view.device, view.begin)] = view; }

    void end(const Segment& view) {
        const auto found = views_.find(key(view.device, view.begin));
        if (found != views_.end() && found->second.born == view.born)
            views_.erase(found);
    }

    bool empty() const { return views_.empty(); }

    // The view that holds an address; null if none does. O(log views).
    const Segment* at(std::uint16_t device, Address address) const {
        const auto after = views_.upper_bound(key(device, address));
        if (after == views_.begin() || std::prev(after)->first.first != device)
            return nullptr;
        const Segment& view = std::prev(after)->second;
        return address - view.begin < view.size ? &view : nullptr;
    }

    // Calls visit(Range) for each part of a range of addresses, as it is or, in a view, at home:
    // neighbours in one part. O(parts log views).
    template <class Visit>
    void for_each_home(std::uint16_t device, Range range, Visit visit) const {
        Range part;
        const auto add = [&](Address begin, Bytes size) {
            if (part.size != 0 && part.begin + part.size == begin) {
                part.size += size;
                return;
            }
            if (part.size != 0)
                visit(part);
            part = {begin, size};
        };
        auto next = views_.upper_bound(key(device, range.begin));
        if (next != views_.begin() && std::prev(next)->first.first == device)
            --next;
        while (range.size != 0) {
            const bool none = next == views_.end() || next->first.first != device;
            Bytes size = range.size;
            if (none || next->second.begin > range.begin) {
                if (!none)
                    size = std::min(size, next->second.begin - range.begin);
                add(range.begin, size);
            } else if (const Bytes within = range.begin - next->second.begin;
                       within < next->second.size) {
                size = std::min(size, next->second.size - within);
                add(next->second.home + within, size);
            } else {
                ++next;
                continue;
            }
            range = {range.begin + size, range.size - size};
        }
        if (part.size != 0)
            visit(part);
    }

  private:
    using Key = std::pair<std::uint16_t, Address>;

    static Key key(std::uint16_t device, Address begin) { return {device, begin}; }

    std::map<Key, Segment> views_;
};

// A part of a block that was in a view when it was allocated, at its home.
struct ViewedPart {
    BlockIndex block = kNoBlock;
    Range home;
    EventIndex until = kNever;  // then the view ends; from then on a block there may count there
};

// In order of the blocks, of the first `counts`. O((views + blocks) log views), 0 without views.
std::vector<ViewedPart> viewed_parts(const History& history, const HistoryCounts& counts);

}  // namespace tidemark
