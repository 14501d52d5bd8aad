// Transfers: how bytes of buffers move between the spaces of a machine. The spill engine decides
// what goes where and when; this interface makes locations for it, copies, and reports how copies
// ended.
//
// A *location* is where the bytes of one buffer are in one space: memory of a GPU, blocks of pinned
// host memory, a file. A *copy* fills one location from another, in chunks and in the background,
// and ends exactly once, with `done`, `cancelled` or `failed`. Before its end nobody else may free
// or write either location. A copy never refuses: any failure is its end.
//
// Implementations: backends/tiers/device_transfers.h (a Device's streams, pinned blocks, disk
// stores) and, for tests, tests/support/manual_transfers.h (plain memory, completed by hand).
//
// Thread-safety: `allocate`, `free`, `record`, `order`, `passed`, `pieces` may be called from any
// thread. `start`, `cancel` and `poll` by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"
#include "core/device/address_range.h"
#include "core/tiers/machine/machine.h"
#include "core/tiers/victims/victim_policy.h"

namespace tidemark {

enum class LocationId : std::uint64_t {};  // of its space, as the Transfers calls it
enum class CopyId : std::uint64_t {};      // never reused

constexpr std::uint64_t to_integer(LocationId id) {
    return static_cast<std::uint64_t>(id);
}

constexpr std::uint64_t to_integer(CopyId id) {
    return static_cast<std::uint64_t>(id);
}

// Room for the bytes of one buffer in one space. A plain value; its owner frees it once.
struct BlockLocation {
    SpaceId space;
    LocationId id{};
    Bytes size = 0;

    friend bool operator==(const BlockLocation&, const BlockLocation&) = default;
};

// A point in the program's own work on a buffer, queued on a stream of a GPU.
struct UsePoint {
    SpaceId space;
    StreamId stream = StreamId::default_stream;
    EventId event{};
    bool wrote = false;
};

struct CopyOrder {
    BlockLocation source;
    BlockLocation target;
    Bytes size = 0;                    // of the bytes, at most the locations'
    BufferId buffer{};                 // whose, for reports
    std::vector<UsePoint> after = {};  // work on the source that has to finish before
};

enum class CopyEnd : std::uint8_t { done, cancelled, failed };

struct CopyDone {
    CopyId copy{};
    CopyEnd end = CopyEnd::done;
    Error error;  // failed: why
};

class Transfers {
  public:
    Transfers() = default;
    Transfers(const Transfers&) = delete;
    Transfers& operator=(const Transfers&) = delete;

    // First ends what is in flight, waiting for the devices.
    virtual ~Transfers() = default;

    // Room for `size` bytes (not 0), which the caller has charged to the space. May take long (it
    // pins memory, calls the driver): call it without locks. Errors: no_space, which is ordinary,
    // if the memory itself is full; others if something failed.
    virtual Result<BlockLocation> allocate(SpaceId space, Bytes size) = 0;

    // The same at addresses that are kept for it, on a GPU; no other location is there. `size` is
    // theirs. Errors: as allocate; unsupported.
    virtual Result<BlockLocation> allocate_at(SpaceId space,
                                              std::shared_ptr<const AddressRange> range);

    // Frees a location that no copy uses; the program's work on it has passed. A location that
    // cannot be freed is given up with its bytes, which the implementation counts.
    virtual void free(const BlockLocation& location) = 0;

    // Where the bytes are for the program, in order: one range on a GPU, a range for each block on
    // the host. Empty on disk.
    virtual std::vector<Range> pieces(const BlockLocation& location) const = 0;

    // Order with the program's work. `record` marks the current end of the work queued on `stream`;
    // `order` makes what is queued on `stream` from now on wait for `points`; `passed` checks
    // without waiting. A point whose device is lost has passed.
    virtual Result<UsePoint> record(SpaceId space, StreamId stream, bool wrote) = 0;
    virtual Result<void> order(SpaceId space, StreamId stream,
                               std::span<const UsePoint> points) = 0;
    virtual bool passed(const UsePoint& point) = 0;

    // Starts a copy. Its end comes with a later poll(), even if it fails immediately.
    virtual CopyId start(CopyOrder order) = 0;

    // Requests that a copy ends early; it still ends by poll(), and may complete after all. Unknown
    // copies (ended already) are not an error.
    virtual void cancel(CopyId copy) = 0;

    // Advances the copies, without waiting, and appends those that ended. O(copies in flight).
    virtual void poll(std::vector<CopyDone>& ended) = 0;
};

}  // namespace tidemark
