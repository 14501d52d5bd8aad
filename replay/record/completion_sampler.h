// CompletionSampler: completions as another run of the recorded program might see them.
//
// Model. The program's clock is the recorded one, without the recorded driver calls and with those
// of the replayed policy, times a pace that differs from run to run and, less, from stretch to
// stretch. The device's work between two waits of a chain takes as long as recorded. A wait ends
// when the work before it is done. That work begins when the device is done with the chain's
// earlier work or when the program has queued it, whichever is later:
//
//     done = max(done of the chain's last wait + work, time of the free + least lag)
//
// So where the device was the slower of the two it keeps its recorded times, and a policy that
// stalls the program lets it catch up; where the program was slower, completions follow the
// program. Where the recording saw the program wait for the device, it waits here too.
//
// The driver accepts about a thousand launches in advance, then it makes the program wait.
//
// Drawn at random, from the seed alone: the paces; where within its interval each completion was;
// how much of the time in which the device may have been idle was work. Deterministic on every
// machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "core/base/random.h"
#include "replay/engine/completions.h"
#include "replay/record/completion_record.h"

namespace tidemark {

// How much two runs of one program differ, the recorded one and another: standard deviations of
// factors. Chosen on measured programs: docs/metrics.md says how well they match.
struct RunVariation {
    double pace = 0.5;          // the program's, from run to run
    double stretch_pace = 0.3;  // the same, of each stretch of `stretch` points
    std::size_t stretch = 128;
    double lag = 0.1;         // the least lag, of each wait
    double device = 0.02;     // the device's speed
    double quicker = 0.94;    // an unrecorded run's times, relative to a recorded one's
    double least_busy = 0.2;  // of time in which the device may have been idle, what was work
    double queue = 900;       // requests of a stream that a program can be ahead of the device
};

class CompletionSampler final : public Completions {
  public:
    // `record` must outlive it.
    CompletionSampler(const CompletionRecord& record, std::uint64_t seed,
                      const RunVariation& variation = {});

    std::size_t begin_wait(std::uint64_t event, Nanoseconds spent) override;
    std::span<const std::size_t> ended_by(std::uint64_t event, Nanoseconds spent) override;
    std::span<const std::size_t> end_all() override;

  private:
    struct Chain {
        Nanoseconds recorded_done = 0;       // of its last wait, as drawn for the recording
        Nanoseconds recorded_requested = 0;  // the same
        Nanoseconds done = 0;                // in this run
        bool begun = false;
        std::deque<std::size_t> open;  // waits that are not over, in order
    };

    double factor(double deviation);
    void advance(std::uint64_t event, Nanoseconds spent);
    void pass(const HostPoint& point, Nanoseconds spent);
    void start(const RecordedWait& wait);
    void wait_for(std::uint64_t chains);
    void wait_for_queue();
    Nanoseconds stall(Nanoseconds modelled);

    const CompletionRecord& record_;
    RunVariation variation_;
    Random random_;
    double pace_ = 1;
    double stretch_pace_ = 1;
    double device_ = 1;
    double busy_ = 1;
    Nanoseconds now_ = 0;    // the program's clock
    Nanoseconds spent_ = 0;  // of it, what device calls have cost
    std::size_t next_point_ = 0;
    std::size_t next_wait_ = 0;
    std::uint64_t requests_ = 0;     // so far
    std::size_t first_queued_ = 0;   // the first wait that may still be queued
    std::vector<Nanoseconds> done_;  // by wait, of those passed
    std::vector<Chain> chains_;
    std::vector<std::size_t> ended_;
};

}  // namespace tidemark
