// IdList: buffers in an order of their own, as a doubly linked list over dense ids. Ids are indices
// into one table, so nothing is allocated once the largest id has occurred.
//
// Every operation is O(1). Thread-safety: none.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/base/check.h"
#include "core/tiers/victims/victim_policy.h"

namespace tidemark {

class IdList {
  public:
    // Ends walks: for (id = list.front(); id != IdList::kEnd; id = list.after(id)).
    static constexpr BufferId kEnd{~std::uint32_t{0}};

    bool empty() const { return front_ == kEnd; }

    std::size_t size() const { return size_; }

    BufferId front() const { return front_; }

    BufferId after(BufferId id) const { return link(id).after; }

    bool contains(BufferId id) const {
        return to_integer(id) < links_.size() && links_[to_integer(id)].linked;
    }

    void push_back(BufferId id) {
        if (to_integer(id) >= links_.size()) [[unlikely]]
            links_.resize(to_integer(id) + 1);
        TM_CHECK(!link(id).linked);
        link(id) = {.before = back_, .after = kEnd, .linked = true};
        (back_ == kEnd ? front_ : link(back_).after) = id;
        back_ = id;
        ++size_;
    }

    void erase(BufferId id) {
        TM_CHECK(contains(id));
        Link& mine = link(id);
        (mine.before == kEnd ? front_ : link(mine.before).after) = mine.after;
        (mine.after == kEnd ? back_ : link(mine.after).before) = mine.before;
        mine = {};
        --size_;
    }

    void move_to_back(BufferId id) {
        if (id == back_)
            return;
        erase(id);
        push_back(id);
    }

  private:
    struct Link {
        BufferId before = kEnd;
        BufferId after = kEnd;
        bool linked = false;
    };

    Link& link(BufferId id) { return links_[to_integer(id)]; }

    const Link& link(BufferId id) const { return links_[to_integer(id)]; }

    std::vector<Link> links_;
    BufferId front_ = kEnd;
    BufferId back_ = kEnd;
    std::size_t size_ = 0;
};

// Walks from the front to a buffer that may leave and has no chance left: `spend(id)` uses one up,
// and returns whether there was one. Buffers that had one go to the back and are met there again;
// buffers that may not leave are skipped and stay in place. O(skipped and chances spent).
template <class Spend>
std::optional<BufferId> second_chance(IdList& list, const Residents& residents,
                                      const Spend& spend) {
    BufferId id = list.front();
    while (id != IdList::kEnd) {
        const BufferId next = list.after(id);
        if (!residents.may_leave(id)) {
            id = next;
            continue;
        }
        if (!spend(id))
            return id;
        list.move_to_back(id);
        id = next == IdList::kEnd ? id : next;
    }
    return std::nullopt;
}

}  // namespace tidemark
