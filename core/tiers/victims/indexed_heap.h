// IndexedHeap: buffers ordered by a key, least first, whose keys change all the time. A binary heap
// with the position of each buffer in a table by id, so nothing is allocated once the largest id
// has occurred. Equal keys are ordered by id: the order never depends on history.
//
// Key: a value with operator<. Every operation is O(log size) unless stated otherwise.
// Thread-safety: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "core/base/check.h"
#include "core/tiers/victims/victim_policy.h"

namespace tidemark {

template <class Key>
class IndexedHeap {
  public:
    bool empty() const { return entries_.empty(); }

    bool contains(BufferId id) const {
        return to_integer(id) < positions_.size() && positions_[to_integer(id)] != kAbsent;
    }

    // The key of a buffer in the heap. O(1).
    const Key& key(BufferId id) const { return entries_[position(id)].key; }

    // The first one. O(1). The heap must not be empty.
    BufferId first() const { return entries_.front().id; }

    // Adds a buffer, or gives it another key.
    void put(BufferId id, const Key& key) {
        if (to_integer(id) >= positions_.size()) [[unlikely]]
            positions_.resize(to_integer(id) + 1, kAbsent);
        if (positions_[to_integer(id)] == kAbsent) {
            entries_.push_back({key, id});
            rise(entries_.size() - 1, {key, id});
            return;
        }
        settle(position(id), {key, id});
    }

    void erase(BufferId id) {
        TM_CHECK(contains(id));
        const std::size_t hole = position(id);
        positions_[to_integer(id)] = kAbsent;
        const Entry last = entries_.back();
        entries_.pop_back();
        if (hole < entries_.size())
            settle(hole, last);
    }

    // The first one that `may_leave`, skipping others without moving them. O(skipped, each with the
    // logarithm of their number).
    template <class MayLeave>
    std::optional<BufferId> first_where(const MayLeave& may_leave) {
        if (empty())
            return std::nullopt;
        if (may_leave(first())) [[likely]]
            return first();
        // The positions whose parents have all been skipped, as a heap: the first one on top.
        const auto later = [this](std::size_t a, std::size_t b) {
            return entries_[b].before(entries_[a]);
        };
        open_.assign(1, 0);
        while (!open_.empty()) {
            std::pop_heap(open_.begin(), open_.end(), later);
            const std::size_t at = open_.back();
            open_.pop_back();
            if (may_leave(entries_[at].id))
                return entries_[at].id;
            for (std::size_t child = 2 * at + 1; child <= 2 * at + 2; ++child) {
                if (child < entries_.size()) {
                    open_.push_back(child);
                    std::push_heap(open_.begin(), open_.end(), later);
                }
            }
        }
        return std::nullopt;
    }

  private:
    static constexpr std::uint32_t kAbsent = ~std::uint32_t{0};

    struct Entry {
        Key key;
        BufferId id;

        bool before(const Entry& other) const {
            return key < other.key || (!(other.key < key) && id < other.id);
        }
    };

    std::size_t position(BufferId id) const { return positions_[to_integer(id)]; }

    void store(std::size_t at, const Entry& entry) {
        entries_[at] = entry;
        positions_[to_integer(entry.id)] = static_cast<std::uint32_t>(at);
    }

    // Puts `entry` into its position, starting from the hole at `at`.
    void settle(std::size_t at, const Entry& entry) {
        if (at > 0 && entry.before(entries_[(at - 1) / 2]))
            rise(at, entry);
        else
            sink(at, entry);
    }

    void rise(std::size_t at, const Entry& entry) {
        while (at > 0 && entry.before(entries_[(at - 1) / 2])) {
            store(at, entries_[(at - 1) / 2]);
            at = (at - 1) / 2;
        }
        store(at, entry);
    }

    void sink(std::size_t at, const Entry& entry) {
        while (true) {
            std::size_t child = 2 * at + 1;
            if (child >= entries_.size())
                break;
            if (child + 1 < entries_.size() && entries_[child + 1].before(entries_[child]))
                ++child;
            if (!entries_[child].before(entry))
                break;
            store(at, entries_[child]);
            at = child;
        }
        store(at, entry);
    }

    std::vector<Entry> entries_;
    std::vector<std::uint32_t> positions_;  // by id, into entries_
    std::vector<std::size_t> open_;         // first_where's
};

}  // namespace tidemark
