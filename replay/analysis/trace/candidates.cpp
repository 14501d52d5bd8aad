// The recorded settings, then each that differs from those before it.
#include "replay/analysis/trace/candidates.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "replay/record/recorded_policy.h"

namespace tidemark {

Result<std::vector<Candidate>> beside_recorded(const TraceInfo& info,
                                               std::span<const std::string> texts,
                                               std::vector<std::string>& notes) {
    std::vector<Candidate> chosen;
    if (const Result<RecordedPolicy> recorded = recorded_policy(info)) {
        TM_ASSIGN(PolicySpec spec, parse_policy(recorded->text));
        chosen.push_back({std::move(spec), true});
        notes.insert(notes.end(), recorded->warnings.begin(), recorded->warnings.end());
        if (!recorded->assumed.empty()) {
            notes.push_back(recorded->assumed);
            chosen.back().recorded = false;
        }
    } else {
        notes.push_back(fmt::format("no row for the recorded settings: {}", recorded.error().what));
    }
    for (const std::string& text : texts) {
        TM_ASSIGN(PolicySpec spec, parse_policy(text));
        const bool known = std::ranges::any_of(
            chosen, [&spec](const Candidate& other) { return other.policy.text() == spec.text(); });
        if (!known)
            chosen.push_back({std::move(spec), false});
    }
    return chosen;
}

}  // namespace tidemark
