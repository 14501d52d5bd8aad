// History::Columns: what a history consists of, as it is in its files. The builder fills them, the
// store names them, the queries read them; other code should not use them.
//
// It stores little that can be computed from neighbouring values. Values between two nodes of the
// series tree come from the blocks of the events in between. Where that isn't exact (memory from
// the device, pending frees), short lists of corrections add the rest.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "replay/timeline/history.h"
#include "replay/timeline/mapped_column.h"
#include "replay/timeline/tree_order.h"

namespace tidemark {

// Events and blocks by so many make a leaf of their trees.
constexpr std::size_t kLeaf = 64;

// A time is the base of its 64 events and this; or, where it doesn't fit, in a list by event.
constexpr std::uint32_t kWideTime = 0xffffffffU;

struct WideTime {
    std::uint64_t event = 0;
    Nanoseconds time = 0;
};

// From `event` on a series is what its blocks say, and this (which may be negative: it wraps).
struct Correction {
    std::uint64_t event = 0;
    Bytes value = 0;
};

// What the series did over the events of a node: a cache line.
struct SeriesNode {
    SeriesValues min;
    SeriesValues max;
};

// Granted bytes are those requested and this many; or, where it doesn't fit, in a list by block.
constexpr std::uint32_t kWideSlack = 0xffffffffU;

// Of BlockRecord::site: the block waited for its device; `waits` knows how long.
constexpr std::uint32_t kWaited = 0x80000000U;

// A block. `freed` and `site` change while others read: use the functions.
struct BlockRecord {
    Address address = Address::null;
    Bytes requested = 0;
    std::uint32_t slack = 0;
    EventIndex born = 0;
    EventIndex freed = kNever;
    std::uint32_t site = 0;
};

struct WideSlack {
    std::uint64_t block = 0;
    Bytes slack = 0;
};

// A block that was freed at `freed` and could be allocated again from `reused` on. In the order of
// `freed`, which no two have in common.
struct Wait {
    EventIndex freed = 0;
    EventIndex reused = kNever;
};

// 64 blocks, or 16 such nodes.
struct BlockNode {
    std::uint64_t lowest = ~std::uint64_t{0};  // address
    std::uint64_t highest = 0;                 // last byte; none if below `lowest`
    EventIndex end = kNever;                   // when the last of them was reused
    std::uint32_t reserved = 0;                // zero
};

// A number that one thread changes while others read it; what it says is ordered by what is
// published afterwards. (libc++ lacked std::atomic_ref until version 19.)
inline void set_shared(std::uint32_t& field, std::uint32_t value) {
    __atomic_store_n(&field, value, __ATOMIC_RELAXED);
}

inline std::uint32_t get_shared(const std::uint32_t& field) {
    return __atomic_load_n(&field, __ATOMIC_RELAXED);
}

// One use of a launch: the launch's index, and what else is to be known of it. In the order of
// events, one for each event of that kind.
struct LaunchUse {
    static constexpr std::uint32_t kPossible = 0x80000000U;  // perhaps it means something else
    static constexpr std::uint32_t kUnknown = 0x40000000U;   // of anything
    static constexpr std::size_t kMostLaunches = kUnknown;

    std::uint32_t launch = 0;  // and flags
};

// Counts that change together.
class SharedCounts {
  public:
    void set(const HistoryCounts& counts);
    HistoryCounts get() const;

  private:
    static constexpr std::size_t kFields = 8;

    std::atomic<std::uint64_t> version_ = 0;  // odd while they change
    std::array<std::atomic<std::size_t>, kFields> fields_ = {};
};

struct HistoryNames {
    std::vector<std::uint64_t> streams = {0};
    std::vector<std::string> pools = {"default"};
    std::vector<std::string> devices = {""};
    Bytes capacity = 0;
    Bytes limit = 0;
};

struct History::Columns {
    // By event.
    MappedColumn<EventKind> kinds;  // published last: its size is that of the history
    MappedColumn<BlockIndex> blocks_of_events;
    MappedColumn<std::uint32_t> times;
    MappedColumn<Nanoseconds> time_bases;  // by 64 events
    MappedColumn<WideTime> wide_times;
    MappedColumn<SeriesNode> series;         // in TreeOrder
    MappedColumn<SeriesValues> last_values;  // by 64 events: after the last of them
    std::array<MappedColumn<Correction>, kSeriesCount> corrections;
    // By block.
    MappedColumn<BlockRecord> blocks;
    MappedColumn<WideSlack> wide_slacks;
    MappedColumn<Wait> waits;
    MappedColumn<BlockNode> block_nodes;  // in TreeOrder
    MappedColumn<Site> sites;

    MappedColumn<Segment> segments;
    MappedColumn<Annotation> annotations;
    MappedColumn<Mark> marks;
    MappedColumn<Launch> launches;
    MappedColumn<LaunchUse> uses;
    MappedColumn<Execution> executions;

