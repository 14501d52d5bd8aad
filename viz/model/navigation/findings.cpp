// Typed findings as rows of a list.
#include "viz/model/navigation/findings.h"

#include <memory>
#include <utility>

#include "replay/findings/find.h"
#include "replay/report/findings/finding_text.h"

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
std::vector<Finding> in_text(const std::vector<findings::Finding>& list) {
    std::vector<Finding> rows;
    for (const findings::Finding& each : list) {
        FindingText text = finding_text(each);
        if (!text.command.empty())
            text.detail = text.command + "\n" + text.detail;
        if (each.kind == findings::Kind::remark)
            text = {"About the figures", std::move(text.title)};
        const EventIndex event = each.event < kNever ? static_cast<EventIndex>(each.event) : kNever;
        rows.push_back({weight_of(each.severity), std::move(text.title), std::move(text.detail),
                        event, each.block});
    }
    return rows;
}

// A trace whose cursors fail as soon as nobody wants to know any more: that ends a search of many
// replays, whatever it is at.
class CancellableTrace final : public Trace {
  public:
    CancellableTrace(const Trace& trace, const Cancelled& cancelled)
        : trace_(trace), cancelled_(cancelled) {}

    const TraceInfo& info() const override { return trace_.info(); }

    std::uint64_t hash() const override { return trace_.hash(); }

    std::uint64_t recorded_hash() const override { return trace_.recorded_hash(); }

    std::unique_ptr<TraceCursor> cursor() const override {
        return std::make_unique<Cursor>(trace_.cursor(), cancelled_);
    }

  private:
    class Cursor final : public TraceCursor {
      public:
        Cursor(std::unique_ptr<TraceCursor> cursor, const Cancelled& cancelled)
            : cursor_(std::move(cursor)), cancelled_(cancelled) {}

        Result<EventBatch> next() override {
            if (cancelled_)
                return fail(ErrorCode::cancelled, "the search was given up");
            return cursor_->next();
        }

      private:
        std::unique_ptr<TraceCursor> cursor_;
        const Cancelled& cancelled_;
    };

    const Trace& trace_;
    const Cancelled& cancelled_;
};

}  // namespace

std::vector<Finding> findings_of_history(const History& history, const Cancelled& cancelled) {
    return in_text(findings::from_history(history, cancelled));
}

std::vector<Finding> findings_of(const History& history, const std::string& policy,
                                 const TraceInfo& info, const Advice& advice,
                                 const Cancelled& cancelled) {
    const findings::FoundRun run{{}, policy, &history, nullptr};
    return in_text(
        findings::find({.info = &info, .advice = &advice, .runs = {&run, 1}}, cancelled));
}

Result<Advice> cancellable_advice(const Trace& trace, const AdviseOptions& options,
                                  const Cancelled& cancelled) {
    return advise(CancellableTrace(trace, cancelled), options);
}

}  // namespace tidemark::viz
