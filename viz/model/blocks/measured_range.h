// MeasuredRange: the figures of the measured stretch, computed in the background: every view shows
// them at the selection. The screen's thread only.
#pragma once

#include <memory>
#include <optional>

#include "viz/model/blocks/range_summary.h"
#include "viz/model/session/async_query.h"

namespace tidemark::viz {

class MeasuredRange {
  public:
    // What is measured in the run now; `waits`: blocks until it is known.
    void update(const std::shared_ptr<const History>& history, AxisUnit unit,
                const std::optional<Window>& measure, bool waits) {
        std::optional<RangeQuestion> question;
        if (history != nullptr && measure) {
            const EventSpan span = *measured_span(*history, unit, measure);
            if (span.last != kNever)
                question = RangeQuestion{unit, *measure, span, {}};
        }
        range_.ask(history, question, question ? question->span.last : 0, range_summary);
        if (waits)
            range_.finish();
    }

    // Of that stretch, not of an earlier one; null as long as it isn't known.
    const RangeSummary* of(AxisUnit unit, const Window& measure) const {
        const RangeSummary* const known = range_.answer();
        const bool is_it =
            known != nullptr && known->question.unit == unit && known->question.window == measure;
        return is_it ? known : nullptr;
    }

    bool running() const { return range_.running(); }

  private:
    AsyncQuery<RangeQuestion, RangeSummary> range_;
};

}  // namespace tidemark::viz
