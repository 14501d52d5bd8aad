// The clock of running programs: a counter of the processor, read in a few nanoseconds, and the
// data to convert it into time. This is the second user of the wall clock, after
// core/base/stopwatch.h, because asking the system costs as much as a whole event may (25 ns). It
// measures only running programs; no result of a replay ever depends on it. Thread-safe, never
// fails.
#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include "core/base/units.h"

namespace tidemark::live {

// The system's monotonic clock; its start is unknown.
inline Nanoseconds monotonic_now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// Since the Unix epoch.
inline Nanoseconds unix_now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

// Whether the processor's counter runs at constant speed, whatever the processor does.
inline bool has_steady_counter() {
#if defined(__x86_64__)
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    return __get_cpuid(0x80000007U, &a, &b, &c, &d) != 0 && (d & (1U << 8U)) != 0;
#else
    return false;
#endif
}

// Ticks of the counter if the processor has a steady one (`steady`), else nanoseconds.
inline std::uint64_t ticks_now([[maybe_unused]] bool steady) {
#if defined(__x86_64__)
    if (steady) [[likely]]
        return __rdtsc();
#endif
    return static_cast<std::uint64_t>(monotonic_now());
}

// One moment on both clocks.
struct ClockPair {
    std::uint64_t ticks = 0;
    Nanoseconds time = 0;  // of monotonic_now()

    static ClockPair now(bool steady) { return {ticks_now(steady), monotonic_now()}; }
};

// Turns ticks into nanoseconds since a start, along the line through two pairs.
class TickScale {
  public:
    TickScale() = default;

    // `later` must not be before `earlier`; if they are the same, ticks count as nanoseconds. Times
    // are from 0 to 2^61.
    TickScale(ClockPair earlier, ClockPair later, Nanoseconds start) {
        const std::uint64_t ticks = later.ticks - earlier.ticks;
        if (later.ticks > earlier.ticks && later.time > earlier.time)
            slope_ = static_cast<double>(later.time - earlier.time) / static_cast<double>(ticks);
        origin_ = later.ticks;
        offset_ = later.time - start;
    }

    // Never negative; at most about 146 years.
    Nanoseconds time(std::uint64_t ticks) const {
        constexpr double kMost = 4.6e18;
        const auto distance = static_cast<double>(static_cast<std::int64_t>(ticks - origin_));
        const double time = static_cast<double>(offset_) + distance * slope_;
        if (!(time > 0))
            return 0;
        return time > kMost ? static_cast<Nanoseconds>(kMost)
                            : offset_ + static_cast<Nanoseconds>(distance * slope_);
    }

  private:
    double slope_ = 1;
    std::uint64_t origin_ = 0;
    Nanoseconds offset_ = 0;
};

}  // namespace tidemark::live
