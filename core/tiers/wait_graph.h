// Deadlocks among those who wait for memory: who holds what, who waits for what, and who can never
// go on.
//
// What is found. An owner (owner.h) has memory: reservations made in his name, and holds that he
// declared, such as pins. An owner with a request that waits gives nothing back until he is served;
// everybody else is taken to give back all that he has, sooner or later. A deadlock is a set of
// waiting requests none of which would fit even then, nor if each of the others that could be
// served had given back all as well: the reduction of the banker's algorithm (Habermann, CACM 12,
// 1969; with what is held instead of what was claimed). So
//   - what is found is a deadlock, and stays one until a member gives up: no false alarms, if the
//     owners say the truth, that is: one who waits does not free with another of his threads;
//   - memory held by nobody in particular (OwnerId::nobody, an allocation outside of reservations,
//     an undeclared pin) counts as coming free: such a circle is not found. Give timeouts too.
//   - a request for several spaces at once is seen as one for any of them.
//
// The fair order (fair_order.h) can block as well: a request that has closed its spaces waits for
// memory of one who waits behind it. Nobody needs to give up then: those who hold memory are let
// past.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/units.h"
#include "core/tiers/fair_order.h"
#include "core/tiers/memory_space.h"
#include "core/tiers/owner.h"
#include "core/tiers/wait_queue.h"

namespace tidemark {

// Memory that comes free when all of its owners have let go of it.
struct HeldMemory {
    std::size_t space = 0;  // its position
    Bytes size = 0;
    std::vector<OwnerId> owners;  // each once; not nobody
};

// One moment, as plain values: for a replay as for the real thing.
struct WaitPicture {
    std::vector<Bytes> limits;  // by position of the space: what it could give if all were free
    std::vector<HeldMemory> held;
    std::vector<Waiter> waiters;  // in their order
};

// Positions among the picture's waiters, rising.
struct WaitVerdict {
    std::vector<std::size_t> stuck;     // deadlocked, whatever the order
    std::vector<std::size_t> let_pass;  // hold memory, and are stuck by the order alone
    std::size_t victim = 0;  // of `stuck`: the last to come of those who hold something, else the
                             // last to come
};

// Pure. O(waiters^2 + held) at worst, O(waiters + held) if nobody waits for one behind him.
WaitVerdict find_deadlock(const WaitPicture& picture);

// What holds up the stuck ones, for a person, several lines. `name(owner)` gives his name.
std::string deadlock_text(const WaitPicture& picture, const WaitVerdict& verdict,
                          std::span<const SpaceId> spaces,
                          const std::map<OwnerId, std::string>& names);

// The picture of a set of spaces: their living reservations, and what is declared here.
// Thread-safe; its lock is taken after the queue's and held while no other is.
class WaitGraph final : public DeadlockDetector {
  public:
    // The spaces by position, at most kMaskedSpaces; they outlive it.
    explicit WaitGraph(std::vector<const MemorySpace*> spaces);

    // How reports call `owner`; an empty name forgets it. O(log owners).
    void set_name(OwnerId owner, std::string name);

    // `owner` keeps `size` bytes of the space at position `space` from being freed, beyond what his
    // reservations hold: a pinned buffer, say. Several owners may hold the same `thing` (a number
    // of the caller's, with the same size each time), which comes free when all have let go of it;
    // one who holds it twice lets go twice. O(log holds).
    void hold(OwnerId owner, std::size_t space, std::uint64_t thing, Bytes size);
    void let_go(OwnerId owner, std::size_t space, std::uint64_t thing);

    // Who holds what now; the spaces are read one after the other. O(reservations + holds).
    WaitPicture picture(std::span<const Waiter> waiters) const;

    // For a WaitQueue.
    WaitFindings find(std::span<const Waiter> waiters) override;

  private:
    struct Thing {
        Bytes size = 0;
        std::map<OwnerId, std::uint32_t> owners;  // and how often each
    };

    const std::vector<const MemorySpace*> spaces_;
    std::vector<SpaceId> ids_;
    mutable std::mutex mutex_;
    std::map<std::pair<std::size_t, std::uint64_t>, Thing> things_;
    std::map<OwnerId, std::string> names_;
};

}  // namespace tidemark
