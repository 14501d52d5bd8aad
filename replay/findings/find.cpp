// Joining what runs and advice show.
#include "replay/findings/find.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "replay/facts/missing_history.h"

namespace tidemark::findings {
namespace {

void append(std::vector<Finding>& list, std::vector<Finding> more) {
    list.insert(list.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
}

Finding remark(Severity severity, const std::string& message) {
    Finding finding;
    finding.severity = severity;
    finding.message = message;
    return finding;
}

// Advice looked at the same run: what both report is reported once. Refusals are the run's,
// one by one.
void drop_repeated(std::vector<Finding>& shown, std::vector<Finding>& advised) {
    const auto has = [](const std::vector<Finding>& list, Kind kind) {
        return std::ranges::any_of(list, [kind](const Finding& each) { return each.kind == kind; });
    };
    const bool refused = has(shown, Kind::out_of_memory);
    std::erase_if(advised, [refused](const Finding& each) {
        return refused && each.kind == Kind::out_of_memory && each.parts.empty() &&
               each.figure("further") == 0;
    });
    std::erase_if(shown, [&](const Finding& each) { return has(advised, each.kind); });
}

// Findings about the course of a run have no meaning for the state at one moment.
void keep_to_state(std::vector<Finding>& list, const TraceInfo& info) {
    constexpr std::array kOfACourse{Kind::growth_while_free,
                                    Kind::cache_growth,
                                    Kind::idle,
                                    Kind::drift,
                                    Kind::leak,
                                    Kind::setting};
    std::erase_if(list, [&](const Finding& each) {
        return std::ranges::find(kOfACourse, each.kind) != kOfACourse.end();
    });
    Finding lack = remark(Severity::problem, facts::how_to_record(info));
    lack.kind = Kind::no_history;
    list.push_back(std::move(lack));
}

}  // namespace

std::vector<Finding> find(const Source& source, const std::atomic<bool>& cancelled) {
    std::vector<Finding> advised;
    if (source.advice != nullptr && source.info != nullptr)
        advised = from_advice(*source.info, *source.advice);
    std::vector<Finding> list;
    for (const FoundRun& run : source.runs) {
        std::vector<Finding> shown;
        if (run.history != nullptr)
            shown = from_history(*run.history, cancelled);
        if (source.advice != nullptr && run.policy == source.advice->policy)
            drop_repeated(shown, advised);
        if (run.run != nullptr)
            for (const std::string& warning : run.run->warnings)
                shown.push_back(remark(Severity::note, warning));
        if (source.runs.size() > 1)
            for (Finding& finding : shown)
                finding.run = run.label;
        append(list, std::move(shown));
    }
    append(list, std::move(advised));
    if (source.info != nullptr) {
        for (const std::string& warning : source.info->warnings)
            list.push_back(remark(Severity::note, warning));
        if (source.info->cut_off && source.advice == nullptr)
            list.push_back(remark(Severity::warning,
                                  "the recording ends early: only its complete part is shown"));
    }
    if (source.info != nullptr && source.info->is_state())
        keep_to_state(list, *source.info);
    put_in_order(list);
    return list;
}

std::vector<Finding> find(const Source& source) {
    const std::atomic<bool> never = false;
    return find(source, never);
}

}  // namespace tidemark::findings
