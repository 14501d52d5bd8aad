// Forecast: what a program is expected to do next with its buffers. Victim policies ask it when a
// buffer is used again; prefetching asks it which operations are next.
//
// Time is a *position*: a count that grows with the program's operations. Thread-safety: none.
#pragma once

#include <cstdint>

#include "core/tiers/victims/victim_policy.h"

namespace tidemark {

// One expected operation.
struct ExpectedUse {
    enum class Kind : std::uint8_t {
        use,      // of `buffer`, which is live now
        other,    // an allocation, or a use of a buffer that isn't live yet: nothing to fetch
        unknown,  // nothing is known from this position on
    };
    Kind kind = Kind::unknown;
    BufferId buffer{};
    bool reads = false;  // its content is needed, not only its room
};

// How good a forecast was: operations that it predicted rightly and wrongly, and those that it did
// not predict.
struct ForecastScore {
    std::uint64_t right = 0;
    std::uint64_t wrong = 0;
    std::uint64_t silent = 0;
};

// A use as it happens. The last field is only for forecasts that know the future.
struct HappenedUse {
    BufferId buffer{};
    bool reads = false;
    bool writes = false;
    std::uint32_t tag = 0;  // which use it is, counted by its program
};

class Forecast {
  public:
    Forecast() = default;
    Forecast(const Forecast&) = delete;
    Forecast& operator=(const Forecast&) = delete;
    virtual ~Forecast() = default;

    // What happens, in the program's order. `tag`: the buffer's first use, counted by its program;
    // for forecasts that know the future. Each O(1), amortised.
    virtual void allocated(BufferId id, Bytes size, std::uint32_t tag) = 0;
    virtual void used(const HappenedUse& use) = 0;
    virtual void freed(BufferId id) = 0;
    virtual void marked(std::uint64_t name_hash) = 0;  // a step, a module: equal names, equal hash

    // The position reached. O(1), as all below.
    virtual std::uint64_t now() const = 0;

    // Where a live buffer is used next: a position > now(), kNeverUsed or kUnknownUse.
    virtual std::uint64_t next_use(BufferId id) const = 0;

    // Where it is freed, if it is not used again: as for next_use. Otherwise kUnknownUse.
    virtual std::uint64_t end_of(BufferId id) const = 0;

    // What is expected at `position` > now().
    virtual ExpectedUse expected(std::uint64_t position) const = 0;

    // How many bytes more than now will be live at once at some time before `position`, as far as
    // is known; 0 if no more.
    virtual Bytes growth_until(std::uint64_t position) const = 0;

    virtual ForecastScore score() const = 0;
};

}  // namespace tidemark
