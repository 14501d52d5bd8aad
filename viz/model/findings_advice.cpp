// The words for what `advise` found, cut into findings that one can go to. What its figures mean is
// said in replay/report; here is what fits beside a picture.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/advise_report.h"
#include "replay/report/text.h"
#include "viz/model/findings.h"
#include "viz/model/site_words.h"

namespace tidemark::viz {
namespace {

using Weight = Finding::Weight;

constexpr std::size_t kShownHolders = 3;
constexpr std::size_t kShownPins = 3;
constexpr Bytes kWorthTelling = 200;  // the share of reserved memory: one in so many

EventIndex event_of(std::uint64_t event) {
    return event < kNever ? static_cast<EventIndex>(event) : kNever;
}

std::string percent(Bytes part, Bytes whole) {
    if (whole == 0)
        return "0 %";
    return fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

class AdviceWords {
  public:
    AdviceWords(const TraceInfo& info, const Advice& advice) : info_(info), advice_(advice) {}

    std::vector<Finding> all() {
        tell_setting();
        tell_gaps();
        tell_pins();
        tell_use();
        tell_holders();
        for (const std::string& warning : advice_.warnings)
            add(Weight::note, "About the advice", printable(warning, true), kNotInTrace);
        for (const std::string& note : advice_.notes)
            add(Weight::note, "About the advice", printable(note, true), kNotInTrace);
        return joined_findings(std::move(found_), {});
    }

  private:
    void add(Weight weight, std::string title, std::string detail, std::uint64_t event) {
        found_.push_back({weight, std::move(title), std::move(detail), event_of(event), kNoBlock});
    }

    std::string place(const Moment& moment) const {
        std::string text = fmt::format("event {}", format_count(moment.event));
        if (info_.duration > 0)
            text += fmt::format(", {}", format_duration(moment.time));
        if (const std::string step = step_text(info_, advice_.picture, moment); !step.empty())
            text += ", " + step;
        return text;
    }

    std::string outcome(const Tried& tried) const {
        const TrialResult& result = tried.result;
        std::string text = format_bytes(result.peak.reserved) + " reserved at the peak";
        if (result.refusals() > 0)
            text += fmt::format(", {} refused", format_count(result.refusals()));
        if (result.stats.retries > 0)
            text += fmt::format(", {} retries", format_count(result.stats.retries));
        return text +
               fmt::format(", {} in the driver and waiting", format_duration(tried.device_time()));
    }

    void tell_setting() {
        const SearchResult& search = advice_.search;
        const Bytes now = search.before.result.peak.reserved;
        if (!search.improves) {
            add(Weight::note, "No allocator setting would do better",
                fmt::format("Of {} settings of PYTORCH_ALLOC_CONF that were replayed, none is "
                            "worth a change.\nNow: {}.",
                            format_count(search.trials), outcome(search.before)),
                kNotInTrace);
            return;
        }
        const Bytes then = search.best.result.peak.reserved;
        const bool survives = search.before.result.refusals() > search.best.result.refusals();
        std::string title = fmt::format("A setting would need {} less ({})",
                                        format_bytes(now - std::min(now, then)),
                                        percent(now - std::min(now, then), now));
        if (survives)
            title = "A setting would be refused less";
        else if (then >= now)
            title = "A setting would be faster";
        add(survives ? Weight::problem : Weight::warning, std::move(title),
            fmt::format("{}\nNow: {}.\nWith it: {}.", export_line(torch_conf(search.best.policy)),
                        outcome(search.before), outcome(search.best)),
            advice_.picture.reserved.event);
    }

    void tell_gaps() {
        const Gaps& gaps = advice_.gaps;
        if (gaps.asked == 0 || gaps.free == 0)
            return;
        std::string detail =
            fmt::format("{} were asked for at {} when {} lay free", format_bytes(gaps.asked),
                        place(advice_.picture.growth), format_bytes(gaps.free));
        if (gaps.count == 0)
            detail += ", none of it for such a request.";
        else
            detail += fmt::format(": {} of it in {} gaps for such requests, the largest {}.",
                                  format_bytes(gaps.reachable), format_count(gaps.count),
                                  format_bytes(gaps.largest));
        for (const auto& [bytes, what] : {std::pair(gaps.other_streams, "kept for other streams"),
                                          std::pair(gaps.other_pools, "for other pools"),
                                          std::pair(gaps.other_sizes, "for other sizes")})
            if (bytes > 0)
                detail += fmt::format("\n{} {}.", format_bytes(bytes), what);
        add(Weight::warning,
            fmt::format("Reserved memory grew while {} lay free", format_bytes(gaps.free)),
            std::move(detail), advice_.picture.growth.event);
    }

    void tell_pins() {
        for (std::size_t i = 0; i < std::min(kShownPins, advice_.pins.size()); ++i) {
            const Pin& pin = advice_.pins[i];
            if (pin.free < advice_.use.reserved / kWorthTelling)
                continue;
            const std::string until = pin.ends == kNotInTrace ? std::string("the end")
                                                              : "event " + format_count(pin.ends);
            add(Weight::note,
                fmt::format("{} pinned by blocks of {}", format_bytes(pin.free),
                            one_line(pin.place, 80)),
                fmt::format(
                    "{} that lie free in {} {} cannot be used or given back: {} blocks of {} in "
                    "all, alive from event {} to {}, lie in them.",
                    format_bytes(pin.free), format_count(pin.segments),
                    advice_.paged ? "pages" : "segments", format_count(pin.blocks),
                    format_bytes(pin.block_bytes), format_count(pin.born), until),
                pin.born);
        }
    }

    void tell_use() {
        const MemoryUse& use = advice_.use;
        if (use.reserved == 0)
            return;
        std::string detail = fmt::format("At {}:", place(advice_.picture.fullest));
        const auto line = [&](std::string_view what, Bytes bytes) {
            if (bytes > 0)
                detail += fmt::format("\n{}: {} ({})", what, format_bytes(bytes),
                                      percent(bytes, use.reserved));
        };
        line("in use", use.requested);
        line("rounding", use.rounding);
        line("waiting for other streams", use.waiting);
        line("free between blocks (fragmentation)", use.fragmentation);
        line("free in whole segments (cached)", use.unused);
        add(Weight::note,
            fmt::format("{} reserved at the peak, {} of it in use", format_bytes(use.reserved),
                        percent(use.requested, use.reserved)),
            std::move(detail), advice_.picture.fullest.event);
    }

    void tell_holders() {
        std::size_t shown = 0;
        std::string detail;
        for (const Holder& holder : advice_.holders) {
            if (holder.kind != HolderKind::place && holder.kind != HolderKind::size)
                continue;
            if (shown++ == kShownHolders)
                break;
            const std::string name =
                holder.name.empty() ? "no stack recorded" : one_line(holder.name, 100);
            detail +=
                fmt::format("{}{}: {} in {} blocks", detail.empty() ? "" : "\n", name,
                            format_bytes(holder.at_allocated_peak), format_count(holder.blocks));
        }
        if (!detail.empty())
            add(Weight::note, "What holds the memory at the peak", std::move(detail),
                advice_.picture.allocated.event);
    }

    const TraceInfo& info_;
    const Advice& advice_;
    std::vector<Finding> found_;
};

// A trace whose cursors fail as soon as nobody wants to know any more: that ends a search of many
// replays, whatever it is at.
class CancellableTrace final : public Trace {
  public:
    CancellableTrace(const Trace& trace, const Cancelled& cancelled)
        : trace_(trace), cancelled_(cancelled) {}

    const TraceInfo& info() const override { return trace_.info(); }

    std::uint64_t hash() const override { return trace_.hash(); }

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

std::vector<Finding> findings_of_advice(const TraceInfo& info, const Advice& advice) {
    return AdviceWords(info, advice).all();
}

Result<std::vector<Finding>> advised_findings(const Trace& trace, const AdviseOptions& options,
                                              const Cancelled& cancelled) {
    const CancellableTrace guarded(trace, cancelled);
    TM_ASSIGN(const Advice advice, advise(guarded, options));
    return findings_of_advice(trace.info(), advice);
}

}  // namespace tidemark::viz
