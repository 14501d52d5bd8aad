// Text and JSON about ranks, and the overview of several traces that info prints.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "replay/analysis/compare/ranks.h"
#include "replay/analysis/trace/trace_summary.h"
#include "replay/report/forms/json_values.h"
#include "replay/report/forms/model.h"
#include "replay/report/forms/table.h"
#include "replay/report/runs/join_report.h"

namespace tidemark {

// "rank1/a.pickle sets the limit: it reserves 8.3 GiB at its peak. ..." in one line.
std::string ranks_sentence(const RankReport& report);

// A row for each rank.
Table ranks_table(const RankReport& report);

// The same, and the sentence.
std::string ranks_text(const RankReport& report, Emphasis emphasis);

namespace report {
Json ranks_of(const std::optional<RankReport>& ranks);  // null if there are none
}

// Several traces, one row each.
struct SummarizedTrace {
    std::string name;
    const Trace* trace = nullptr;
    TraceSummary summary;
};

std::string traces_text(std::span<const SummarizedTrace> traces,
                        const std::optional<RankReport>& ranks, std::span<const NamedJoin> joins);
std::string traces_json(std::span<const SummarizedTrace> traces,
                        const std::optional<RankReport>& ranks, std::span<const NamedJoin> joins,
                        const Provenance& provenance);

}  // namespace tidemark
