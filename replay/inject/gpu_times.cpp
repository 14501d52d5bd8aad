// Buffers, clocks, and joining by number.
#include "replay/inject/gpu_times.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "replay/inject/kept_errno.h"
#include "replay/inject/kernels.h"
#include "traces/live/clock.h"

namespace tidemark::inject {
namespace {

// Small, because CUPTI returns only full ones while the program runs: about 700 kernels.
constexpr std::size_t kBufferSize = 120 * 1024;
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kMostLate = 4096;
// What a ring has room for in the time in which the recorder empties it.
constexpr std::size_t kRecordsBetweenPauses = 8192;
constexpr std::chrono::milliseconds kPause{5};

// CUPTI's callbacks have no argument for our data.
std::atomic<GpuTimes*> the_times = nullptr;

void on_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* most) noexcept {
    const KeptErrno error;
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, kBufferSize));
    *size = *buffer == nullptr ? 0 : kBufferSize;
    *most = 0;  // as many as it has room for
}

void on_completed(cuda::CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                  std::size_t /*size*/, std::size_t filled) noexcept {
    const KeptErrno error;
    GpuTimes* const times = the_times.load(std::memory_order_acquire);
    try {
        if (times != nullptr)
            times->take(context, stream, buffer, filled);
    } catch (...) {
        the_times.store(nullptr);  // no memory: launches are without times from now on
    }
    std::free(buffer);
}

}  // namespace

Result<void> GpuTimes::start(const Cupti& cupti) {
    launches_.resize(kLaunches);
    the_times.store(this, std::memory_order_release);
    Result<CuptiActivities> activities = CuptiActivities::start(cupti, on_requested, on_completed);
    if (!activities) {
        the_times.store(nullptr);
        launches_ = {};
        return tl::make_unexpected(activities.error());
    }
    {
        const std::lock_guard lock(mutex_);
        cupti_ = *activities;
    }
    started_.store(true, std::memory_order_release);
    return {};
}

std::optional<RecordedLaunch> GpuTimes::find(std::uint32_t correlation) {
    const std::lock_guard lock(lock_);
    const RecordedLaunch& slot = launches_[correlation % launches_.size()];
    if (slot.correlation != correlation || slot.launch == 0)
        return std::nullopt;
    return slot;
}

// What CUPTI's clock shows more than the recording's: of some pairs of readings the closest.
Nanoseconds GpuTimes::offset() const {
    constexpr int kReadings = 5;
    Nanoseconds closest = 0;
    Nanoseconds shortest = INT64_MAX;
    for (int i = 0; i < kReadings; ++i) {
        const Nanoseconds before = live::monotonic_now();
        const auto there = static_cast<Nanoseconds>(cupti_->now());
        const Nanoseconds length = live::monotonic_now() - before;
        if (length < shortest) {
            shortest = length;
            closest = there - (before + length / 2);
        }
    }
    return closest + memory_.start_time();
}

std::uint32_t GpuTimes::tag_of(const char* kernel) {
    const auto [known, is_new] = tags_.try_emplace(kernel, 0);
    if (is_new || known->second == 0)
        known->second = memory_.string(short_kernel_name(kernel));
    return known->second;
}

bool GpuTimes::record(const TimedActivity& activity, std::uint32_t tag, Nanoseconds offset) {
    const std::optional<RecordedLaunch> launch = find(activity.correlation);
    if (!launch)
        return false;
    const auto begin = static_cast<Nanoseconds>(activity.begin) - offset;
    memory_.put({.kind = live::RecordKind::execution,
                 .device = launch->device,
                 .stream = launch->stream,
                 .address = static_cast<std::uint64_t>(std::max<Nanoseconds>(begin, 0)),
                 .size = activity.end - activity.begin,
                 .extra = launch->launch,
                 .tag = launch->is_graph && tag != 0 ? tag : launch->tag});
    return true;
}

void GpuTimes::take(cuda::CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                    std::size_t filled) {
    const std::lock_guard lock(mutex_);
    if (!cupti_ || !memory_.started())
        return;
    const Nanoseconds offset = this->offset();
    record_late(offset);
    Activity* next = nullptr;
    std::size_t count = 0;
    for (; filled != 0 && cupti_->next(buffer, filled, next); ++count) {
        const std::optional<TimedActivity> activity = timed(*next);
        if (!activity || activity->begin == 0 || activity->end < activity->begin)
            continue;
        const std::optional<RecordedLaunch> launch = find(activity->correlation);
        const bool named = activity->kernel != nullptr && (!launch || launch->is_graph);
        const std::uint32_t tag = named ? tag_of(activity->kernel) : 0;
        if (!record(*activity, tag, offset))
            keep_late({*activity, tag});
    }
    if (const std::size_t dropped = cupti_->dropped(context, stream); dropped != 0)
        memory_.mark(fmt::format("CUPTI had no room for the GPU times of {} launches", dropped));
    pause_after(count);
}

// A launch is recorded when its call returns, and its thread may be delayed for long before that.
void GpuTimes::record_late(Nanoseconds offset) {
    std::erase_if(late_, [&](const Late& late) { return record(late.activity, late.tag, offset); });
}

// Those of calls that are never recorded make room for others, the oldest first.
void GpuTimes::keep_late(const Late& late) {
    if (late_.size() == kMostLate)
        late_.erase(late_.begin(), late_.begin() + kMostLate / 2);
    late_.push_back(late);
}

// On CUPTI's thread, or when the program ends: nothing waits for it.
void GpuTimes::pause_after(std::size_t records) {
    unpaused_ += records;
    if (unpaused_ < kRecordsBetweenPauses)
        return;
    unpaused_ = 0;
    std::this_thread::sleep_for(kPause);
}

void GpuTimes::finish() {
    if (!started_.load() || the_times.load() == nullptr)
        return;
    cupti_->flush();
    const std::lock_guard lock(mutex_);
    if (!late_.empty() && memory_.started())
        record_late(offset());
}

}  // namespace tidemark::inject
