// GpuTimes: when the GPU ran what was launched, as CUPTI's activity records say it afterwards: each
// becomes an `execution` of the recording (docs/format-live.md), joined with its launch by the
// number that CUPTI gives both. A launch whose record never comes has none: CUPTI had no room for
// it, or the program was killed before.
//
// CUPTI's clock becomes that of the recording by pairs of readings, a new one for each buffer.
//
// Thread-safe. A launch costs its thread about 10 ns, on top of CUPTI's own time; CUPTI's thread
// reads the records.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "replay/inject/brief_lock.h"
#include "replay/inject/cupti_activities.h"
#include "replay/inject/memory_events.h"

namespace tidemark::inject {

// A launch that was recorded, as its executions will name it.
struct RecordedLaunch {
    std::uint32_t correlation = 0;  // CUPTI's number of the call; 0: none
    std::uint32_t launch = 0;
    std::uint64_t stream = 0;
    std::uint32_t tag = 0;
    std::uint8_t device = 0;
    bool is_graph = false;  // its kernels have names of their own
};

class GpuTimes {
  public:
    // `memory` outlives it.
    explicit GpuTimes(MemoryEvents& memory) : memory_(memory) {}

    // CUPTI reports what is launched from now on. Once, before calls are reported. Errors: as
    // CuptiActivities::start.
    Result<void> start(const Cupti& cupti);

    bool started() const { return started_.load(std::memory_order_acquire); }

    // After its uses.
    void launched(const RecordedLaunch& launch) {
        if (!started() || launch.correlation == 0)
            return;
        RecordedLaunch& slot = launches_[launch.correlation % launches_.size()];
        const std::lock_guard lock(lock_);
        slot = launch;
    }

    // Takes the records that CUPTI has not returned yet. Not within a callback of CUPTI.
    void finish();

    // A buffer that CUPTI returns. O(records).
    void take(cuda::CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
              std::size_t filled);

  private:
    // In the order of calls, CUPTI's numbers rise: of more launches that wait for the GPU at a time
    // the oldest are forgotten.
    static constexpr std::size_t kLaunches = std::size_t{1} << 17U;

    struct Late {
        TimedActivity activity;
        std::uint32_t tag = 0;
    };

    std::optional<RecordedLaunch> find(std::uint32_t correlation);
    // False: the launch isn't known, or not yet.
    bool record(const TimedActivity& activity, std::uint32_t tag, Nanoseconds offset);
    std::uint32_t tag_of(const char* kernel);
    Nanoseconds offset() const;
    void pause_after(std::size_t records);
    void record_late(Nanoseconds offset);
    void keep_late(const Late& late);

    MemoryEvents& memory_;
    std::optional<CuptiActivities> cupti_;
    std::atomic<bool> started_ = false;
    BriefLock lock_;  // of launches_
    std::vector<RecordedLaunch> launches_;
    std::mutex mutex_;  // of what follows
    std::unordered_map<std::string, std::uint32_t> tags_;
    std::vector<Late> late_;  // of calls that had not come back: looked for again
    std::size_t unpaused_ = 0;
};

}  // namespace tidemark::inject
