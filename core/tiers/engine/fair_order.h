// FairOrder: the order in which waiting requests for memory are tried, and who may pass whom.
//
// Requests are tried by priority (higher first), then by arrival. One that does not fit may be
// passed by those behind it, so that memory which it cannot use is not left idle; but only
// `bypass_limit` times: each grant to a request behind it, of a space that it competes for, counts
// once. From then on it *closes* its spaces: nobody behind it takes anything from them until it is
// served or leaves. So a big request waits for at most that many smaller ones behind it and for
// those that hold memory already, and is never starved by its own or a lower priority. A higher
// priority goes first without limit: that is what it means.
//
// Only competitors are held up: a closed request for one space does not concern those that want
// another, and one that wants either is still tried on the other.
//
// No clock, no threads, no addresses: the same calls give the same order everywhere.
// Thread-safety: none; the spill engine has it under the store's lock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/check.h"

namespace tidemark {

// A set of spaces of one machine: bit i is the space at position i of MachineSpec::spaces. So a
// machine that is waited for has at most 64 spaces.
using SpaceMask = std::uint64_t;
constexpr SpaceMask kAllSpaces = ~SpaceMask{0};
constexpr std::size_t kMaskedSpaces = 64;

// The set of the one space at `position` < kMaskedSpaces.
constexpr SpaceMask space_bit(std::size_t position) {
    return SpaceMask{1} << position;
}

constexpr std::uint32_t kDefaultBypassLimit = 16;

// How one stands in the order.
struct WaitStanding {
    std::uint32_t passed = 0;  // served from behind it, out of its spaces
    bool closes = false;       // nobody behind it takes anything from its spaces
};

// `Id` is what the owner calls a request by: small, copied, compared with ==; each is in the order
// once.
template <class Id>
class FairOrder {
  public:
    // `bypass_limit` 0: nobody passes anybody who competes with him.
    explicit FairOrder(std::uint32_t bypass_limit = kDefaultBypassLimit)
        : bypass_limit_(bypass_limit) {}

    std::size_t size() const { return entries_.size(); }

    bool empty() const { return entries_.empty(); }

    // A request arrives behind those of its priority. `spaces` (not 0) are those that it would take
    // memory from: any of them, or several at once. O(1) without priorities, O(waiting) with.
    void push(Id id, std::int32_t priority, SpaceMask spaces) {
        TM_CHECK(spaces != 0);
        const auto behind = std::upper_bound(
            entries_.begin(), entries_.end(), priority,
            [](std::int32_t mine, const Entry& other) { return mine > other.priority; });
        entries_.insert(behind, Entry{id, spaces, priority, 0});
    }

    // A request leaves without being served. Gives the spaces that it alone may have held closed:
    // if there are any, those behind it deserve a try_each(..., spaces). An id that isn't in the
    // order is no error and gives 0. O(waiting).
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

    // Tries everyone who may run, in order, and removes those who were served. To be called after
    // anything was freed; `freed` says where, and those who want none of it are left alone, unless
    // one who held them up is served.
    //
    // `attempt(id, open)` tries to serve `id` from the spaces `open` of those it competes for (the
    // others are closed to it), and gives the spaces that it took memory from, 0 if it did not fit.
    // It must leave everything as it was if it fails, and must not call this object.
    // Gives the number served. O(waiting) attempts, and O(waiting) bit operations for each served.
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
                freed |= closed_by(entry);  // those behind it may have been held up by it alone
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

    // The first `ahead` entries are passed by a grant of `taken`. Gives what they close now.
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
