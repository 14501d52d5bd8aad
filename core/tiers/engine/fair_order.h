// FairOrder: the order in which the engine tries waiting requests for memory, and who may pass
// whom.
//
// Higher priorities come first; requests of the same priority come in order of arrival. A request
// that does not fit may be passed by those behind it, so that memory which it cannot use is not
// left idle, but only `bypass_limit` times: each grant to a request behind it, from a space that it
// competes for, counts once. After that it *closes* its spaces: nobody behind it takes anything
// from them until it is served or leaves. So a big request waits for at most that many smaller ones
// behind it and for those that hold memory already, and its own or a lower priority never starves
// it. A higher priority goes first without limit: that is its meaning.
//
// Only competitors are blocked: a closed request for one space does not concern those that need
// another, and a request that accepts either can still get the other.
//
// No clock, no threads, no addresses: the same calls give the same order everywhere. Thread-safety:
// none; the spill engine uses it under the store's lock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/check.h"

namespace tidemark {

// A set of spaces of one machine: bit i is the space at position i of MachineSpec::spaces. So
// requests can wait for memory only on a machine with at most 64 spaces.
using SpaceMask = std::uint64_t;
constexpr SpaceMask kAllSpaces = ~SpaceMask{0};
constexpr std::size_t kMaskedSpaces = 64;

// The set of the one space at `position` < kMaskedSpaces.
constexpr SpaceMask space_bit(std::size_t position) {
    return SpaceMask{1} << position;
}

constexpr std::uint32_t kDefaultBypassLimit = 16;

// An entry's state in the order.
struct WaitStanding {
    std::uint32_t passed = 0;  // requests behind it that were served from its spaces
    bool closes = false;       // nobody behind it takes anything from its spaces
};

// `Id` is what the owner identifies a request by: small, copied, compared with ==; each is in the
// order once.
template <class Id>
class FairOrder {
  public:
    // `bypass_limit` 0: nobody passes a competitor.
    explicit FairOrder(std::uint32_t bypass_limit = kDefaultBypassLimit)
        : bypass_limit_(bypass_limit) {}

    std::size_t size() const { return entries_.size(); }

    bool empty() const { return entries_.empty(); }

    // A request arrives, behind those of its priority. `spaces` (not 0) are those that it would
    // take memory from: any of them, or several at once. O(1) without priorities, O(waiting) with.
    void push(Id id, std::int32_t priority, SpaceMask spaces) {
        TM_CHECK(spaces != 0);
        const auto behind = std::upper_bound(
            entries_.begin(), entries_.end(), priority,
            [](std::int32_t mine, const Entry& other) { return mine > other.priority; });
        entries_.insert(behind, Entry{id, spaces, priority, 0});
    }

    // A request leaves without being served. Returns the spaces that it alone may have kept closed:
    // if there are any, those behind it deserve a try_each(..., spaces). An id that isn't in the
    // order is not an error and returns 0. O(waiting).
    SpaceMask erase(Id id) {
        const auto found = find(id);
        if (found == entries_.end())
            return 0;
        const SpaceMask closed = closed_by(*found);
        entries_.erase(found);
        return closed;
    }

    // Everybody leaves. O(waiting).
    void clear() { entries_.clear(); }

    // Tries everyone who may run, in order, and removes those that were served. Call this after
    // anything was freed; `freed` says where. Requests that need none of it are skipped, unless a
    // request that blocked them is served.
    //
    // `attempt(id, open)` tries to serve `id` from the spaces `open` of those it competes for (the
    // others are closed to it), and returns the spaces that it took memory from, 0 if it did not
    // fit. It must leave everything unchanged if it fails, and must not call this object. Returns
    // the number served. O(waiting) attempts, and O(waiting) bit operations for each served.
    template <class Attempt>
    std::size_t try_each(Attempt&& attempt, SpaceMask freed = kAllSpaces) {
        SpaceMask closed = 0;
        std::size_t kept = 0;
        for (std::size_t next = 0; next < entries_.size(); ++next) {
            const Entry entry = entries_[next];
            const SpaceMask open = entry.spaces & ~closed;
            const SpaceMask taken =
                (open & freed) != 0 ? checked(attempt(entry.id, open), open) : 0;
            if (taken != 0) {
                closed |= note_passed(kept, taken);
                freed |= closed_by(entry);  // it alone may have blocked those behind it
                continue;
            }
            closed |= closed_by(entry);
            entries_[kept++] = entry;
        }
        const std::size_t served = entries_.size() - kept;
        entries_.resize(kept);
        return served;
    }

    // `visit(id, standing)` for everyone waiting, in order.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (const Entry& entry : entries_)
            visit(entry.id, WaitStanding{entry.passed, closed_by(entry) != 0});
    }

  private:
    struct Entry {
        Id id;
        SpaceMask spaces;
        std::int32_t priority;
        std::uint32_t passed;
    };

    static SpaceMask checked(SpaceMask taken, SpaceMask open) {
        TM_CHECK((taken & ~open) == 0);
        return taken;
    }

    SpaceMask closed_by(const Entry& entry) const {
        return entry.passed >= bypass_limit_ ? entry.spaces : 0;
    }

    // A grant of `taken` passes the first `ahead` entries. Returns what they close now.
    SpaceMask note_passed(std::size_t ahead, SpaceMask taken) {
        SpaceMask closed = 0;
        for (std::size_t at = 0; at < ahead; ++at) {
            Entry& entry = entries_[at];
            if ((entry.spaces & taken) == 0)
                continue;
            ++entry.passed;
            closed |= closed_by(entry);
        }
        return closed;
    }

    auto find(Id id) {
        return std::find_if(entries_.begin(), entries_.end(),
                            [id](const Entry& entry) { return entry.id == id; });
    }

    std::uint32_t bypass_limit_;
    std::vector<Entry> entries_;  // in order; a list would cost more than the moves do
};

}  // namespace tidemark
