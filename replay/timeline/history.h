// History: what became of every event, block and segment of a run, as columns: what a viewer reads
// and what outlives the replay. A HistoryBuilder builds it, from a replay or a running program. It
// is kept in mapped files of the user's cache (history_store.h), so that it is available at once
// next time.
//
// It may be read while it grows: readers look at counts() once and stay below. Two times matter: an
// event's *index* in the run and its *time*, the recorded one, so that runs of the same trace under
// different policies share both axes. Thread-safe for one builder and any number of readers.
//
// A block is the life of one allocation: where it was, from which event to which. Its index is its
// position in the order of birth.
//
//     const EventIndex peak = history.peak_event(Series::reserved);
//     Bytes live = 0;
//     history.for_each_live(peak, [&](BlockIndex block) { live += history.block(block).size; });
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "replay/timeline/mapped_column.h"
#include "traces/model/event.h"
#include "traces/model/tables.h"

namespace tidemark {

using EventIndex = std::uint32_t;
using BlockIndex = std::uint32_t;
using SegmentIndex = std::uint32_t;

constexpr EventIndex kNever = 0xffffffffU;     // as the end of what hasn't ended
constexpr BlockIndex kNoBlock = 0xffffffffU;   // of events about no block
constexpr std::uint64_t kMostEvents = kNever;  // a history has fewer

// The curves of a run: sums over its GPUs, after each event.
enum class Series : std::uint8_t {
    reserved,   // physical memory held from the devices
    allocated,  // granted to live allocations, after rounding
    active,     // allocated, or pending free on a device
    requested,  // requested by the program and not yet finished
};
constexpr std::size_t kSeriesCount = 4;

// "reserved", ...
std::string_view to_text(Series series);

struct SeriesValues {
    Bytes value[kSeriesCount] = {};

    Bytes operator[](Series series) const { return value[static_cast<std::size_t>(series)]; }

    Bytes& operator[](Series series) { return value[static_cast<std::size_t>(series)]; }

    friend bool operator==(const SeriesValues&, const SeriesValues&) = default;
};

// Who allocates: what many blocks share. `stream` and `pool` are the run's dense numbers.
struct Site {
    StreamId stream = StreamId::default_stream;
    PoolId pool = PoolId::default_pool;
    std::uint32_t stack = 0;  // of History::stacks(); 0 = unknown
    std::uint32_t tag = 0;    // of History::strings(); 0 = none
    std::uint16_t device = 0;
    std::uint16_t reserved = 0;  // zero

    friend bool operator==(const Site&, const Site&) = default;
};

struct BlockLife {
    Address address = Address::null;
    Bytes size = 0;       // granted, after rounding
    Bytes requested = 0;  // as the program asked
    EventIndex born = 0;
    EventIndex freed = kNever;   // the program freed it
    EventIndex reused = kNever;  // the bytes could be allocated again: later if pending free
    std::uint32_t site = 0;      // of History::site()

