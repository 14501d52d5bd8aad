// HistoryBuilder: builds a History, event by event, while others may already read it.
//
// Two callers feed it: a replay, which knows every series after every event, and the follower of a
// running program, which knows only what was sent. Calls come from one thread; readers see what was
// added after the next publish(). Not every event checks for a full disk: make_room() prepares for
// as many as come next, and the next make_room() or publish() reports whatever else fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/allocator/memory_observer.h"
#include "core/base/result.h"
#include "replay/timeline/block_tree.h"
#include "replay/timeline/history.h"
#include "replay/timeline/history_columns.h"
#include "replay/timeline/open_segments.h"

namespace tidemark {

struct NewBlock {
    Address address = Address::null;
    Bytes size = 0;  // granted
    Bytes requested = 0;
    std::uint32_t site = 0;  // as HistoryBuilder::site() gave it
};

struct NewEvent {
    Nanoseconds time = 0;  // one before the last event's is taken for that one
    EventKind kind = EventKind::synchronize;
    // Of free, retire and finish: who ends; of others what they are about. A free ends the life and
    // the bytes are free at once; after retire they are pending until finish.
    BlockIndex block = kNoBlock;
    std::uint32_t name = 0;  // of strings(): of range_begin, range_end and mark
    bool deferred = false;   // of free: the bytes are not free yet; reuse() says when
    // All series after the event, for who knows them. Otherwise they follow from the blocks and
    // from set_reserved().
    const SeriesValues* values = nullptr;
};

struct NewUse {
    Nanoseconds time = 0;
    BlockIndex block = kNoBlock;  // kNoBlock: none that is known
    StreamId stream = StreamId::default_stream;
    std::uint32_t launch = 0;              // uses of a stream with the same number belong together
    std::uint32_t tag = 0;                 // of strings()
    std::uint8_t flags = 0;                // as TraceEvent::flags of a use
    const SeriesValues* values = nullptr;  // as NewEvent::values
};

struct NewExecution {
    Nanoseconds time = 0;  // of the event that says so
    Nanoseconds begin = 0;
    Nanoseconds length = 0;
    StreamId stream = StreamId::default_stream;
    std::uint32_t launch = 0;              // as NewUse::launch
    std::uint32_t tag = 0;                 // of strings()
    const SeriesValues* values = nullptr;  // as NewEvent::values
};

class HistoryBuilder {
  public:
    // The columns become files in the open folder `folder`, or without one files without names.
    // There will be no more than `most_events`, for which addresses are set aside; or fewer, where
    // the process may not have so many (History::most_events). Errors: io; unsupported: there are
    // hardly any.
    static Result<std::unique_ptr<HistoryBuilder>> create(int folder = -1,
                                                          std::uint64_t most_events = kMostEvents);

    // Of what has been published. It may outlive the builder.
    std::shared_ptr<const History> history() const { return history_; }

    // --- names, which may grow at any time ------------------------------------------------------

    StringTable& strings() { return columns_.strings; }

    StackTable& stacks() { return columns_.stacks; }

    // Streams, pools and devices, capacity and limit. O(names).
    void set_names(HistoryNames names);

    // The number of `site`, added if new.
    std::uint32_t site(const Site& site);

    // --- events ---------------------------------------------------------------------------------

    // So many events may be added now. Errors: io, also of what was added before; unsupported: more
    // than a history can have.
    Result<void> make_room(std::size_t events);

    // One event may be added now; for who can't say before how many come next: one record of a
    // program may end any number of mappings. False: there is no room, which the next make_room()
    // or publish() reports. O(1) amortised.
    bool has_room() {
        if (room_ == 0) [[unlikely]]
            note(make_room(kRoomStep));
        return room_ > 0;
    }

    // Adds an `allocate` of `block`; returns its index.
    BlockIndex allocate(Nanoseconds time, const NewBlock& block,
                        const SeriesValues* values = nullptr);

    // Adds any other event but a use. range_begin and range_end make an Annotation, mark and trim a
    // Mark. Amortised O(1).
    void add(const NewEvent& event);

    // Adds a `use`, of a new launch unless its stream's last one has the same number. Amortised
    // O(1).
    void use(const NewUse& use);

