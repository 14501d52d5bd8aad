// The report of `bound` as text and as JSON. Pure; text as in runs/text.h, JSON as in runs/json.h
// (the keys are in docs/json.md).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "replay/analysis/bound/bound.h"
#include "replay/report/forms/model.h"

namespace tidemark {

// One device of the trace, or all of a file of intervals.
struct BoundRow {
    std::size_t device = 0;
    std::size_t intervals = 0;
    Bound bound;
    std::optional<Bytes> recorded;  // most bytes that the recorded system held; none: not known
};

struct BoundReport {
    std::string name;
    std::vector<BoundRow> rows;
    Bytes capacity = 0;  // of each device; 0 = not given
    std::uint64_t seed = 0;
    bool interrupted = false;

    // Whether each device fits; none: no packing was found for one, and nothing proves that none
    // exists.
    std::optional<bool> fits() const;
};

std::string bound_text(const BoundReport& report);

std::string bound_json(const BoundReport& report, const Provenance& provenance);

}  // namespace tidemark
