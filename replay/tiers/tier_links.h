// TierLinks: the links of a machine on the virtual clock. Copies on one link run one after another,
// in the order of the requests; links that share a bus also wait for the bus.
//
// Not thread-safe; one instance serves one run.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/tiers/machine/machine.h"

namespace tidemark {

// When a copy occupies its link, and when its bytes are there.
struct LinkTransfer {
    Nanoseconds begin = 0;
    Nanoseconds end = 0;   // the link is free again
    Nanoseconds done = 0;  // end and latency
};

class TierLinks {
  public:
    // `machine` must outlive the links.
    explicit TierLinks(const MachineSpec& machine);

    // The number of the link, if there is one. O(links).
    std::optional<std::size_t> find(SpaceId source, SpaceId target) const;

    // Queues a copy that may begin at `earliest`. O(1).
    LinkTransfer transfer(std::size_t link, Nanoseconds earliest, Bytes size);

    // Of two links in a row, the second takes over the first's bytes piece by piece: the second
    // transfer, which ends one piece after the first at the earliest. O(1).
    LinkTransfer follow(std::size_t link, const LinkTransfer& first, Bytes size, Bytes piece);

    const LinkSpec& spec(std::size_t link) const { return machine_.links[link]; }

    std::size_t size() const { return states_.size(); }

    Bytes bytes(std::size_t link) const { return states_[link].bytes; }

    std::uint64_t copies(std::size_t link) const { return states_[link].copies; }

    Nanoseconds busy(std::size_t link) const { return states_[link].busy; }

  private:
    struct State {
        Nanoseconds free_at = 0;
        Nanoseconds busy = 0;
        Bytes bytes = 0;
        std::uint64_t copies = 0;
        std::size_t bus = kNoBus;
    };

    static constexpr std::size_t kNoBus = ~std::size_t{0};

    const MachineSpec& machine_;
    std::vector<State> states_;
    std::vector<Nanoseconds> bus_free_at_;
};

}  // namespace tidemark