    // Of a block that exists at `event`: is it only pending free on its device?
    bool waits(EventIndex event) const { return freed <= event; }
};

// By its short name; the allocators have a Block of their own (core/regions).
using Block = BlockLife;

enum class SegmentKind : std::uint8_t {
    segment,      // a piece of memory from the device
    mapping,      // pages mapped into a reservation
    reservation,  // address space, with or without memory behind it
    view,         // a second mapping, of memory that counts at its home
};

// Has it memory that is counted here?
constexpr bool has_memory(SegmentKind kind) {
    return kind == SegmentKind::segment || kind == SegmentKind::mapping;
}

struct Segment {
    Address begin = Address::null;
    Bytes size = 0;
    Address home = Address::null;  // of a view: where the same memory is mapped and counts
    EventIndex born = 0;
    EventIndex died = kNever;
    std::uint16_t device = 0;
    SegmentKind kind = SegmentKind::segment;
    std::uint8_t reserved = 0;  // zero
    std::uint32_t stream = 0;   // that it was taken for, as far as the device knows
    Bytes page = 0;             // of mappings: the pieces in which their memory can be released
};

// A named range of the program: step, module, operator, the user's annotation.
struct Annotation {
    EventIndex begin = 0;
    EventIndex end = kNever;
    std::uint32_t name = 0;   // of strings()
    std::uint32_t depth = 0;  // how many are open around it
};

// A kernel, copy or fill that the program gave a stream. It lasts until its stream's next event, as
// in a replay over tiers.
struct Launch {
    EventIndex begin = 0;  // the first of its uses
    EventIndex end = kNever;
    std::uint32_t stream = 0;     // StreamId
    std::uint32_t tag = 0;        // of strings(): the kernel's name; 0 = none
    std::uint32_t uses = 0;       // events
    std::uint32_t first_use = 0;  // among the uses of all launches
};

// When the device ran a launch, or a kernel of a graph that was launched.
struct Execution {
    static constexpr std::uint32_t kNoLaunch = 0xffffffff;

    Nanoseconds begin = 0;
    Nanoseconds length = 0;
    std::uint32_t launch = kNoLaunch;  // as History::launch counts them; kNoLaunch: isn't known
    std::uint32_t stream = 0;          // StreamId
    std::uint32_t tag = 0;             // of strings(): its name; 0 = none
    std::uint32_t reserved = 0;        // zero

    Nanoseconds end() const { return begin + length; }
};

// What a launch uses.
struct LaunchUses {
    std::vector<BlockIndex> blocks;  // each once, rising
    Bytes size = 0;                  // of them all, granted
    std::size_t possible = 0;        // blocks that it perhaps doesn't use
    bool unknown = false;            // it may have used anything
};

enum class MarkKind : std::uint8_t {
    out_of_memory,           // a request failed: `size` is what was requested
    recorded_out_of_memory,  // it failed in the recording; here it may have succeeded
    retry,                   // caches were emptied and the device tried again
    trim,                    // the program emptied the caches
    point,                   // the program's own mark: `name`
    lost,                    // a running program was too fast: `size` events are missing here
};

struct Mark {
    EventIndex event = 0;
    MarkKind kind = MarkKind::point;
    std::uint8_t reserved = 0;  // zero
    std::uint16_t device = 0;   // of an out of memory
    std::uint32_t name = 0;
    std::uint32_t reserved_too = 0;  // zero
    Bytes size = 0;
};

struct HistoryCounts {
    std::size_t events = 0;
    std::size_t blocks = 0;
    std::size_t segments = 0;  // some of them may be dead
    std::size_t annotations = 0;
    std::size_t marks = 0;
    std::size_t sites = 0;
    std::size_t launches = 0;
    std::size_t executions = 0;

    friend bool operator==(const HistoryCounts&, const HistoryCounts&) = default;
};

// One column of a chart: what a series did between two positions.
struct SeriesColumn {
    SeriesValues min;  // of all values that held within, the one on entry included
    SeriesValues max;
    SeriesValues last;           // on leaving
    EventIndex first_event = 0;  // the first event within, or the next one if there is none
    EventIndex events = 0;       // so many
};

// A time or an event's place on the axis that a viewer shows: nanoseconds, or thousandths of an
// event.
using Position = std::int64_t;

enum class AxisUnit : std::uint8_t { time, events };
constexpr Position kPositionsPerEvent = 1000;

class History {
  public:
    struct Columns;  // replay/timeline/history_columns.h: the builder's and the store's business

    explicit History(std::unique_ptr<Columns> columns);
    ~History();

    // What may be read now. Later it is more, never less. O(1).
    HistoryCounts counts() const;

    // Nothing will be added any more.
    bool complete() const;

    // No more events than that will ever be in it.
    std::size_t most_events() const;

    // Reads the files into memory, first what every view needs, until half of the machine's memory
    // is used or `cancelled` is set. After that no query waits for pages. O(bytes); 0.2 s for 10^8
    // events that the page cache has.
    void bring_in(const std::atomic<bool>& cancelled) const;

