// LearnedForecast: expects that what followed last time follows again. Training steps, batches of
// requests and the tasks of a query engine do the same over and over.
//
// It records every operation as a token (what was done, how, and how long ago that buffer was last
// touched; no sizes, so that a longer sequence or a larger batch still counts as the same). It
// looks for the latest position in the past at which the last operations were the same: the longest
// of several windows that is found, by rolling hashes. While the program continues as it did from
// there, the past predicts the future: each buffer plays the part of the corresponding one of last
// time. When an operation differs, the forecast was wrong and counts that (`score`). It steps over
// a few differences, as operations that were inserted, left out or changed this time; when too many
// differ it looks for a position again. While too few of the last operations came as expected, it
// predicts nothing. Prediction by longest matching context, as in PPM compressors (Cleary and
// Witten, 1984).
//
// Deterministic. Memory: 28 bytes an operation, O(operations); at kLongestPast operations it
// forgets the past and starts learning again.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/tiers/victims/forecast.h"
#include "core/tiers/victims/live_record.h"

namespace tidemark {

class LearnedForecast final : public Forecast {
  public:
    LearnedForecast();

    void allocated(BufferId id, Bytes size, std::uint32_t tag) override;
    void used(const HappenedUse& use) override;
    void freed(BufferId id) override;
    void marked(std::uint64_t name_hash) override;

    std::uint64_t now() const override { return base_ + past_.size(); }

    std::uint64_t next_use(BufferId id) const override;
    std::uint64_t end_of(BufferId id) const override;
    ExpectedUse expected(std::uint64_t position) const override;
    Bytes growth_until(std::uint64_t position) const override;

    ForecastScore score() const override { return score_; }

  private:
    static constexpr std::uint32_t kNone = 0xffffffffU;
    static constexpr std::uint32_t kEnded = 0xfffffffeU;
    static constexpr std::size_t kLongestPast = std::size_t{1} << 26U;
    static constexpr std::array<std::uint32_t, 6> kWindows{2, 8, 32, 128, 512, 2048};

    enum class Kind : std::uint8_t { use, allocate, mark };

    // An operation of the past.
    struct Operation {
        std::uint64_t live = 0;  // live bytes after it
        std::uint32_t token = 0;
        std::uint32_t life = kNone;  // whose
        std::uint32_t next = kNone;  // the next operation of the same lifetime; kEnded: none
        std::uint32_t end = kNone;   // then: the first operation after its free
        Kind kind = Kind::use;
        bool reads = false;
        bool writes = false;
    };

    // A buffer from its allocation to its free.
    struct Life {
        std::uint32_t last = kNone;    // its last operation
        std::uint32_t actor = kNone;   // the live buffer that plays its part now
        std::uint32_t buffer = kNone;  // its own number while it is live
        Bytes size = 0;
    };

    // A live buffer.
    struct Living {
        std::uint32_t life = kNone;
        std::uint32_t model = kNone;  // the operation of the past that its last one matched
    };

    // Rolling hashes of the last operations, one table of positions for each window.
    struct Window {
        std::uint64_t hash = 0;
        std::uint64_t drop = 1;  // weight of the operation that leaves the window
        std::vector<std::uint32_t> positions;
    };

    void happened(const Operation& operation, std::uint32_t buffer);
    void follow(const Operation& operation, std::uint32_t buffer);
    void remember();
    void find_position();
    void cast_back(std::uint32_t at);
    bool trusted() const;
    bool step_over(const Operation& operation);
    void pair(std::uint32_t model, std::uint32_t buffer);
    void forget_all();
    std::uint32_t touch_distance(BufferId id) const;
    void grow_to(BufferId id);

    std::uint64_t base_ = 0;  // operations forgotten
    std::vector<Operation> past_;
    std::vector<Life> lives_;
    std::vector<Living> living_;  // by BufferId
    std::array<Window, kWindows.size()> windows_;
    std::uint32_t cursor_ = kNone;  // the past's operation that the next one should match
    // of recently followed allocations, and of the corresponding ones:
    double sizes_now_ = 1;
    double sizes_then_ = 1;      // a larger batch makes everything larger
    double trust_ = 1;           // the part of the last operations that came as expected
    std::uint32_t strikes_ = 0;  // how much went wrong recently
    Bytes live_ = 0;
    LiveRecord lived_;  // live bytes after each operation of the past
    ForecastScore score_;
};

}  // namespace tidemark
