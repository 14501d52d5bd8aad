// The input and output of a SpillEngine: options, answers to requests, and work to carry out. Plain
// values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/tiers/engine/tiered_buffer.h"
#include "core/tiers/engine/transfer.h"
#include "core/tiers/spaces/reservation.h"
#include "core/tiers/victims/forecast.h"
#include "core/tiers/victims/victim_policy.h"

namespace tidemark {

enum class RequestId : std::uint64_t { none = 0 };

struct SpillOptions {
    VictimSpec victims;      // of every space that something can leave; default: lru
    bool keep_clean = true;  // what is copied between tiers stays in both until it is written
    Bytes background_in_flight = 256_MiB;   // of spilling in the background, at a time, per space
    std::uint32_t allocation_attempts = 3;  // when the memory itself refuses what was charged
    std::shared_ptr<Forecast> forecast;     // null: nobody knows the future
    bool guesses = true;                    // the forecast may be wrong
    bool prefetch = false;                  // brings back and sends away according to it
};

// The answer to a request. `refusal` tells whether it was granted.
struct SpillAnswer {
    RequestId request{};
    std::optional<std::uint32_t> group = {};  // granted accesses: to accept or decline
    std::optional<Error> refusal = {};
    BufferRef buffer = {};               // of create,
    BlockLocation location = {};         // and where it is
    FreeReport freed = {};               // of free_bytes
    MemoryReservation reservation = {};  // of reserve
};

// The state of a buffer that has a gate, in its own space.
struct BufferEvent {
    enum class Kind : std::uint8_t {
        leaving,    // its bytes are being copied away
        left,       // they are elsewhere
        returning,  // room for them has been found
        returned,   // they are there
        failed,     // what had started has failed: they are where they were
    };

    BufferRef buffer;
    Kind kind = Kind::leaving;
};

// Work to carry out, outside any lock, by one thread at a time.
struct SpillWork {
    // Allocate a location: answer with placed().
    struct Making {
        BufferRef buffer;
        SpaceId space;
        Bytes size = 0;
        std::shared_ptr<const AddressRange> range;  // null: anywhere
    };

    // Begin a copy: answer with started(), and later with copied().
    struct Starting {
        BufferRef buffer;
        CopyOrder order;
    };

    // Free the location, if there is one, then end the charge: answer with left().
    struct Leaving {
        std::uint64_t deferred = 0;
        std::optional<BlockLocation> location;
        Charge charge;
        BufferId buffer{};
        bool dropped = false;  // it left to make room, without a copy
    };

    std::vector<Making> making;
    std::vector<Starting> starting;
    std::vector<CopyId> cancelling;
    std::vector<Leaving> leaving;
    std::vector<SpillAnswer> answers;
    std::vector<BufferEvent> events;

    bool empty() const {
        return making.empty() && starting.empty() && cancelling.empty() && leaving.empty() &&
               answers.empty() && events.empty();
    }

    void clear() {
        making.clear();
        starting.clear();
        cancelling.clear();
        leaving.clear();
        answers.clear();
        events.clear();
    }
};

}  // namespace tidemark