    // --- events -------------------------------------------------------------------------------
    // Of all of these `event` < counts().events.

    Nanoseconds time(EventIndex event) const;
    EventKind kind(EventIndex event) const;

    // The block that is allocated, freed, used or finished at the event; kNoBlock if it is about
    // none.
    BlockIndex block_at(EventIndex event) const;

    // The first event at `time` or later; counts().events if there is none. O(log events).
    EventIndex first_at(Nanoseconds time) const;

    // After the event. O(64).
    SeriesValues values(EventIndex event) const;

    // The event at which a series is largest (the first of equals), with its value; 0 and {} if
    // there are no events. O(log events).
    EventIndex peak_event(Series series) const;

    // --- positions on an axis -------------------------------------------------------------------

    Position position(AxisUnit unit, EventIndex event) const;

    // The first event at `position` or later; counts().events if there is none.
    EventIndex event_from(AxisUnit unit, Position position) const;

    // Just beyond the last event; at least 1.
    Position end(AxisUnit unit) const;

    // The stretch [begin, end) cut into `columns.size()` columns of equal width (the i-th begins at
    // begin + i * (end - begin) / columns). Exact at every zoom, whatever it holds: no peak is
    // lost. Where a column has no event it has the value that held. Positions before the first
    // event have zeros. O(columns * log events), at most 4 ms for 2,000 columns of 10^8 events.
    void series(AxisUnit unit, Position begin, Position end, std::span<SeriesColumn> columns) const;

    // --- blocks ---------------------------------------------------------------------------------

    Block block(BlockIndex block) const;

    const Site& site(std::uint32_t index) const;

    // Blocks born before `event` are those below. O(log blocks).
    BlockIndex born_before(EventIndex event) const;

    // Calls `visit` for each block whose bytes are taken after `event` (born <= event < reused), in
    // order of birth. O(answer * log blocks).
    void for_each_live(EventIndex event, const std::function<void(BlockIndex)>& visit) const;

    // The same for the blocks that are taken at some moment of [begin, end].
    void for_each_within(EventIndex begin, EventIndex end,
                         const std::function<void(BlockIndex)>& visit) const;

    // The block whose bytes hold `address` of `device` after `event`, or kNoBlock. O(log blocks *
    // live in the worst case).
    BlockIndex find(std::uint16_t device, Address address, EventIndex event) const;

    // The last block before `block`, and the first after it, that overlaps its bytes; kNoBlock if
    // there is none. O(blocks) in the worst case, a few in practice.
    BlockIndex before(BlockIndex block) const;
    BlockIndex after(BlockIndex block) const;

    // --- the rest -------------------------------------------------------------------------------

    Segment segment(SegmentIndex segment) const;     // in order of birth
    Annotation annotation(std::size_t index) const;  // in order of begin
    Mark mark(std::size_t index) const;              // in order of event
    Launch launch(std::size_t index) const;          // in order of begin
    Execution execution(std::size_t index) const;    // as they became known

    // O(events from its first use to its last), which is about 0.1 us each.
    LaunchUses uses(std::size_t launch) const;

    const StringTable& strings() const;
    const StackTable& stacks() const;
    const std::vector<std::uint64_t>& streams() const;  // the program's own handles, by StreamId
    const std::vector<std::string>& pools() const;      // names, by PoolId
    const std::vector<std::string>& devices() const;    // names
    Bytes capacity() const;                             // of all devices together; 0 = unknown
    Bytes limit() const;  // on reserved bytes of each allocator; 0 = none

    // The folder in the user's cache that has its columns, and may have files derived from them; ""
    // as long as they are not kept. O(1).
    const std::string& kept_in() const;

    // The builder's.
    Columns& columns() { return *columns_; }

  private:
    std::unique_ptr<Columns> columns_;
};

}  // namespace tidemark
