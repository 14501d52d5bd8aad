// Typed findings as rows of a list.
#include "viz/model/navigation/findings.h"

#include <memory>
#include <utility>

#include "replay/findings/find.h"
#include "replay/report/advise/advice_verdict.h"
#include "replay/report/findings/finding_text.h"
#include "traces/model/cancellable_trace.h"

namespace tidemark::viz {
namespace {

Finding::Weight weight_of(findings::Severity severity) {
    switch (severity) {
        case findings::Severity::problem:
            return Finding::Weight::problem;
        case findings::Severity::warning:
            return Finding::Weight::warning;
        default:
            return Finding::Weight::note;
    }
}

// A remark of several lines is a title and what is below it: the list has one line for each.
std::vector<Finding> in_text(const std::vector<findings::Finding>& list,
                             const std::string& suggested = {}) {
    std::vector<Finding> rows;
    for (const findings::Finding& each : list) {
        FindingText text = finding_text(each);
        if (!text.command.empty())
            text.detail = text.command + "\n" + text.detail;
        if (each.kind == findings::Kind::remark)
            text = {"About the figures", std::move(text.title)};
        const EventIndex event = each.event < kNever ? static_cast<EventIndex>(each.event) : kNever;
        rows.push_back({weight_of(each.severity), std::move(text.title), std::move(text.detail),
                        event, each.block,
                        each.kind == findings::Kind::setting ? suggested : std::string(),
                        !text.command.empty()});
    }
    return rows;
}

}  // namespace

std::vector<Finding> findings_of_history(const History& history, const Cancelled& cancelled) {
    return in_text(findings::from_history(history, cancelled));
}

AdvisedFindings findings_of(const History& history, const std::string& policy,
                            const TraceInfo& info, const Advice& advice,
                            const Cancelled& cancelled) {
    const findings::FoundRun run{{}, policy, &history, nullptr};
    return {
        advice_verdict(info, advice),
        in_text(findings::find({.info = &info, .advice = &advice, .runs = {&run, 1}}, cancelled),
                advice.search.best.is_setting() ? advice.search.best.policy.text() : "")};
}

Result<Advice> cancellable_advice(const Trace& trace, const AdviseOptions& options,
                                  const Cancelled& cancelled) {
    return advise(CancellableTrace(trace, [&cancelled] { return cancelled.load(); }), options);
}

}  // namespace tidemark::viz
