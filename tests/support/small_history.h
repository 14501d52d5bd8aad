// SmallHistory: histories written down step by step, for tests of what stands above them; and
// random ones, with the plain answers that a history must give.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "replay/timeline/history.h"
#include "replay/timeline/history_builder.h"

namespace tidemark::support {

// Where and by whom a block is allocated; the names are put into the history's tables.
struct Placed {
    std::uint64_t address = 0;  // 0: behind everything that was placed so
    std::uint32_t stream = 0;
    std::uint32_t pool = 0;
    std::uint16_t device = 0;
    std::string tag = {};
    std::vector<std::string> stack = {};  // names of frames, innermost first
    Bytes granted = 0;                    // 0: as requested
};

// By what a block is used.
struct Used {
    std::uint32_t launch = 0;
    std::uint32_t stream = 0;
    std::string name = {};
    bool perhaps = false;
};

// Steps make an event each, 10 ns after the last one unless at() says otherwise, but for
// annotations' names and others that say so. Blocks are known by the test's own numbers.
//
//   auto history = SmallHistory().segment(0x1000, 0x1000).allocate(1, 512).free(1).build();
class SmallHistory {
  public:
    SmallHistory();

    SmallHistory& at(Nanoseconds time);  // of the next step; no event
    SmallHistory& allocate(std::uint64_t id, Bytes size, const Placed& where = {});
    SmallHistory& free(std::uint64_t id);
    SmallHistory& retire(std::uint64_t id);  // let go, awaited until finish
    SmallHistory& finish(std::uint64_t id);
    SmallHistory& use(std::uint64_t id, const Used& by = {});
    SmallHistory& use_unknown(const Used& by);  // it may be any block
    // The device ran a launch of that number.
    SmallHistory& execution(const Used& by, Nanoseconds begin, Nanoseconds length);
    SmallHistory& idle();  // an event about nothing
    SmallHistory& segment(std::uint64_t address, Bytes size, std::uint16_t device = 0);
    SmallHistory& end_segment(std::uint64_t address, Bytes size, std::uint16_t device = 0);
    SmallHistory& reserve(std::uint64_t address, Bytes size, std::uint16_t device = 0);
    SmallHistory& map(std::uint64_t address, Bytes size, std::uint16_t device = 0);
    SmallHistory& unmap(std::uint64_t address, Bytes size, std::uint16_t device = 0);
    // A second mapping of what has its home at `home`; the memory stays.
    SmallHistory& view(std::uint64_t address, Bytes size, std::uint64_t home);
    SmallHistory& unview(std::uint64_t address, Bytes size);
    SmallHistory& begin(std::string_view name);  // an annotation
    SmallHistory& end(std::string_view name);
    SmallHistory& mark(MarkKind kind, Bytes size = 0, std::string_view name = {});
    SmallHistory& names(HistoryNames names);  // no event

    // The index in the history of the test's block.
    BlockIndex block(std::uint64_t id) const { return blocks_.at(id); }

    // So far, still growing: readers see what has been added.
    std::shared_ptr<const History> look();

    // Complete. Call once.
    std::shared_ptr<const History> build();

    HistoryBuilder& builder() { return *builder_; }

  private:
    Nanoseconds next_time();
    SmallHistory& event(EventKind kind, BlockIndex block = kNoBlock, std::string_view name = {});
    SmallHistory& use_of(BlockIndex block, const Used& by, std::uint8_t flags);
    SmallHistory& change(SegmentChange change, std::uint64_t address, Bytes size,
                         std::uint16_t device);

    std::unique_ptr<HistoryBuilder> builder_;
    std::map<std::uint64_t, BlockIndex> blocks_;
    Nanoseconds time_ = 0;
    std::uint64_t next_address_ = 0x10000;
    Bytes reserved_ = 0;
};

// A history of about `events` events from a seed: blocks that wait, several devices, streams and
// stacks, segments and annotations; each run of events at one time, or far apart, now and then.
std::shared_ptr<const History> random_history(std::uint64_t seed, std::size_t events);

}  // namespace tidemark::support
