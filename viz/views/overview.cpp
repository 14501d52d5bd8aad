// Overview: the first thing to read: the answer in a sentence, the curve with the answer drawn
// where it applies, the composition of the peak, who held it, and what to do.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/base/shares.h"
#include "core/base/text.h"
#include "viz/draw/fonts.h"
#include "viz/views/inspection.h"
#include "viz/views/overview_advice.h"
#include "viz/views/overview_chart.h"
#include "viz/views/overview_peak.h"
#include "viz/views/view.h"

namespace tidemark::viz {
namespace {

constexpr float kOverviewPad = 14;   // points
constexpr float kTwoColumns = 640;   // points of width from which on there are two
constexpr double kChartShare = 0.5;  // of the height
constexpr float kLeastChart = 150;   // points
constexpr float kMostChart = 560;

// A summary that is made again as its history grows.
struct Slot {
    std::shared_ptr<const History> history;
    PeakSummary summary;
    bool is_known = false;
    Job<PeakSummary> job;

    void look(std::shared_ptr<const History> wanted, bool waits) {
        if (wanted != history) {
            job.cancel();
            history = std::move(wanted);
            is_known = false;
        }
        if (!history)
            return;
        const std::uint64_t events = history->counts().events;
        const bool is_stale =
            !is_known || (events != summary.events &&
                          (history->complete() || events > summary.events + summary.events / 4));
        if (is_stale && !job.running())
            job.start([kept = history](const Cancelled& cancelled) {
                return peak_summary(*kept, cancelled);
            });
        if (auto answer = waits ? job.wait() : job.take()) {
            summary = std::move(*answer);
            is_known = true;
        }
    }
};

class OverviewView final : public View {
  public:
    void draw(Frame& frame) override {
        if (frame.session.shown(frame.selection.run) == nullptr)
            return;
        Canvas& canvas = frame.canvas;
        for (std::size_t i = 0; i < frame.session.runs.size(); ++i)
            slots_[i].look(frame.session.runs[i].history, frame.still);
        const float pad = canvas.px(kOverviewPad);
        canvas.clip(frame.area);
        Writer page{canvas,
                    {frame.area.left + pad, frame.area.top + pad / 2, frame.area.right - pad,
                     frame.area.bottom - pad / 2}};
        if (const Slot* const slot = shown_slot(frame)) {
            const PeakAnswer answer = peak_answer(*slot->history, slot->summary);
            draw_headline(frame, page, *slot->history, answer);
            draw_chart(frame, page, &answer);
        } else {
            if (frame.run().tiers)
                page.headline(tier_headline(*frame.run().tiers), canvas.theme().text);
            draw_chart(frame, page, nullptr);
        }
        draw_columns(frame, page.box);
        canvas.unclip();
    }

    bool busy() const override {
        return chart_.busy() || std::any_of(slots_.begin(), slots_.end(), [](const auto& slot) {
                   return slot.second.job.running();
               });
    }

  private:
    const Slot* shown_slot(const Frame& frame) const {
        const auto found = slots_.find(frame.selection.run);
        const bool is_there = found != slots_.end() && found->second.is_known &&
                              found->second.history && found->second.summary.events > 0;
        return is_there ? &found->second : nullptr;
    }

    // What to do, once that is known, and the peak, where a click goes.
    static void draw_headline(Frame& frame, Writer& page, const History& history,
                              const PeakAnswer& answer) {
        const Theme& theme = frame.canvas.theme();
        const std::string& verdict = frame.run().verdict;
        if (!verdict.empty())
            page.headline(verdict, theme.text);
        std::string text = answer.headline + ".";
        if (const std::string& policy = frame.run().assumed_policy; !policy.empty())
            text = fmt::format("Under {} (the file names no allocator): {}", policy, text);
        if (frame.session.runs.size() > 1)
            text = frame.run().label + ": " + text;
        const float height =
            verdict.empty() ? page.heading_height(text) : page.paragraph_height(text);
        const Box line{page.box.left, page.box.top, page.box.right, page.box.top + height};
        if (clicked_line(frame, line, "headline"))
            go_to_event(frame, history, answer.event);
        const Colour colour = answer.is_refusal ? theme.problem : theme.text;
        if (verdict.empty())
            page.headline(text, colour);
        else
            page.paragraph(text, colour);
        page.skip(4);
    }

    void draw_chart(Frame& frame, Writer& page, const PeakAnswer* answer) {
        const Canvas& canvas = frame.canvas;
        const float height = std::clamp(page.box.height() * static_cast<float>(kChartShare),
                                        canvas.px(kLeastChart), canvas.px(kMostChart));
        if (height > page.box.height())
            return;
        const Box box{frame.area.left, page.box.top, frame.area.right,
                      std::round(page.box.top + height)};
        if (chart_.draw(frame, box, answer))
            page.box.top = box.bottom + canvas.px(10);
    }

