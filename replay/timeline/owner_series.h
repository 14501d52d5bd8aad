// OwnerSeries: which owners hold a run's allocated memory over time: the bytes of each class of
// blocks after each event. The sum over all owners is what Series::allocated says, after every
// event.
//
// One sweep over the events makes it, at about 25 ns each; where a history grows, the sweep goes
// on. It keeps nothing for single events, but the bytes of all owners before each run of 64 events,
// the largest sum of each run, of 16 runs, and so on, and an owner for each block. Values in
// between are counted on request. That is, in files without names, 0.3 + owners / 8 bytes an event
// and one a block.
//
// One thread extends it while any number of others read what is known so far.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "replay/timeline/block_classes.h"
#include "replay/timeline/history.h"
#include "replay/timeline/mapped_column.h"

namespace tidemark {

// The device that is host memory, which no series counts; none if there is none. O(1).
std::optional<std::uint16_t> host_device(const History& history);

class OwnerSeries {
  public:
    // Which blocks count for their class; the others belong together to one owner, the last.
    using Shows = std::function<bool(const Block& block)>;

    // Knows nothing yet. Without `shows` all blocks count for their class. Errors: io.
    static Result<std::shared_ptr<OwnerSeries>> create(std::shared_ptr<const History> history,
                                                       BlockClasses classes, Shows shows = {});

    OwnerSeries(const OwnerSeries&) = delete;
    OwnerSeries& operator=(const OwnerSeries&) = delete;

    // Sweeps the events that the history has by now, unless it is cancelled before. False: what is
    // known has turned out wrong (a block ended unsaid, at an event that had been swept); only
    // another series would be right. Errors: io, and it cannot be extended any more.
    Result<bool> extend(const std::atomic<bool>& cancelled);

    // How many events are known, from the first onward.
    std::size_t events() const { return events_.load(std::memory_order_acquire); }

    const History& history() const { return *history_; }

    const BlockClasses& classes() const { return classes_; }

    // Those of classes(), in that order, and what is not shown.
    std::size_t owners() const { return classes_.all().size() + 1; }

    std::size_t not_shown() const { return classes_.all().size(); }

    // The owner of a block that was born in events() events; one of host memory has none.
    static constexpr std::uint8_t kNoOwner = 0xff;

    std::uint8_t owner_of(BlockIndex block) const { return owner_of_block_[block]; }

    // What each owner holds after the event; event < events(), bytes.size() == owners(). O(64).
    void at(EventIndex event, std::span<Bytes> bytes) const;

    // An event of each column (of those that History::series gave, or the one before it) after
    // which most is allocated; kNever where there is none or it isn't known. And what each owner
    // holds then: owners() numbers for each column. O(columns * (64 + log events)).
    void columns(std::span<const SeriesColumn> of, std::span<EventIndex> moments,
                 std::span<Bytes> bytes) const;

  private:
    class Reader;

    // What an event does to an owner.
    struct Change {
        EventIndex event = 0;
        std::uint8_t owner = 0;
        Bytes bytes = 0;  // added; it wraps where they are taken away
    };

    // Of a run of events.
    struct Node {
        Bytes most = 0;        // allocated after one of them
        EventIndex event = 0;  // the first such one
    };

    struct Level {
        Node node;
        std::size_t children = 0;
    };

    // A block whose end no event is about.
    struct UnsaidEnd {
        EventIndex event = 0;
        BlockIndex block = 0;
    };

    OwnerSeries(std::shared_ptr<const History> history, BlockClasses classes, Shows shows);

    Result<void> make_room(std::size_t events);
    void sweep(EventIndex begin, EventIndex end);
    void begin_block(const Block& block, BlockIndex index, EventIndex event);
    void count(std::uint8_t owner, Bytes bytes);
    void close_leaf();
    void add_changes(EventIndex begin, EventIndex end, std::vector<Change>& changes) const;

    std::shared_ptr<const History> history_;
    BlockClasses classes_;
    Shows shows_;
    std::optional<std::uint16_t> host_;
    std::atomic<std::size_t> events_ = 0;
    MappedColumn<Bytes> entries_;  // before each run of 64 events, owner by owner
    MappedColumn<Node> nodes_;     // of complete runs, in TreeOrder
    MappedColumn<std::uint8_t> owner_of_block_;
    MappedColumn<UnsaidEnd> unsaid_;  // by event
    // The sweep's.
    std::vector<UnsaidEnd> due_;  // a heap, the next one on top
    std::vector<Bytes> now_;      // by owner
    Bytes sum_ = 0;
    std::vector<Level> levels_ = std::vector<Level>(1);
};

}  // namespace tidemark
