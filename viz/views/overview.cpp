// Overview: the first thing to read: how much memory each run needed at its peak and of what, who
// held it, where it was out, and the worst that was found.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/base/shares.h"
#include "core/base/text.h"
#include "viz/draw/table.h"
#include "viz/model/blocks/peak_summary.h"
#include "viz/views/inspection.h"
#include "viz/views/overview_writer.h"
#include "viz/views/timeline_plot.h"
#include "viz/views/view.h"

namespace tidemark::viz {
namespace {

constexpr float kOverviewPad = 18;  // points
constexpr float kTwoColumns = 760;  // points of width from which on there are two
constexpr std::size_t kMostFindings = 6;
// A peak below this part of the device would be a sliver: bars are then measured by the peak.
constexpr double kLeastOfCapacity = 0.2;

// A summary that is made anew as its history grows.
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
        Canvas& canvas = frame.canvas;
        for (std::size_t i = 0; i < frame.session.runs.size(); ++i)
            slots_[i].look(frame.session.runs[i].history, frame.still);
        const Box inner = frame.area.inset(canvas.px(kOverviewPad));
        canvas.clip(frame.area);
        if (inner.width() < canvas.px(kTwoColumns)) {
            Writer writer{canvas, inner};
            draw_runs(frame, writer);
            draw_refusal(frame, writer);
            draw_findings(frame, writer);
            draw_holders(frame, writer);
        } else {
            const float middle = std::round(inner.left + inner.width() * 0.58F);
            Writer left{canvas, {inner.left, inner.top, middle, inner.bottom}};
            draw_runs(frame, left);
            draw_holders(frame, left);
            const float gap = canvas.px(44);
            Writer right{canvas, {middle + gap, inner.top, inner.right, inner.bottom}};
            canvas.vertical(middle + gap / 2, inner.top, inner.bottom, canvas.theme().grid);
            draw_refusal(frame, right);
            draw_findings(frame, right);
            draw_facts(frame, right);
        }
        canvas.unclip();
    }

    bool busy() const override {
        return std::any_of(slots_.begin(), slots_.end(),
                           [](const auto& slot) { return slot.second.job.running(); });
    }

  private:
    // --- each run's memory --------------------------------------------------------------------

    // What a full bar stands for: the device, or where that would leave slivers, the largest peak.
    Bytes scale_of(const Session& session) const {
        Bytes capacity = 0;
        Bytes most = 0;
        for (const auto& [index, slot] : slots_) {
            if (!slot.is_known || index >= session.runs.size() || !slot.history)
                continue;
            capacity = std::max(capacity, slot.history->capacity());
            most = std::max(most, slot.summary.most_reserved);
        }
        return share_of(most, capacity) >= kLeastOfCapacity ? std::max(capacity, most) : most;
    }

    void draw_runs(Frame& frame, Writer& writer) {
        const std::vector<ViewedRun>& runs = frame.session.runs;
        writer.heading("Memory at the peak");
        writer.skip(4);
        const Bytes scale = scale_of(frame.session);
        for (std::size_t i = 0; i < runs.size(); ++i) {
            if (!writer.has_room(is_short(frame.session) ? 4 : 6)) {
                writer.paragraph(fmt::format("and {} more, see Compare", runs.size() - i),
                                 frame.canvas.theme().faint_text);
                return;
            }
            draw_run(frame, writer, i, scale);
            writer.skip(10);
        }
    }

    // Many runs: their bars alone, so that all can be compared at a glance.
    static bool is_short(const Session& session) { return session.runs.size() > 2; }

    void draw_run(Frame& frame, Writer& writer, std::size_t index, Bytes scale) {
        const ViewedRun& run = frame.session.runs[index];
        const Theme& theme = frame.canvas.theme();
        if (frame.session.runs.size() > 1)
            draw_name(frame, writer.row(), index);
        if (run.tiers)
            return draw_tiers(*run.tiers, writer);
        const Slot& slot = slots_[index];
        if (!slot.is_known) {
            writer.paragraph(run.state.phase == LoadState::Phase::failed
                                 ? to_text(run.state.error)
                                 : "is being summed up\u2026",
                             theme.faint_text);
            return;
        }
        if (slot.summary.events == 0)
            return writer.paragraph("This run has no events.", theme.faint_text);
        draw_curves(frame, writer, slot, scale);
    }

