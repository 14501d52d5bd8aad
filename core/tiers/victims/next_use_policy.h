// NextUsePolicy: shared by belady, learned and cost: given when each buffer will probably be used
// next, which should leave? The one that frees memory for the longest time per nanosecond of
// copying.
//
// Per byte, a clean buffer costs the way back, and a dirty one the way out as well. A dirty one
// that is not used again costs only the way out. A clean one that is not used again costs nothing,
// and neither does an empty one: these go first. Its memory is free until its next use, or its end
// if that comes first. If neither is known, a buffer is expected to stay unused for as long as it
// has been, times a factor: what was idle for long tends to remain so. A next use that did not
// happen when it was due is unknown from then on.
//
// Sizes cancel out: twice the bytes cost twice the time and free twice the memory. Ties: by longest
// unused, then by id. Insert, touch and erase are O(log residents).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/tiers/victims/indexed_heap.h"
#include "core/tiers/victims/victim_policy.h"

namespace tidemark {

// What is weighed against time, and what replaces unknown values.
struct NextUseWeights {
    double clean = 1;         // cost of a byte that leaves and comes back
    double dirty = 2;         // and of one that has to be copied out before
    double dead = 1;          // and of one that is copied out and not used again
    double unknown_idle = 1;  // idle time ahead per idle time past, next use unknown
    double dead_idle = 3;     // the same for buffers that are not used again, with unknown end
    bool ends = true;         // whether ends are looked at when they are known

    // By the bandwidth of the space's links; equal if they are not known.
    static NextUseWeights of_links(const VictimContext& context);
};

class NextUsePolicy : public VictimPolicy {
  public:
    NextUsePolicy(const VictimContext& context, const NextUseWeights& weights);

    void insert(BufferId id) override;
    void touch(BufferId id) override;
    void erase(BufferId id, EvictionReason why) override;
    void forget(BufferId id) override;
    void revise(BufferId id) override;
    std::optional<BufferId> victim() override;

  protected:
    // A position behind facts.now, kNeverUsed or kUnknownUse. O(1).
    virtual std::uint64_t next_use(BufferId /*id*/, const BufferFacts& facts) const {
        return facts.next_use;
    }

    // A buffer is used at `now`.
    virtual void used(BufferId /*id*/, std::uint64_t /*now*/) {}

    // A buffer has been freed.
    virtual void ended(BufferId /*id*/) {}

  private:
    // Buffers of a queue differ only in when they are due, or since when they have been idle. The
    // first of a queue is its best, so the best of all is among these, whatever time it is.
    enum class Queue : std::uint8_t {
        gone,        // costs nothing: longest idle first
        due_clean,   // by when they are due, latest first
        due_dirty,   //
        due_dead,    // by their end
        idle_clean,  // by the start of their idle time, longest idle first
        idle_dirty,  //
        idle_dead,   //
        none,
    };
    static constexpr std::size_t kQueues = 7;

    struct Known {
        std::uint64_t last_use = 0;  // or when it was allocated
        std::uint64_t touched = 0;   // the count of all touches at its last one
        std::uint64_t due = 0;       // what orders a due queue
        Queue queue = Queue::none;
        bool alive = false;  // known since it was allocated, resident or not
    };

    struct Key {
        std::uint64_t order = 0;
        std::uint64_t touched = 0;  // `order` is the same for everything that one kernel uses

        bool operator<(const Key& other) const {
            return order != other.order ? order < other.order : touched < other.touched;
        }
    };

    static bool is_due(Queue queue) {
        return queue >= Queue::due_clean && queue <= Queue::due_dead;
    }

    Known& known(BufferId id) { return known_[to_integer(id)]; }

    IndexedHeap<Key>& queue(Queue which) { return queues_[static_cast<std::size_t>(which)]; }

    Queue queue_of(BufferId id, const BufferFacts& facts, std::uint64_t& due) const;
    bool put(BufferId id, const BufferFacts& facts);
    void move(BufferId id, Queue to, std::uint64_t due);
    void take_out(BufferId id);
    void turn_overdue(std::uint64_t now);
    double worth(Queue which, const Known& known, std::uint64_t now) const;
    std::optional<BufferId> best(std::uint64_t now);

    const Residents& residents_;
    NextUseWeights weights_;
    std::vector<Known> known_;  // by id
    std::array<IndexedHeap<Key>, kQueues> queues_;
    IndexedHeap<Key> due_;  // all of the due queues, earliest first
    std::uint64_t touches_ = 0;
};

}  // namespace tidemark
