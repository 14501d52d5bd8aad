// Chunk: up to kChunkEvents consecutive events as columns, readable without any other chunk.
//
// `kind` and `time` are plain streams. `slot` is a place in the list of the chunk's slots, in order
// of appearance. Each other column says which events store a number and where the rest have theirs
// from: from nowhere (one value for all), from the kind of event, or from the event before with the
// same slot (the address of a `free` is that of its `allocate`).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "traces/model/event.h"
#include "traces/tmk/number_stream.h"
#include "traces/tmk/wire.h"

namespace tidemark::tmk {

struct ChunkHeader {
    std::uint32_t count = 0;  // 1 to kChunkEvents
    std::uint32_t zero = 0;
    std::uint64_t first_event = 0;
    Nanoseconds first_time = 0;
    Nanoseconds last_time = 0;
    std::uint64_t content_hash = 0;  // of the events as TraceEvents in a row
};

static_assert(sizeof(ChunkHeader) == 40);

// Whether `aux` of such an event is a string's index.
constexpr bool names_string(EventKind kind) {
    return kind == EventKind::range_begin || kind == EventKind::range_end ||
           kind == EventKind::mark;
}

enum class Layout : std::uint8_t {
    constant = 0,  // one value for all
    every = 1,     // a stream with a number for each event
    by_kind = 2,   // a stream for some kinds of events, one value for all others
    by_slot = 3,  // a stream for some kinds and for each slot's first event; others repeat the slot
};

constexpr std::size_t kKinds = 256;
using KindSet = std::array<bool, kKinds>;  // by number of the kind

// What the slots, streams, ... that events name stay below.
struct Limits {
    std::uint64_t slots = 0;
    std::uint64_t streams = 0;
    std::uint64_t devices = 0;
    std::uint64_t stacks = 0;
    std::uint64_t strings = 0;
};

// Gathers the events of one chunk and encodes them. Keeps its memory for the next chunk.
class ChunkEncoder {
  public:
    ChunkEncoder();

    std::size_t count() const { return kind_.size(); }

    std::size_t room() const { return kChunkEvents - count(); }

    // The smallest limits for all events that have been encoded.
    const Limits& limits() const { return limits_; }

    // At most room() events.
    void add(std::span<const TraceEvent> events);

    // Writes all events as a chunk's payload and forgets them. `header.count` and the times are
    // filled in here; returns it whole.
    ChunkHeader encode(ChunkHeader header, ByteWriter& target);

  private:
    // What is known of the events of one kind while a column's layout is chosen.
    struct KindCensus {
        std::uint32_t events = 0;
        std::uint32_t first_of_slot = 0;
        std::uint64_t value = 0;   // of the first event
        bool constant = true;      // all events have `value`
        bool follows_slot = true;  // all but the first of a slot repeat the slot's value
    };

    struct LayoutChoice {
        Layout layout = Layout::every;
        std::uint64_t constant = 0;
        std::size_t stored = 0;
        KindSet stores{};  // kinds whose events store a number
    };

    template <class Use>
    void for_each_column(Use use) {
        const auto each = [&use](auto&... columns) { (use(columns), ...); };
        each(kind_, slot_, time_, size_, address_, stream_, stack_, aux_, tag_, device_, flags_);
    }

    template <class T>
    void put_column(std::span<const T> values, Attempts attempts, ByteWriter& target);
    void put_kinds_and_times(ByteWriter& target);
    void put_slots(ByteWriter& target);
    void widen_limits();
    void take_census();
    LayoutChoice by_kind() const;
    LayoutChoice by_slot() const;
    void put_numbers(const LayoutChoice& choice, Attempts attempts, ByteWriter& target);

    StreamEncoder streams_;
    Limits limits_;
    std::vector<EventKind> kind_;
    std::vector<std::uint32_t> slot_;
    std::vector<Nanoseconds> time_;
    std::vector<Bytes> size_;
    std::vector<std::uint64_t> address_;
    std::vector<StreamId> stream_;
    std::vector<std::uint32_t> stack_;
    std::vector<std::uint32_t> aux_;
    std::vector<std::uint32_t> tag_;
    std::vector<std::uint16_t> device_;
    std::vector<std::uint8_t> flags_;

    std::vector<std::uint16_t> place_;    // of each event's slot in the list of slots
    std::vector<std::uint8_t> first_;     // 1 if the event is the first with its slot
    std::vector<std::uint64_t> numbers_;  // a column, widened
    std::vector<std::uint64_t> chosen_;   // those of it that are stored
    std::vector<std::uint64_t> last_;     // by place of slot: the value so far
    std::vector<std::uint8_t> kinds_;     // the kinds that appear, sorted
    std::array<KindCensus, kKinds> census_{};
};

}  // namespace tidemark::tmk
