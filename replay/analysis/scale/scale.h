// scale: what a recorded program would reserve with a larger batch or length, with more steps, and
// the largest that a card holds. Sizes grow by the laws that steps of different sizes show
// (size_laws.h); replays of the grown trace tell the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "replay/analysis/scale/grown_trace.h"
#include "replay/analysis/scale/held_back.h"
#include "replay/analysis/scale/recorded_steps.h"
#include "replay/analysis/scale/size_laws.h"
#include "replay/analysis/scale/step_requests.h"
#include "replay/analysis/trace/step_growth.h"

namespace tidemark {

constexpr double kLargestGrowth = 64;
constexpr unsigned kMostRunSteps = 1'000'000;

// What is found in a trace, once for all questions.
struct ScaleModel {
    StepRequests requests;
    SizeLaws laws;
    RecordedSteps steps;  // all but the first, to come behind the first, or behind all
    std::optional<HeldBack> held_back;
};

// O(events), memory too; see find_size_laws. Errors: those of it and of the trace; unsupported: one
// that begins inside its first step has no two whole ones.
Result<ScaleModel> find_scale(const Trace& trace);

enum class Axis : std::uint8_t { batch, length };

struct ScaleQuestion {
    ScaleFactors growth = {};
    unsigned steps = 0;  // of the run in all; 0 = as recorded
    // The recorded steps stay as they were and one more comes that grows, instead of all.
    bool one_more = false;
    Bytes memory = 0;  // of a card: the largest growth that it holds is searched; 0 = not asked
    std::optional<Bytes> overhead = {};  // of `memory`; none = card_overhead()
    Axis along = Axis::batch;            // that is searched
    // Beside the recorded settings; empty: for PyTorch, expandable segments and `extent`.
    std::vector<std::string> policies = {};
    std::string profile = "h200";
    unsigned threads = 0;  // 0 = one for each core
    // Called now and then, never by two threads at once; may be empty.
    std::function<void(std::size_t done, std::size_t total)> progress = {};
    std::function<bool()> stop = {};  // asked between replays; may be empty
};

// A peak of reserved memory. What fits no law grows like most of a step; the range is of that, of
// what it would be if it did not, and of how far the step that was held back is from what the
// others tell of it, more so the more is asked.
struct ScaledPeak {
    Bytes likely = 0, least = 0, most = 0;
};

struct ScaleRow {
    std::string policy;
    bool recorded = false;
    Bytes before = 0;          // as recorded, replayed the same way
    ScaledPeak peak = {};      // with all steps grown, and as many as asked
    ScaledPeak one_more = {};  // with one step behind the recorded ones, grown from the largest
    // With the largest recorded step, as the others tell it, and as it was; 0: none is held back.
    Bytes held_back_told = 0, held_back = 0;
    // The largest growth along the question's axis that the card holds; surely, and perhaps. 0: not
    // asked, or not even the least that was tried.
    double fits_surely = 0, fits_perhaps = 0;
};

// Requests of steps whose sizes fit no law.
struct UnknownSite {
    std::string site;  // Sites::site; "" = no stack recorded
    std::uint64_t requests = 0;
    Bytes bytes = 0;
};

struct ScaleReport {
    ScaleQuestion question;  // without its listeners, with the overhead that held
    std::vector<ScaleRow> rows;
    std::vector<UnknownSite> unknown;  // the largest, if they matter
    std::vector<StepGrowth> growths;   // of the recorded steps, that go on where steps are added
    bool by_site = false;              // the names of growths are of sites, else of sizes
    std::vector<std::string> notes;
};

// How the program grows that the question is about: each step with the order of requests of the
// recorded one that is of the nearest size. Errors (bad_option): a growth that isn't above 0 and at most kLargestGrowth, or where
// all steps are of one size; a length where the recording doesn't tell it from the batch; fewer
// steps than recorded, or more than kMostRunSteps.
Result<GrowthPlan> plan_growth(const ScaleModel& model, const ScaleQuestion& question);

// Errors: those of plan_growth; bad_option: a policy that cannot be; cancelled; those of the trace.
// Some 5 replays a row, with `memory` some 30.
Result<ScaleReport> scale(const Trace& trace, const ScaleModel& model,
                          const ScaleQuestion& question);

}  // namespace tidemark