    static void draw_name(Frame& frame, const Box& row, std::size_t index) {
        Canvas& canvas = frame.canvas;
        const float size = canvas.px(10);
        const float middle = (row.top + row.bottom) / 2;
        canvas.fill({row.left, middle - size / 2, row.left + size, middle + size / 2},
                    run_colour(canvas.theme(), index, frame.selection.run));
        canvas.text_within({row.left + size + canvas.px(8), row.top, row.right, row.bottom},
                           frame.session.runs[index].label, canvas.theme().text);
    }

    void draw_curves(Frame& frame, Writer& writer, const Slot& slot, Bytes scale) {
        const Theme& theme = frame.canvas.theme();
        const PeakSummary& summary = slot.summary;
        const Bytes capacity = slot.history->capacity();
        const auto figure = [&](Bytes bytes) {
            return capacity == 0
                       ? format_bytes(bytes)
                       : fmt::format("{}, {} of {}", format_bytes(bytes),
                                     format_brief_share(bytes, capacity), format_bytes(capacity));
        };
        const Bytes reserved = summary.at_peak[Series::reserved];
        const Bytes allocated = summary.at_peak[Series::allocated];
        const Bytes requested = summary.at_peak[Series::requested];
        writer.bar("reserved", theme.reserved, share_of(reserved, scale), figure(reserved));
        writer.bar("allocated", theme.allocated, share_of(allocated, scale), figure(allocated));
        writer.bar("requested", theme.requested, share_of(requested, scale), figure(requested));
        if (is_short(frame.session))
            return;
        writer.paragraph(gap_text(summary), theme.faint_text);
        const std::string when =
            "Peak of what is reserved, at its fullest: " + moment(*slot.history, summary.peak) +
            ". Show it";
        draw_link(frame, writer, when, *slot.history, summary.peak);
    }

    // What lies between the bars.
    static std::string gap_text(const PeakSummary& summary) {
        const Bytes reserved = summary.at_peak[Series::reserved];
        const Bytes allocated = summary.at_peak[Series::allocated];
        const Bytes requested = summary.at_peak[Series::requested];
        const Bytes active = summary.at_peak[Series::active];
        const Bytes free = reserved - std::min(reserved, active);
        const Bytes fragmented = std::min(summary.fragmentation, free);
        std::string text = fmt::format(
            "{} of the reserved memory is free ({}): {} fragmentation between blocks, {} cached in "
            "whole segments. {} is lost to rounding.",
            format_bytes(free), format_brief_share(free, reserved), format_bytes(fragmented),
            format_bytes(free - fragmented), format_bytes(active - std::min(active, requested)));
        if (active > allocated)
            text += fmt::format(" {} waits for other streams.", format_bytes(active - allocated));
        return text;
    }

    static std::string moment(const History& history, EventIndex event) {
        if (history.end(AxisUnit::time) <= 1)
            return "event " + format_count(event);
        return fmt::format("{}, event {}", format_duration(history.time(event)),
                           format_count(event));
    }

    // A line that leads to an event, in the timeline.
    static void draw_link(Frame& frame, Writer& writer, const std::string& text,
                          const History& history, EventIndex event) {
        const Box row = writer.row();
        const float width = frame.canvas.text_width(text);
        const Box link{row.left, row.top, std::min(row.left + width, row.right), row.bottom};
        if (clicked_line(frame, link, fmt::format("link {}", row.top))) {
            go_to_event(frame, history, event);
            frame.selection.wanted_view = "timeline";
        }
        frame.canvas.text_within(row, text, frame.canvas.theme().accent);
    }