    void draw_columns(Frame& frame, const Box& box) {
        Canvas& canvas = frame.canvas;
        Writer all{canvas, box};
        if (box.width() < canvas.px(kTwoColumns)) {
            draw_what_to_do(frame, all);
            draw_peaks(frame, all);
            draw_held(frame, all);
            return;
        }
        const float middle = std::round(box.left + box.width() * 0.56F);
        const float gap = canvas.px(36);
        Writer left{canvas, {box.left, box.top, middle, box.bottom}};
        draw_peaks(frame, left);
        draw_held(frame, left);
        Writer right{canvas, {middle + gap, box.top, box.right, box.bottom}};
        canvas.vertical(middle + gap / 2, box.top, box.bottom, canvas.theme().grid);
        canvas.offer_texts(frame.texts);
        draw_what_to_do(frame, right);
        draw_run_facts(frame, right);
        canvas.offer_texts(nullptr);
    }

    // --- the left column ----------------------------------------------------------------------

    void draw_peaks(Frame& frame, Writer& writer) {
        const std::vector<ViewedRun>& runs = frame.session.runs;
        std::vector<PeakBar> bars;
        std::size_t shown = runs.size();
        for (std::size_t i = 0; i < runs.size(); ++i) {
            if (runs[i].tiers) {
                writer.heading(runs.size() > 1 ? runs[i].label : "At the peak");
                draw_tiers(*runs[i].tiers, writer);
                writer.skip(10);
                continue;
            }
            if (i == frame.selection.run)
                shown = bars.size();
            bars.push_back(bar_of(frame, i));
        }
        if (bars.empty())
            return;
        draw_peak_bars(frame, writer, bars, shown);
        writer.skip(8);
    }

    PeakBar bar_of(const Frame& frame, std::size_t index) {
        const ViewedRun& run = frame.session.runs[index];
        PeakBar bar;
        if (frame.session.runs.size() > 1)
            bar.name = run.label;
        bar.colour = run_colour(frame.canvas.theme(), index, frame.selection.run);
        bar.state = run.state.phase == LoadState::Phase::failed ? to_text(run.state.error)
                                                                : "is being added up\u2026";
        const Slot& slot = slots_[index];
        if (slot.is_known && slot.history) {
            bar.summary = &slot.summary;
            bar.capacity = slot.history->capacity();
        }
        return bar;
    }

    void draw_held(Frame& frame, Writer& writer) {
        if (const Slot* const slot = shown_slot(frame))
            draw_holders(frame, writer, *slot->history, slot->summary);
    }

    // --- runs over tiers ----------------------------------------------------------------------

    static std::string tier_headline(const TierRun& run) {
        return fmt::format(
            "Takes {}, {:.2f} times as long as with unlimited GPU memory; stalls of "
            "{} in total.",
            format_duration(run.makespan), run.slowdown(), format_duration(run.stalls.total()));
    }

    static void draw_tiers(const TierRun& run, Writer& writer) {
        const Theme& theme = writer.canvas.theme();
        for (const TierSpacePeak& space : run.spaces) {
            if (!writer.has_room(1))
                return;
            writer.bar(to_text(space.space), colour_of(theme, space.space.tier),
                       share_of(space.peak, space.capacity),
                       fmt::format("{}, {} of {}", format_bytes(space.peak),
                                   format_brief_share(space.peak, space.capacity),
                                   format_bytes(space.capacity)));
        }
        writer.paragraph(
            fmt::format("{} moved out of GPU memory, {} into it; {:.1f} % of the bytes "
                        "used arrived in time.",
                        format_bytes(run.spilled_bytes), format_bytes(run.fetched_bytes),
                        run.hit_ratio() * 100),
            theme.faint_text);
        if (run.out_of_memory > 0)
            writer.paragraph(fmt::format("{} ran out of memory.",
                                         format_counted(run.out_of_memory, "allocation or kernel",
                                                        "allocations or kernels")),
                             theme.problem);
    }

    OverviewChart chart_;
    std::map<std::size_t, Slot> slots_;  // by index of the run
};

}  // namespace

ViewInfo overview_view() {
    return {.name = "overview",
            .title = "Overview",
            .summary = "The answer on the curve: the peak, its waste, who held it, and what to do.",
            .make = make_view<OverviewView>,
            .fills = true,
            .shows_advice = true};
}

}  // namespace tidemark::viz