    StringTable strings;
    StackTable stacks;
    std::atomic<const HistoryNames*> names = nullptr;            // the last of `all_names`
    std::vector<std::unique_ptr<const HistoryNames>> all_names;  // readers may still use them
    SharedCounts counts;
    std::atomic<bool> complete = false;
    std::size_t most_events = kMostEvents;  // that there are addresses for
    std::string folder;                     // where they are kept; it may be read once `is_kept`
    std::atomic<bool> is_kept = false;

    Columns() { set_names({}); }

    // The builder's.
    void set_names(HistoryNames next);

    // The store's, once.
    void set_kept_in(const std::string& where) {
        folder = where;
        is_kept.store(true, std::memory_order_release);
    }

    // Calls `visit(name, column, most)` for each column, `kinds` last; `most` is what it may ever
    // hold. Ends with the first Error that `visit` returns.
    template <class Visit>
    Result<void> for_each(Visit&& visit);

    // The series after each of the 64 events that begin at `bucket` * 64, up to `events` of the
    // history; returns how many those are. O(64).
    std::size_t decode(std::size_t bucket, std::size_t events,
                       std::array<SeriesValues, kLeaf>& values) const;

    // The series after one event: decode() for who needs no more of the 64. O(32).
    SeriesValues values_after(std::size_t event, std::size_t events) const;

    // Sends for what time() will read of a leaf, and values_after(): prefetch_blocks() when that of
    // prefetch_events() has come. Changes nothing.
    void prefetch_times(std::size_t leaf) const;
    void prefetch_events(std::size_t event, std::size_t events) const;
    void prefetch_blocks(std::size_t event, std::size_t events) const;

    // Adds to `values` of events from `begin` on what the blocks don't show.
    void correct(std::size_t begin, std::span<SeriesValues> values) const;

    // What an event does to the series as far as its block shows.
    void apply(EventKind kind, BlockIndex block, EventIndex event, SeriesValues& values) const;

    // By how much the corrections of a series change over events [begin, end); it may wrap.
    Bytes corrected(std::size_t which, std::size_t begin, std::size_t end) const;

    // The events between an event and the nearest leaf's edge whose values are stored.
    struct Stretch {
        std::size_t begin = 0;
        std::size_t end = 0;
        bool backwards = false;  // from the values after the leaf
    };

    Stretch to_known(std::size_t event, std::size_t events) const;

    Nanoseconds time(EventIndex event) const;
    Bytes granted(BlockIndex block) const;

    // The builder's: the wait of a block that was freed; null if it didn't wait.
    Wait* wait_of(BlockIndex block);

    // The builder's: when the block's bytes were free again; kNever if they are not.
    EventIndex reused_so_far(BlockIndex block);

    // kNever if that is at `events` or later. `freed` is the block's.
    EventIndex reused(BlockIndex block, EventIndex freed, std::size_t events) const;
};

template <class Visit>
Result<void> History::Columns::for_each(Visit&& visit) {
    constexpr std::size_t kEvents = kMostEvents;
    constexpr std::size_t kRare = std::size_t{1} << 28U;
    TM_TRY(visit("event-blocks", blocks_of_events, kEvents));
    TM_TRY(visit("times", times, kEvents));
    TM_TRY(visit("time-bases", time_bases, kEvents / kLeaf + 1));
    TM_TRY(visit("wide-times", wide_times, kRare));
    TM_TRY(visit("series", series, kEvents / (kLeaf - 4)));
    TM_TRY(visit("last-values", last_values, kEvents / kLeaf + 1));
    TM_TRY(visit("corrections-reserved", corrections[0], kRare * 4));
    TM_TRY(visit("corrections-allocated", corrections[1], kRare * 4));
    TM_TRY(visit("corrections-active", corrections[2], kRare * 4));
    TM_TRY(visit("corrections-requested", corrections[3], kRare * 4));
    TM_TRY(visit("blocks", blocks, kEvents / 2));
    TM_TRY(visit("wide-slacks", wide_slacks, kRare));
    TM_TRY(visit("waits", waits, kEvents / 4));
    TM_TRY(visit("block-nodes", block_nodes, kEvents / 2 / (kLeaf - 4)));
    TM_TRY(visit("sites", sites, kRare));
    TM_TRY(visit("segments", segments, kRare));
    TM_TRY(visit("annotations", annotations, kRare));
    TM_TRY(visit("marks", marks, kRare));
    TM_TRY(visit("launches", launches, LaunchUse::kMostLaunches));
    TM_TRY(visit("uses", uses, kEvents));
    TM_TRY(visit("executions", executions, LaunchUse::kMostLaunches));
    return visit("kinds", kinds, kEvents);
}

}  // namespace tidemark