    // --- runs over tiers ----------------------------------------------------------------------

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
            fmt::format("{} long, {:.2f} times what it takes with unlimited GPU memory; "
                        "stalls of {} altogether.",
                        format_duration(run.makespan), run.slowdown(),
                        format_duration(run.stalls.total())),
            theme.faint_text);
        writer.paragraph(
            fmt::format("{} moved out of GPU memory, {} into it; {:.1f} % of the bytes "
                        "used were there in time.",
                        format_bytes(run.spilled_bytes), format_bytes(run.fetched_bytes),
                        run.hit_ratio() * 100),
            theme.faint_text);
        if (run.out_of_memory > 0)
            writer.paragraph(fmt::format("{} could not be served.",
                                         format_counted(run.out_of_memory, "allocation or kernel",
                                                        "allocations or kernels")),
                             theme.problem);
    }

    // --- who held it --------------------------------------------------------------------------

    const Slot* shown_slot(const Frame& frame) const {
        const auto found = slots_.find(frame.selection.run);
        return found != slots_.end() && found->second.is_known && found->second.history
                   ? &found->second
                   : nullptr;
    }

    void draw_holders(Frame& frame, Writer& writer) {
        const Slot* const slot = shown_slot(frame);
        if (slot == nullptr || slot->summary.holders.empty() || !writer.has_room(7))
            return;
        writer.skip(8);
        writer.heading("Who held it");
        if (frame.session.runs.size() > 1)
            writer.paragraph("in " + frame.session.runs[frame.selection.run].label,
                             frame.canvas.theme().faint_text);
        if (slot->summary.holders_are_sizes)
            writer.paragraph("Tags and call stacks were not recorded: these are sizes of blocks.",
                             frame.canvas.theme().faint_text);
        writer.skip(2);
        const Bytes all = slot->summary.at_peak[Series::allocated];
        for (const PeakHolder& holder : slot->summary.holders) {
            if (!writer.has_room(2))
                return;
            draw_holder(frame, writer.row(), holder, all);
        }
        if (slot->summary.other_names > 0)
            draw_holder(frame, writer.row(),
                        {fmt::format("{} other {}", format_count(slot->summary.other_names),
                                     slot->summary.holders_are_sizes ? "sizes" : "places"),
                         slot->summary.others.bytes, slot->summary.others.blocks},
                        all);
    }

    // A share bar behind, the name over it, the figures at the right.
    static void draw_holder(Frame& frame, const Box& row, const PeakHolder& holder, Bytes all) {
        Canvas& canvas = frame.canvas;
        const Theme& theme = canvas.theme();
        const float right = row.right - canvas.px(Writer::kFigureWidth);
        const Box bar{row.left, row.top + 1, right, row.bottom - 2};
        canvas.fill(bar, mix(theme.ground, theme.text, 0.05));
        const auto part = static_cast<float>(std::clamp(share_of(holder.bytes, all), 0.0, 1.0));
        canvas.fill({bar.left, bar.top, bar.left + std::round(bar.width() * part), bar.bottom},
                    mix(theme.ground, theme.allocated, 0.55));
        canvas.text_within({bar.left + canvas.px(8), bar.top, bar.right - canvas.px(8), bar.bottom},
                           holder.name, theme.text);
        canvas.text_within({right + canvas.px(12), row.top, row.right, row.bottom},
                           fmt::format("{}, {}, {}", format_bytes(holder.bytes),
                                       format_brief_share(holder.bytes, all),
                                       format_counted(holder.blocks, "block")),
                           theme.text);
    }

    // --- the right column ---------------------------------------------------------------------

    void draw_refusal(Frame& frame, Writer& writer) {
        const Slot* const slot = shown_slot(frame);
        if (slot == nullptr || !slot->summary.refused || !writer.has_room(6))
            return;
        const Theme& theme = frame.canvas.theme();
        const RefusedRequest& refused = *slot->summary.refused;
        const float top = writer.box.top;
        const float indent = frame.canvas.px(14);
        writer.box.left += indent;
        writer.heading(refused.was_recorded ? "Out of memory, when it was recorded"
                                            : "Out of memory");
        writer.paragraph(
            fmt::format("{} requested; {} free of {} reserved, the largest piece {}.",
                        format_bytes(refused.requested), format_bytes(refused.free),
                        format_bytes(refused.held), format_bytes(refused.largest_free)),
            theme.text);
        if (refused.free >= refused.requested && refused.largest_free < refused.requested)
            writer.paragraph("There was enough, but in pieces too small: fragmentation.",
                             theme.problem);
        if (refused.count > 1)
            writer.paragraph(fmt::format("It happened {} times.", format_count(refused.count)),
                             theme.faint_text);
        draw_link(frame, writer, "First " + moment(*slot->history, refused.event) + ". Show it",
                  *slot->history, refused.event);
        writer.box.left -= indent;
        frame.canvas.fill(
            {writer.box.left, top, writer.box.left + frame.canvas.px(4), writer.box.top},
            refused.was_recorded ? theme.warning : theme.problem);
        writer.skip(16);
    }

    void draw_findings(Frame& frame, Writer& writer) const {
        const Theme& theme = frame.canvas.theme();
        const ViewedRun* const run = frame.session.shown(frame.selection.run);
        if (run == nullptr)
            return;
        const std::vector<Finding>& findings = run->findings;
        const LoadState& state = run->findings_state;
        if (!writer.has_room(3) || (findings.empty() && state.phase == LoadState::Phase::waiting))
            return;
        writer.heading("Findings");
        writer.skip(2);
        if (findings.empty())
            writer.paragraph(state.phase == LoadState::Phase::ready
                                 ? "Nothing stands out: never out of memory, little fragmentation."
                                 : state.activity + "\u2026",
                             theme.faint_text);
        const std::size_t count = std::min(findings.size(), kMostFindings);
        for (std::size_t i = 0; i < count && writer.has_room(2); ++i)
            draw_finding(frame, writer, findings[i], i);
        if (findings.size() > count)
            writer.paragraph(
                fmt::format("and {} more, in the table Findings", findings.size() - count),
                theme.faint_text);
        writer.skip(16);
    }

    static void draw_finding(Frame& frame, Writer& writer, const Finding& finding,
                             std::size_t index) {
        Canvas& canvas = frame.canvas;
        const Theme& theme = canvas.theme();
        const Colour colour = finding.weight == Finding::Weight::problem   ? theme.problem
                              : finding.weight == Finding::Weight::warning ? theme.warning
                                                                           : theme.faint_text;
        const float indent = canvas.px(14);
        const auto lines =
            wrapped(canvas, finding.title, std::max(writer.box.width() - indent, 1.0F));
        const Box all{writer.box.left, writer.box.top, writer.box.right,
                      writer.box.top + writer.line() * static_cast<float>(lines.size())};
        if (clicked_line(frame, all, fmt::format("finding {}", index))) {
            const auto history = shown_history(frame);
            if (history && finding.event != kNever)
                go_to_event(frame, *history, finding.event);
            frame.selection.finding = index;
            frame.selection.wanted_view = "findings";
        }
        const float size = canvas.px(6);
        const float middle = writer.box.top + writer.line() / 2;
        canvas.fill({writer.box.left, middle - size / 2, writer.box.left + size, middle + size / 2},
                    colour);
        for (const std::string& line : lines) {
            Box row = writer.row();
            row.left += indent;
            canvas.text_within(row, line, theme.text);
        }
    }

    static void draw_facts(Frame& frame, Writer& writer) {
        const ViewedRun* const run = frame.session.shown(frame.selection.run);
        if (run == nullptr || !writer.has_room(4))
            return;
        const Theme& theme = frame.canvas.theme();
        writer.heading("This run");
        writer.skip(2);
        writer.fact("trace", run->trace_name);
        writer.fact("policy", run->run ? run->run->scenario.policy : run->policy);
        if (run->history) {
            const HistoryCounts counts = run->history->counts();
            writer.fact("events", format_count(counts.events));
            writer.fact("blocks", format_count(counts.blocks));
            if (run->history->end(AxisUnit::time) > 1)
                writer.fact("length", format_duration(run->history->end(AxisUnit::time)));
        }
        if (run->run)
            writer.fact("device", run->run->device_name);
        if (run->tiers) {
            const TierStalls& stalls = run->tiers->stalls;
            writer.fact("machine", run->tiers->machine_name);
            writer.fact("kernels", format_count(run->tiers->kernels));
            writer.fact("length", format_duration(run->tiers->makespan));
            writer.fact("stalls",
                        fmt::format("{} for data on its way, {} for room, {} for reservations",
                                    format_duration(stalls.fetch), format_duration(stalls.room),
                                    format_duration(stalls.reservation)));
        }
        for (const std::string& warning : run->warnings)
            writer.paragraph("note: " + warning, theme.faint_text);
    }

    std::map<std::size_t, Slot> slots_;  // by index of the run
};

}  // namespace

ViewInfo overview_view() {
    return {"overview", "Overview", "How much memory at the peak, who held it, and what was found.",
            Pane::main, make_view<OverviewView>};
}

}  // namespace tidemark::viz