    // Adds an `execution` of a launch: one of the last hundred thousand, or of no known one. O(1).
    void execution(const NewExecution& execution);

    // The next event is one of `stream` and no use: what was launched there ends with it. O(1).
    void end_launch(StreamId stream) {
        if (to_integer(stream) < open_launches_.size())
            close_launch(to_integer(stream));
    }

    // Any launches so far? Without them there is no need to call end_launch().
    bool has_launches() const { return !open_launches_.empty(); }

    // The bytes of a block that was freed in a deferred free can be allocated again from the last
    // event on. Also ends a block that no event frees.
    void reuse(BlockIndex block);

    // The next event's index.
    EventIndex next_event() const { return static_cast<EventIndex>(columns_.kinds.pushed()); }

    // Memory held from the devices, from the next event on.
    void set_reserved(Bytes reserved) { offset_[Series::reserved] = reserved; }

    // Everything that was added, published or not.
    History::Columns& columns() { return columns_; }

    // After the last event.
    const SeriesValues& values() const { return values_; }

    // --- the rest -------------------------------------------------------------------------------

    // Memory was reserved from `device` or released to it, at `event`: the last one, or one since
    // the last publish(). `home` as MemoryObserver::on_segment says. O(log segments).
    void change_segment(std::uint16_t device, SegmentChange change, Range range, StreamId stream,
                        EventIndex event, Address home = Address::null);

    // Marks come in the order of their events.
    void add_mark(const Mark& mark);

    // Readers see all of it from now on. Errors: io, of what was added since the last time.
    Result<void> publish();

    // The last publish(); cuts the files to their lengths. Nothing can be added afterwards. Errors:
    // io.
    Result<void> finish();

  private:
    // What the series did since the last node of a level was complete.
    struct Level {
        SeriesNode node;
        std::size_t children = 0;
    };

    HistoryBuilder();

    void push_event(Nanoseconds time, EventKind kind, BlockIndex block);
    void push_time(Nanoseconds time);
    void follow(const SeriesValues* exact, EventIndex event);
    bool is_on_host(std::uint32_t site) const;
    void leave_out(const SeriesValues& before);
    void correct(std::size_t series, Bytes value, EventIndex event);
    void close_leaf();
    bool about_nothing(EventKind kind, BlockIndex block) const;
    bool end_at_once(const NewEvent& what, EventIndex event);
    void end(const NewEvent& what, EventIndex event);
    void let_go(BlockIndex block, EventIndex event, bool awaited);
    void give_back(BlockIndex block, EventIndex event);
    void annotate(const NewEvent& what, EventIndex event);
    void close_launch(std::size_t stream);
    void note(Result<void> result);

    template <class T>
    void push(MappedColumn<T>& column, const T& value) {
        note(column.push(value));
    }

    static constexpr std::size_t kRoomStep = 4096;

    std::shared_ptr<History> history_;
    History::Columns& columns_;
    std::optional<Error> error_;
    std::size_t room_ = 0;  // events that may be added

    Nanoseconds last_time_ = 0;
    Nanoseconds time_base_ = 0;
    SeriesValues base_;                   // as the events say of their blocks
    SeriesValues offset_;                 // the rest of it, as far as it was reported
    std::size_t host_ = ~std::size_t{0};  // the device that the series leave out, if there is one
    SeriesValues applied_;                // the last corrections
    SeriesValues values_;                 // after the last event
    std::vector<Level> levels_;
    BlockTree live_;

    std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> sites_;           // by hash
    std::unordered_map<std::uint32_t, std::vector<std::size_t>> open_annotations_;  // by name
    std::uint32_t open_depth_ = 0;  // how many those are

    struct OpenLaunch {
        bool open = false;
        std::uint32_t number = 0;
        std::uint32_t index = 0;
    };

    std::vector<OpenLaunch> open_launches_;  // by stream

    // Launches by their number, as far as none of the same hash came later.
    struct NumberedLaunch {
        std::uint32_t number = 0;
        std::uint32_t index = Execution::kNoLaunch;
    };

    static constexpr std::size_t kNumberedLaunches = std::size_t{1} << 17U;
    std::vector<NumberedLaunch> numbered_launches_;  // empty without launches
    OpenSegments segments_;
};

}  // namespace tidemark
