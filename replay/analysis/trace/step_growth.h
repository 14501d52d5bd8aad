// Step growth: what grows from step to step of one program: a leak, whose live bytes at the ends of
// steps keep growing; a drift, where reserved memory grows though live memory does not (pytorch
// #123548); a cache, which grows at first and then stays.
//
// What has grown is judged after a warm-up, the first fifth of the steps. Let x_i be the bytes at
// the end of step i, after it. Growing means: at least half of the steps end with more than the one
// before, of all pairs i < j those with x_j > x_i outnumber those with x_j < x_i by 0.7 of all, the
// last third still grows by at least a third of what the whole does for as many steps, and it is
// worth reporting: 1 MiB and 1 % of the program's peak. Of fewer than 10 steps all must rise,
// evenly. The slope is the median of (x_j - x_i) / (j - i).
//
// A program without steps (a server, a query engine) is split into sixteen parts with equally many
// events each, where x_i is the least live memory in part i: a floor that rises from part to part.
// A program that only fills its memory has no leak: at least four times the peak must have been
// allocated in total.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "replay/analysis/trace/program_steps.h"
#include "replay/analysis/trace/sites.h"
#include "replay/engine/observer.h"
#include "traces/model/trace.h"

namespace tidemark {

enum class StepGrowthKind : std::uint8_t { leak, drift, cache };

struct StepGrowth {
    StepGrowthKind kind = StepGrowthKind::leak;
    // Sites::site; without stacks a tag, or a size class; "" = the program as a whole.
    std::string site;
    std::uint32_t stack = 0;  // an example
    double bytes_per_step = 0;
    Bytes first_bytes = 0;          // at the end of the first step that was looked at
    Bytes last_bytes = 0;           // and of the last
    std::uint64_t blocks = 0;       // of the site, live at the last
    std::uint64_t first_event = 0;  // where the first of these steps ends
    std::uint64_t last_event = 0;
};

// What replaces steps in a program without them.
constexpr std::size_t kRunParts = 16;
constexpr std::string_view kRunPart = "sixteenth of the run";

struct StepReport {
    ProgramSteps steps;
    bool parts = false;               // `steps` are kRunParts equal parts of the run
    Nanoseconds step_time = 0;        // mean, as recorded; 0 = without times
    std::vector<StepGrowth> growths;  // leaks, drift, caches; the steepest, or largest, first

    // The steepest that doesn't end; null if all is well.
    const StepGrowth* worst() const;
};

// Bytes at the ends of some steps; pure, for tests.
struct GrowthFigures {
    bool grows = false;    // keeps growing
    bool settled = false;  // grew in the first half, and hardly in the second
    double slope = 0;      // bytes a step
};

GrowthFigures judge_growth(const std::vector<Bytes>& at_ends, Bytes worth_telling);

// Watches a replay. Memory O(live + sites * kSteps).
class StepWatcher final : public Observer {
  public:
    // What is given must outlive this.
    StepWatcher(const TraceInfo& info, ProgramSteps steps);
    ~StepWatcher() override;

    void on_events(const EventBatch& events, const OutcomeBatch& outcomes) override;

    // After the replay; `top` growths of each kind at most.
    StepReport report(std::size_t top);

  private:
    class Books;
    std::unique_ptr<Books> books_;
};

}  // namespace tidemark
