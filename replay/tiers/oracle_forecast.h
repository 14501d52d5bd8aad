// OracleForecast: knows the future uses, because it reads them from the trace. For bounds, and to
// see what a perfect forecast would be worth; no real program has one.
//
// Positions are uses, in the order in which the program lists them. Not thread-safe.
#pragma once

#include <vector>

#include "core/tiers/victims/forecast.h"
#include "core/tiers/victims/live_record.h"
#include "replay/tiers/tier_program.h"

namespace tidemark {

class OracleForecast final : public Forecast {
  public:
    // `program` must outlive it. O(steps).
    explicit OracleForecast(const TierProgram& program);

    void allocated(BufferId id, Bytes size, std::uint32_t tag) override;
    void used(const HappenedUse& use) override;
    void freed(BufferId id) override;

    void marked(std::uint64_t /*name_hash*/) override {}

    std::uint64_t now() const override { return now_; }

    std::uint64_t next_use(BufferId id) const override;
    std::uint64_t end_of(BufferId id) const override;
    ExpectedUse expected(std::uint64_t position) const override;
    Bytes growth_until(std::uint64_t position) const override;

    ForecastScore score() const override { return {now_, 0, 0}; }

  private:
    const TierProgram& program_;
    LiveRecord live_;                  // after each use, by the recorded order
    std::vector<BufferId> played_by_;  // by the program's number of a buffer: the live one
    std::vector<std::uint32_t> next_;  // by buffer: its next use; kNoUse: none, or not alive
    std::vector<std::uint32_t> ends_;  // by use, if it is the last: uses before the free
    std::vector<std::uint32_t> last_;  // by buffer: its latest use
    std::uint64_t now_ = 0;            // uses so far
};

}  // namespace tidemark
