// PlainHistory: a history as plain vectors, which answers by looking at everything. Tests hold the
// real one against it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/random.h"
#include "replay/timeline/history.h"
#include "replay/timeline/history_builder.h"

namespace tidemark::support {

struct PlainHistory {
    struct Event {
        Nanoseconds time = 0;
        EventKind kind = EventKind::use;
        BlockIndex block = kNoBlock;
        SeriesValues values;
    };

    std::vector<Event> events;
    std::vector<BlockLife> blocks;
    std::vector<Site> sites;

    Position position(AxisUnit unit, std::size_t event) const;
    std::size_t event_from(AxisUnit unit, Position position) const;
    EventIndex peak_event(Series series) const;
    std::vector<SeriesColumn> series(AxisUnit unit, Position begin, Position end,
                                     std::size_t columns) const;
    std::vector<BlockIndex> within(EventIndex begin, EventIndex end) const;
    BlockIndex find(std::uint16_t device, std::uint64_t byte, EventIndex event) const;
    BlockIndex before(BlockIndex block) const;
    BlockIndex after(BlockIndex block) const;
    bool overlap(const BlockLife& a, const BlockLife& b) const;
};

// A random program, given to a builder and written down plainly.
class RandomProgram {
  public:
    // If `exact`, it reports the series itself, whatever its blocks say.
    RandomProgram(std::uint64_t seed, bool exact);

    explicit RandomProgram(std::uint64_t seed) : RandomProgram(seed, seed % 2 == 0) {}

    void step();

    HistoryBuilder& builder() { return *builder_; }

    const PlainHistory& plain() const { return plain_; }

  private:
    Nanoseconds next_time();
    void allocate();
    void end();
    void other();
    void finish_event(EventKind kind, BlockIndex block);
    const SeriesValues* exact_values();
    std::uint64_t free_address(std::uint16_t device, Bytes size);

    Random random_;
    std::unique_ptr<HistoryBuilder> builder_;
    PlainHistory plain_;
    bool exact_ = false;       // series are reported, and are not what blocks say
    Nanoseconds longest_ = 1;  // step of time
    unsigned devices_ = 1;
    Nanoseconds time_ = 0;
    SeriesValues now_;    // as the blocks say
    SeriesValues extra_;  // beyond that
    SeriesValues reported_;
    std::vector<BlockIndex> live_;
    std::vector<BlockIndex> retired_;
    std::vector<BlockIndex> deferred_;
    std::vector<SegmentIndex> segments_;
    std::uint64_t next_segment_ = std::uint64_t{1} << 40U;
};

}  // namespace tidemark::support
