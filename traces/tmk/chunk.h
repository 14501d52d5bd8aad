// Chunk: up to kChunkEvents consecutive events as columns, readable without any other chunk.
//
// `kind` and `time` are plain streams. `slot` is a position in the list of the chunk's slots, in
// order of appearance. Each other column defines which events store a number and where the rest get
// theirs: from nowhere (one value for all), from the kind of event, or from the previous event with
// the same slot (the address of a `free` is that of its `allocate`).
#pragma once

#include <algorithm>
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

// Upper bounds of the slots, streams, ... that events name.
struct Limits {
    std::uint64_t slots = 0;
    std::uint64_t streams = 0;
    std::uint64_t devices = 0;
    std::uint64_t stacks = 0;
    std::uint64_t strings = 0;

    void widen(const Limits& other) {
        slots = std::max(slots, other.slots);
        streams = std::max(streams, other.streams);
        devices = std::max(devices, other.devices);
        stacks = std::max(stacks, other.stacks);
        strings = std::max(strings, other.strings);
    }
};

// Encodes chunks, one after the other. Keeps its memory for the next one. Not thread-safe.
class ChunkEncoder {
  public:
    ChunkEncoder() : table_(kTableSlots), last_(kChunkEvents) {}

    // The smallest limits for all events that have been encoded.
    const Limits& limits() const { return limits_; }

    // Writes `events` (1 to kChunkEvents, the first of them number `first_event` of the trace) as a
    // chunk's payload and returns its header. The payload depends only on the arguments.
    ChunkHeader encode(std::span<const TraceEvent> events, std::uint64_t first_event,
                       ByteWriter& target);

  private:
    // What is known of the events of one kind while a column's layout is chosen.
    struct KindCensus {
        std::uint32_t events = 0;
        std::uint32_t first_of_slot = 0;
        std::uint64_t value = 0;   // of the first event
        bool constant = true;      // all events have `value`
        bool follows_slot = true;  // all except the first of a slot repeat the slot's value
    };

    struct LayoutChoice {
        Layout layout = Layout::every;
        std::uint64_t constant = 0;
        std::size_t stored = 0;
        KindSet stores{};  // kinds whose events store a number
    };

    static constexpr std::size_t kTableSlots = 2 * kChunkEvents;

    void find_varying();
    template <class T>
    bool varies(T TraceEvent::*field) const;
    template <class T>
    void extract(T TraceEvent::*field);
    template <class T>
    void put_column(T TraceEvent::*field, Attempts attempts, ByteWriter& target,
                    std::uint64_t* limit = nullptr);
    void put_kinds(ByteWriter& target);
    void put_slots(ByteWriter& target);
    void add_named_strings();
    void take_census();
    LayoutChoice by_kind() const;
    LayoutChoice by_slot() const;
    void put_numbers(const LayoutChoice& choice, Attempts attempts, ByteWriter& target);

    StreamEncoder streams_;
    Limits limits_;
    std::span<const TraceEvent> events_;
    TraceEvent varying_;                   // its fields have the bits in which events differ
    std::vector<std::uint8_t> kind_;       // of each event
    std::vector<std::uint32_t> slots_;     // in order of appearance
    std::vector<std::uint32_t> table_;     // hash table: position in `slots_` + 1; 0 = empty
    std::vector<std::uint16_t> position_;  // of each event's slot in the list of slots
    std::vector<std::uint8_t> first_;      // 1 if the event is the first with its slot
    std::vector<std::uint64_t> numbers_;   // a column, widened
    std::vector<std::uint64_t> chosen_;    // those of it that are stored
    std::vector<std::uint64_t> last_;      // by position of slot: the value so far
    std::vector<std::uint8_t> kinds_;      // the kinds that appear, sorted
    std::array<KindCensus, kKinds> census_{};
};

}  // namespace tidemark::tmk
