// TierMemory: the GPUs' memory in a replay: which buffers are resident, who must leave when room is
// needed, and from when on room and content are there.
//
// Decisions are made at once, in the order in which they are asked for; what they take is told as
// times. Room that an eviction makes can be used when its copy has left (RoomTimes), content when
// its copy has arrived. A buffer is in one of three states above: absent, resident and clean (a
// valid copy lies below, or it has no content: it may be dropped for free), resident and dirty.
//
// Reservations set bytes of a GPU aside for a task: used = allocated + reserved and unused <=
// capacity. A buffer that is charged to a living reservation never leaves for others.
//
// Deterministic; not thread-safe. One instance serves one run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "replay/tiers/tier_below.h"

namespace tidemark {

// A buffer that has come, or will: when the room for it was there, and when its content is.
struct Arrival {
    Nanoseconds room = 0;
    Nanoseconds ready = 0;
    CopyNumber copy = 0;  // that the room waits for
};

// What the GPUs did; sums over them.
struct TierTraffic {
    Bytes spilled = 0;
    Bytes fetched = 0;
    Bytes prefetched = 0;
    Bytes wasted = 0;
    Bytes dropped = 0;
    std::uint64_t evictions = 0;
};

class TierMemory {
  public:
    static constexpr std::uint32_t kNoTask = 0xffffffffU;

    // `keep_copies`: what lies below stays valid until its buffer is written.
    TierMemory(const TierStand& stand, std::uint32_t buffers, bool keep_copies);
    ~TierMemory();

    // Makes a buffer known, nowhere yet. `task`: charge it to that reservation as far as it goes.
    void begin_life(BufferId id, Bytes size, SpaceId home, std::uint32_t task);

    // Ends it; its room is free from `now` on, or when the last copy and kernel are done with it.
    void end_life(BufferId id, Nanoseconds now);

    bool alive(BufferId id) const { return buffer(id).alive; }

    bool resident(BufferId id) const { return buffer(id).resident; }

    Bytes size(BufferId id) const { return buffer(id).size; }

    // From when on a resident buffer can be used.
    Nanoseconds ready_at(BufferId id) const { return buffer(id).ready; }

    // Brings a buffer that is not resident in, evicting others if need be. Its content is copied if
    // it has any and `reads`. Nothing if no room can be made: all else is pinned, or it is larger
    // than the space. O(evictions log buffers).
    std::optional<Arrival> bring_in(BufferId id, bool reads, Nanoseconds now);

    // As bring_in before it is asked for, at `position` by the forecast. `spare` bytes of what is
    // available are left alone. Only buffers that are needed later than this one make room for it,
    // and nobody does for a guess.
    bool bring_in_ahead(BufferId id, std::uint64_t position, Bytes spare, Nanoseconds now);

    // Lets a buffer lie below from its birth. False: no room there.
    bool place_below(BufferId id, Tier tier, Nanoseconds now);

    // Pinned buffers stay. Pins are counted.
    void pin(BufferId id) { ++buffer(id).pins; }

    void unpin(BufferId id) { --buffer(id).pins; }

    // A kernel that begins now uses a resident buffer; what lies below is outdated if it writes.
    void used(BufferId id, bool writes, Nanoseconds now);

    // The kernels that use it so far end then.
    void busy_until(BufferId id, Nanoseconds end) {
        buffer(id).idle = std::max(buffer(id).idle, end);
    }

    // The buffer's content was made before the trace's first word of it.
    void set_content(BufferId id) { buffer(id).content = true; }

    void set_hint(BufferId id, std::int32_t hint);

    // Tells the policy that a use has been counted (by the forecast, too).
    void touched(BufferId id, std::uint64_t now);

    // Evicts one buffer, if it is resident and may leave: copied out if dirty. False: it stayed.
    bool evict(BufferId id, Nanoseconds now);

    // The earliest next use of what was evicted since this was last asked, by the forecast.
    std::uint64_t take_earliest_evicted();

