// TierBelow: the memory below the GPUs in a replay: host nodes and disks, and what lies there.
//
// A GPU's buffers go to the host that it is linked to. When that is full, copies of buffers that
// are resident above are given up, and others move on to a disk, by the host's own victim policy
// (the same kind as the GPUs'). Without room on a disk the buffer stays where it was.
//
// Deterministic; not thread-safe. One instance serves one run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/tiers/forecast.h"
#include "core/tiers/machine.h"
#include "core/tiers/space_account.h"
#include "core/tiers/victim_policy.h"
#include "replay/tiers/room_times.h"
#include "replay/tiers/tier_executor.h"
#include "replay/tiers/tier_links.h"
#include "replay/tiers/tier_timeline.h"

namespace tidemark {

// What all parts of one run share.
struct TierStand {
    const MachineSpec& machine;
    TierLinks& links;
    TierTimeline& timeline;
    const VictimSpec& victims;
    Forecast* forecast = nullptr;      // null: there is none
    bool guesses = false;              // the forecast may be wrong
    TierExecutor* executor = nullptr;  // null: nothing is done for real
};

class TierBelow {
  public:
    // `stand` and what it names must outlive this; buffers are below `buffers`.
    TierBelow(const TierStand& stand, std::uint32_t buffers);
    ~TierBelow();

    // Copies a buffer out of `gpu`, from `earliest` on. Nothing if there is no room below, or no
    // link; then nothing has changed. The buffer must not lie below already.
    std::optional<LinkTransfer> store(BufferId id, Bytes size, SpaceId gpu, Nanoseconds earliest);

    // Copies it into `gpu`, from `earliest` on; what lies below stays. Only if holds(id).
    LinkTransfer load(BufferId id, SpaceId gpu, Nanoseconds earliest);

    // Puts content below that was never above (the program allocated it there). False: no room.
    bool place(BufferId id, Bytes size, Tier tier, Nanoseconds now);

    // What lies below is wanted no more: freed, or written above. Nothing if it holds none.
    void forget(BufferId id, Nanoseconds now);

    bool holds(BufferId id) const { return places_[to_integer(id)].space != kNowhere; }

    // From when on all of it lies there. Only if holds(id).
    Nanoseconds complete_at(BufferId id) const { return places_[to_integer(id)].complete; }

    // Whether the buffer is resident above too, so that its copy here may be given up.
    void set_duplicate(BufferId id, bool duplicate) {
        places_[to_integer(id)].duplicate = duplicate;
    }

    // The most that a space held at once.
    void report(std::vector<TierSpacePeak>& peaks) const;

  private:
    struct Space;

    static constexpr std::uint32_t kNowhere = 0xffffffffU;

    struct Place {
        Bytes size = 0;
        Nanoseconds complete = 0;  // all of it has arrived
        Nanoseconds idle = 0;      // nobody reads it any more
        std::uint32_t space = kNowhere;
        bool duplicate = false;
    };

    // A way for bytes out of a GPU: over one link, or two with a host between.
    struct Route {
        std::uint32_t space = kNowhere;  // where it ends
        std::size_t first = 0;
        std::optional<std::size_t> second;
    };

    std::vector<Route> routes_from(SpaceId gpu) const;
    bool make_room(std::uint32_t space, Bytes size, Nanoseconds now);
    bool move_down(std::uint32_t space, BufferId id, Nanoseconds now);
    void settle(std::uint32_t space, BufferId id, Bytes size, Nanoseconds complete);
    void leave(BufferId id, Nanoseconds when, Departure why);
    LinkTransfer record(std::size_t link, const LinkTransfer& transfer, Bytes size, BufferId id);

    TierStand stand_;
    std::vector<std::unique_ptr<Space>> spaces_;
    std::vector<Place> places_;
    std::vector<std::pair<SpaceId, std::vector<Route>>> routes_;  // by GPU
};

}  // namespace tidemark
