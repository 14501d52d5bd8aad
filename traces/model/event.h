// TraceEvent: one thing that a program did to memory, independent of where the old allocator put
// it.
//
// An allocation is identified by its *slot*: a small number that is unique among the allocations
// that are live at the same time and is reused afterwards (last freed, first reused). A table
// indexed by slot has the size of the largest live set, however long the trace is. Readers resolve
// addresses to slots once (core/base/vacant_ids.h).
//
// What the recorded system decided (addresses, segments, maps) is kept as *truth*: the `address` of
// each event, and the kinds from segment_alloc on, which replays skip and `verify` reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "core/base/units.h"

namespace tidemark {

enum class EventKind : std::uint8_t {
    // What the program did. Order and numbers are part of the file format: append only.
    allocate = 0,  // slot, size (requested), stream, aux = pool, address = truth
    free = 1,      // slot: the program frees it and the memory is free immediately (stream order)
    retire = 2,    // slot: the program frees it, the device may still use it; `finish` follows
    finish = 3,    // slot: the device has finished with a retired allocation
    // slot, stream, aux = kernel (launch id), flags = kReads | kWrites | kPerhaps. Without kReads
    // and kWrites: a launch that uses no known slot; with kPerhaps, one of unknown uses.
    use = 4,
    record_use = 5,    // slot, stream: will be used on that stream too
    record_event = 6,  // aux = event name's number, stream
    wait_event = 7,    // aux, stream: the stream waits for the event
    synchronize = 8,   // stream; flags & kWholeDevice: the device
    range_begin = 9,   // aux = string: step, module, operator, annotation
    range_end = 10,    // aux = string
    mark = 11,         // aux = string: a point
    pool_begin = 12,   // aux = pool, stream
    pool_end = 13,
    reserve = 14,  // aux = task, size: a task requests a reservation
    release = 15,  // aux = task, size
    move = 16,     // slot, flags = tier
    // size; a request of the program failed; address = bytes the device had free
    out_of_memory = 17,
    // The program emptied the caches (as far as the source shows). aux = a private pool that nobody
    // will use again, 0 = none; flags: kEndsPool, kTrimsNothing.
    trim = 18,

    // Truth: what the recorded system did. Engines skip these.
    segment_alloc = 32,  // address, size, stream, aux = pool
    segment_free = 33,
    segment_map = 34,
    segment_unmap = 35,
    block = 36,          // preamble only: the next `allocate` sits in a block of this size
    final_segment = 37,  // state at the end: address, size, stream, aux = pool, flags
    final_block = 38,    // address, size of the block, slot if it is live, flags
    snapshot = 39,       // size = active bytes at an earlier snapshot
    // aux = a launch (`use`), stream, tag = name: the device ran it, or a part of it, from
    // `address` (ns, as `time`) on for `size` ns. After the launch's uses, at the time when that
    // was known.
    execution = 40,
    pool_held = 41,  // size = what the driver's pool held of the device's memory, from here on
    // tag = the operator that makes the device's next `allocate`, and the shapes of its arguments
    operation = 42,
};

constexpr bool is_truth(EventKind kind) {
    return kind >= EventKind::segment_alloc;
}

// "allocate", "segment_alloc", ...; "unknown" for a number that this version doesn't know.
std::string_view to_text(EventKind kind);

// `slot` of events that aren't about an allocation, or are about one that the trace never
// introduced.
constexpr std::uint32_t kNoSlot = 0xffffffffU;

// TraceEvent::flags. finish: the device had finished with it when a request had waited for
// everything that was pending free, and failed all the same: the next out_of_memory of the device.
constexpr std::uint8_t kInVain = 1;
constexpr std::uint8_t kReads = 1;         // use
constexpr std::uint8_t kWrites = 2;        // use
constexpr std::uint8_t kPerhaps = 4;       // use: possible; the address may mean something else
constexpr std::uint8_t kWholeDevice = 1;   // synchronize
constexpr std::uint8_t kEndsPool = 1;      // trim: that pool's memory is released now
constexpr std::uint8_t kTrimsNothing = 2;  // trim: only the pool, not the caches
constexpr std::uint8_t kSmallPool = 1;     // final_segment
constexpr std::uint8_t kExpandable = 2;    // segment_*, final_segment
constexpr std::uint8_t kActive = 1;        // final_block: allocated
constexpr std::uint8_t kPending = 2;       // final_block, block: freed, not finished
constexpr std::uint8_t kTierMask = 0x30;  // allocate, move, reserve: 0 device, 0x10 host, 0x20 disk
constexpr std::uint8_t kTierHost = 0x10;
constexpr std::uint8_t kTierDisk = 0x20;
constexpr std::uint8_t kOrDevice = 1;  // reserve: or on the device, if that tier has no room
constexpr std::uint8_t kOrHost = 2;
constexpr std::uint8_t kOrDisk = 4;
constexpr std::uint8_t kPreamble = 0x80;  // live before the trace's first event

// One event as a value: for building traces, and for reading them where speed doesn't matter. In
// bulk, events are columns (EventBatch). The program's stream handles are numbered densely, in
// order of appearance, 0 being the default stream; TraceInfo::streams has the original handles.
struct TraceEvent {
    Nanoseconds time = 0;       // since the trace's first event; never decreasing
    Bytes size = 0;             // as requested by the program; a policy decides about rounding
    std::uint64_t address = 0;  // truth, 0 = not recorded
    std::uint32_t slot = kNoSlot;
    StreamId stream = StreamId::default_stream;
    std::uint32_t stack = 0;  // index into TraceInfo's stacks; 0 = unknown
    std::uint32_t aux = 0;    // by kind: pool, kernel, event, task (numbers) or a string's index
    std::uint32_t tag = 0;    // a string's index: user metadata, tag; 0 = none
    std::uint16_t device = 0;
    EventKind kind = EventKind::allocate;
    std::uint8_t flags = 0;

    friend bool operator==(const TraceEvent&, const TraceEvent&) = default;
};

static_assert(std::is_trivially_copyable_v<TraceEvent> && sizeof(TraceEvent) == 48);

// Consecutive events as columns, owned by whoever returned the batch and valid until its next call.
// Every pointer is valid for `count` elements, even for columns that the trace doesn't have.
struct EventBatch {
    std::size_t count = 0;
    const EventKind* kind = nullptr;
    const std::uint32_t* slot = nullptr;
    const Nanoseconds* time = nullptr;
    const Bytes* size = nullptr;
    const std::uint64_t* address = nullptr;
    const StreamId* stream = nullptr;
    const std::uint32_t* stack = nullptr;
    const std::uint32_t* aux = nullptr;
    const std::uint32_t* tag = nullptr;
    const std::uint16_t* device = nullptr;
    const std::uint8_t* flags = nullptr;

    // `length` events from `begin` on, which must be inside the batch. O(1).
    EventBatch part(std::size_t begin, std::size_t length) const {
        return {length,       kind + begin,    slot + begin,   time + begin,
                size + begin, address + begin, stream + begin, stack + begin,
                aux + begin,  tag + begin,     device + begin, flags + begin};
    }

    // O(1); `i` < count.
    TraceEvent operator[](std::size_t i) const {
        return {time[i], size[i], address[i], slot[i], stream[i], stack[i],
                aux[i],  tag[i],  device[i],  kind[i], flags[i]};
    }
};

}  // namespace tidemark
