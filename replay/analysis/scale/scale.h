// scale: what a recorded program would reserve with a larger batch or length, and the largest that
// a card holds. Sizes grow by the laws that steps of different sizes show (size_laws.h); replays of
// the grown trace tell the rest.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "replay/analysis/scale/grown_trace.h"
#include "replay/analysis/scale/size_laws.h"
#include "replay/analysis/scale/step_requests.h"

namespace tidemark {

constexpr double kLargestGrowth = 64;

// What is found in a trace, once for all questions.
struct ScaleModel {
    StepRequests requests;
    SizeLaws laws;
};

// O(events); see find_size_laws. Errors: those of it and of the trace.
Result<ScaleModel> find_scale(const Trace& trace);

enum class Axis : std::uint8_t { batch, length };

struct ScaleQuestion {
    ScaleFactors growth = {};
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

// Peaks of reserved memory. What fits no law grows like most of a step; the range is of that, and
// of what it would be if it did not.
struct ScaleRow {
    std::string policy;
    bool recorded = false;
    Bytes before = 0;  // as recorded, replayed the same way
    Bytes peak = 0, least = 0, most = 0;
    // The largest growth along the question's axis that the card holds; surely, and perhaps. 0: not
    // asked, or not even the least that was tried.
    double fits_surely = 0, fits_perhaps = 0;
};

struct ScaleReport {
    ScaleQuestion question;  // without its listeners, with the overhead that held
    std::vector<ScaleRow> rows;
    std::vector<std::string> notes;
};

// Errors (bad_option): a policy that cannot be, a growth that isn't above 0 and at most
// kLargestGrowth, a length where the recording doesn't tell it from the batch; cancelled; those of
// the trace. Some 3 replays a row, with `memory` some 30.
Result<ScaleReport> scale(const Trace& trace, const ScaleModel& model,
                          const ScaleQuestion& question);

}  // namespace tidemark