    // What was evicted and not brought back yet, the latest last; some may have ended since.
    std::vector<BufferId>& evicted() { return evicted_; }

    // What was fetched on demand since this was last emptied.
    std::vector<BufferId>& fetched() { return fetched_; }

    // What the policy of `home` would evict next, if anything may leave.
    std::optional<BufferId> next_victim(SpaceId home, Nanoseconds now);

    // Reservations, each under a number of its own. `reserve` makes room by evicting what nobody
    // reserved; false: it does not fit now.
    bool reserve(std::uint32_t task, Bytes size, SpaceId home, Nanoseconds now);
    Bytes reserve_up_to(std::uint32_t task, Bytes size, SpaceId home, Nanoseconds now);
    void release(std::uint32_t task);

    // Grows a living reservation, as `reserve` grants one.
    bool grow(std::uint32_t task, Bytes size, Nanoseconds now);

    // Bytes of the task's reservation that are not allocated; 0 if it has none.
    Bytes unused(std::uint32_t task) const;

    const SpaceAccount& account(SpaceId home) const;

    bool dirty(BufferId id) const { return buffer(id).content && !below_.holds(id); }

    bool may_leave(BufferId id) const;

    const TierBelow& below() const { return below_; }

    const TierTraffic& traffic() const { return traffic_; }

    std::optional<std::size_t> link_in(SpaceId home) const;
    std::optional<std::size_t> link_out(SpaceId home) const;

    // GPU spaces first, then those below, as the machine lists them.
    void report(std::vector<TierSpacePeak>& peaks) const;

  private:
    struct Gpu;

    struct Buffer {
        Bytes size = 0;
        Bytes charged = 0;          // of `size`, what a reservation pays
        Nanoseconds ready = 0;      // content and room are there
        CopyNumber copy = 0;        // the last one that took its content out
        Nanoseconds idle = 0;       // the last kernel that used it ends
        std::uint64_t touched = 0;  // uses of the program up to its own last one
        std::uint32_t task = kNoTask;
        std::uint32_t gpu = 0;
        std::int32_t hint = 0;
        std::uint16_t pins = 0;
        bool alive = false;
        bool resident = false;
        bool content = false;
        bool ahead = false;  // brought in before it was asked for, and not used since
    };

    struct Task {
        Bytes size = 0;
        Bytes unused = 0;
        std::uint32_t gpu = 0;
        bool active = false;
    };

    Buffer& buffer(BufferId id) { return buffers_[to_integer(id)]; }

    const Buffer& buffer(BufferId id) const { return buffers_[to_integer(id)]; }

    bool active(std::uint32_t task) const { return task < tasks_.size() && tasks_[task].active; }

    bool make_room(Gpu& gpu, Bytes size, std::uint32_t payer, std::uint32_t asking);
    Bytes payable(std::uint32_t task, Bytes size) const;
    bool leave(BufferId id, Nanoseconds now);
    CopyNumber copied_out(BufferId id);
    void take_away(BufferId id, Nanoseconds when, Departure why, CopyNumber copy = 0);
    Arrival settle(BufferId id, bool reads, Nanoseconds now, bool ahead);
    std::uint32_t gpu_of(SpaceId home) const;

    TierStand stand_;
    TierBelow below_;
    bool keep_copies_;
    std::vector<std::unique_ptr<Gpu>> gpus_;
    std::vector<Buffer> buffers_;
    std::vector<Task> tasks_;
    TierTraffic traffic_;
    CopyNumber copies_out_ = 0;
    std::uint64_t operations_ = 0;
    std::uint64_t earliest_evicted_ = kNeverUsed;
    std::vector<BufferId> evicted_;
    std::vector<BufferId> fetched_;
    Nanoseconds now_ = 0;    // of the decision that is being made
    bool may_wait_ = false;  // buffers in flight may leave, when they have arrived
    std::uint32_t asking_ = kNoTask;
};

}  // namespace tidemark
