// How a program describes the buffers of a TieredStore, its accesses and reservations, and the
// reports that it gets. Plain values; everything left out has a sensible default:
//
//     store.create({.size = 1_GiB, .space = {Tier::gpu, 0}, .patient = true});
//     store.acquire(buffer, {.space = {Tier::gpu, 0}, .mode = AccessMode::write, .stream = s});
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/device/address_range.h"
#include "core/tiers/engine/gate.h"
#include "core/tiers/engine/transfer.h"
#include "core/tiers/machine/machine.h"
#include "core/tiers/spaces/reservation.h"
#include "core/tiers/victims/victim_policy.h"

namespace tidemark {

// Names a buffer of a store. It stays harmless when the buffer is gone: ids are reused, but
// generations are not, and requests for a buffer that has ended are answered with `not_found`.
struct BufferRef {
    BufferId id{};
    std::uint32_t generation = 0;

    friend bool operator==(const BufferRef&, const BufferRef&) = default;
};

struct BufferSpec {
    Bytes size = 0;                       // not 0
    SpaceId space = {};                   // where it starts; its content is undefined there
    std::vector<SpaceId> otherwise = {};  // where it may start if that is full, in this order
    ReservationId reservation = {};       // of the first space: pays for it there
    std::int32_t hint = 0;                // see BufferFacts::hint
    bool may_spill = true;                // false: stays where it is (memory of captured graphs)
    bool patient = false;                 // waits for room instead of being refused
    // It holds nothing worth keeping before its first write; before that, it leaves at no cost.
    bool blank = false;
    std::uint32_t tag = 0;  // for forecasts that know the future: its first use
    // For a GPU space: the addresses that the buffer has whenever it is there. Its size is theirs.
    std::shared_ptr<const AddressRange> range = {};
    // With it, the buffer may be pinned there (TieredStore::pin_all), also without the store.
    std::shared_ptr<Gate> gate = {};
};

enum class AccessMode : std::uint8_t {
    read,       // shared
    write,      // alone (except pins in the same space); other copies become void
    overwrite,  // as write, when the content doesn't matter: nothing is copied
    pin,        // the buffer stays in that space; says nothing about who reads or writes
    share,      // as write, but not alone: others that share or pin it there may write too
    prefetch,   // brought there and released immediately
};

inline bool writes(AccessMode mode) {
    return mode == AccessMode::write || mode == AccessMode::overwrite || mode == AccessMode::share;
}

struct AccessSpec {
    SpaceId space = {};
    AccessMode mode = AccessMode::read;
    StreamId stream = StreamId::default_stream;  // of a GPU: where the work will be queued
    ReservationId reservation = {};              // of that space: pays for the location there
    bool patient = false;   // waits for room until others release some, instead of being refused
    bool make_room = true;  // false: only if there is room, below the start of spilling
};

// One buffer of several that are accessed together.
struct BufferUse {
    BufferRef buffer;
    AccessMode mode = AccessMode::read;  // not prefetch
    std::uint32_t tag = 0;               // for forecasts that know the future: which use this is
};

// A requested reservation, in any one of several spaces.
struct ReservationSpec {
    std::vector<SpaceId> spaces;  // the first that has it, in this order
    Bytes size = 0;
    bool up_to = false;         // as much of it as is not reserved by others, instead of all
    bool patient = false;       // waits, in fair order, instead of being refused
    std::int32_t priority = 0;  // higher goes first
    OwnerId owner = OwnerId::nobody;
};

enum class FreeEnd : std::uint8_t {
    enough,        // at least the requested size
    nothing_left,  // everything that could leave has left
    shut_down,
    withdrawn,  // nobody waits for it any longer
};

// The result of "free N bytes now".
struct FreeReport {
    SpaceId space;
    Bytes requested = 0;
    // How much `used` of the space fell for this request: bytes that went back to an existing
    // reservation, or never belonged to the store, do not count.
    Bytes freed = 0;
    FreeEnd end = FreeEnd::enough;
    // Why not more: bytes of buffers that are still there at the end, by what keeps them.
    Bytes in_use = 0;    // accessed, pinned, moving or waited for
    Bytes kept = 0;      // not to be spilled
    Bytes reserved = 0;  // leaving would only return them to an existing reservation
    Bytes no_room = 0;   // could leave, but there's no room below, or no space below
    std::uint64_t failed_copies = 0;
    std::optional<Error> last_failure;

    // "gpu:0: freed 1 GiB of 2 GiB: 512 MiB in use, ...".
    std::string text() const;
};

// What the store has done so far, for one space.
struct SpillCounters {
    Bytes copied_out = 0;         // to slower tiers
    Bytes copied_in = 0;          // from them
    Bytes copied_in_vain = 0;     // in either direction, when nobody needed the copy any longer
    Bytes dropped_clean = 0;      // left without a copy
    Bytes prefetched = 0;         // part of copied_in, before a request, because of a forecast
    Bytes wasted = 0;             // part of that, which left again unused
    Bytes used = 0;               // of buffers accessed, every access counted
    Bytes hit = 0;                // part of these that were there, or had nothing to fetch
    Bytes late = 0;               // what was on its way already
    std::uint64_t evictions = 0;  // buffers that left to make room
    std::uint64_t spills = 0;     // copies out that were done
    std::uint64_t fetches = 0;    // copies in that were done
    std::uint64_t failed = 0;     // copies to or from here that failed
    std::uint64_t cancelled = 0;
    std::uint64_t hits = 0;  // accesses that found the buffer here
    std::uint64_t misses = 0;
};

}  // namespace tidemark
