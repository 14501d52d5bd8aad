// IdEvents: allocations and frees of a log that knows each by a number of its own.
//
// Gives each its slot, and ends lives that the log forgot to end. What is odd is counted, or
// refused where `strict`. `where()` says where in the file, for the refusal.
#pragma once

#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "core/base/hash_index.h"
#include "core/base/result.h"
#include "core/base/vacant_ids.h"
#include "traces/model/event_buffer.h"
#include "traces/model/trace.h"

namespace tidemark::formats {

class IdEvents {
  public:
    // Both must outlive it.
    IdEvents(EventBuffer& events, Anomalies& anomalies, bool strict)
        : events_(events), anomalies_(anomalies), strict_(strict) {}

    std::uint32_t slot_count() const { return slots_.count(); }

    template <class Where>
    Result<void> allocate(TraceEvent event, std::uint64_t id, Where where) {
        if (event.size == 0 && event.address == 0)
            return odd(anomalies_.zero_sizes, "a request for 0 bytes, which has no address", where);
        if (event.size >= kLargestRequest)
            TM_TRY(odd(anomalies_.giant_sizes, "an allocation of 2^60 bytes or more", where));
        event.slot = slots_.take();
        const std::uint32_t before = living_.exchange(id, event.slot);
        if (before != kNoSlot && before != kFreed) {
            TM_TRY(odd(anomalies_.reused_live,
                       fmt::format("{} is allocated while it is still live", id), where));
            TraceEvent end = event;
            end.kind = EventKind::free;
            end.slot = before;
            end.size = 0;
            TM_TRY(events_.add(end));
            slots_.give_back(before);
        }
        event.kind = EventKind::allocate;
        return events_.add(event);
    }

    template <class Where>
    Result<void> free(TraceEvent event, std::uint64_t id, Where where) {
        if (event.address == 0)
            return {};  // of a request that was refused
        event.kind = EventKind::free;
        event.size = 0;
        const std::uint32_t slot = living_.exchange(id, kFreed);
        if (slot == kNoSlot) {
            TM_TRY(odd(anomalies_.unknown_frees, fmt::format("{} was never allocated", id), where));
        } else if (slot == kFreed) {
            TM_TRY(odd(anomalies_.double_frees, fmt::format("{} is freed twice", id), where));
        } else {
            event.slot = slot;
            slots_.give_back(slot);
        }
        return events_.add(event);
    }

  private:
    static constexpr std::uint32_t kFreed = kNoSlot - 1;

    template <class Where>
    Result<void> odd(std::uint64_t& counter, std::string what, Where where) {
        ++counter;
        if (strict_)
            return fail(ErrorCode::bad_input, std::move(what), where(),
                        "without --strict it is counted and the reading goes on");
        return {};
    }

    EventBuffer& events_;
    Anomalies& anomalies_;
    bool strict_;
    HashIndex living_;  // id -> slot, or kFreed
    VacantIds slots_;
};

}  // namespace tidemark::formats
