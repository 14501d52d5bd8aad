// Offers of runs to compare with: what a finding suggests, any policy, another file.
#include "viz/views/compare_offers.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "core/allocator/allocator.h"
#include "replay/report/forms/wording.h"
#include "viz/draw/table.h"
#include "viz/views/overview_writer.h"

namespace tidemark::viz {
namespace {

constexpr float kOffersWidth = 640;  // points
constexpr float kOfferPad = 12;      // beside a button's text

// One behind the other, on as many lines as they need.
class OfferRow {
  public:
    OfferRow(Frame& frame, const Box& box)
        : frame_(frame),
          box_(box),
          left_(box.left),
          top_(box.top),
          height_(std::ceil(frame.canvas.line_height() + frame.canvas.px(kOfferPad))) {}

    // True if it was clicked. The first offer of a page is the `large` one.
    bool offer(std::string_view text, bool large = false) {
        Canvas& canvas = frame_.canvas;
        const Theme& theme = canvas.theme();
        const float width = std::ceil(canvas.text_width(text) + 2 * canvas.px(kOfferPad));
        if (left_ > box_.left && left_ + width > box_.right) {
            left_ = box_.left;
            top_ += height_ + canvas.px(6);
        }
        const Box at{left_, top_, std::min(left_ + width, box_.right), top_ + height_};
        left_ = at.right + canvas.px(6);
        if (at.bottom > box_.bottom)
            return false;
        const Press press = frame_.press(at, std::string(text).c_str());
        const double share = press.hovered ? 0.45 : large ? 0.32 : 0.14;
        canvas.fill(at, mix(theme.ground, theme.accent, share));
        if (large)
            canvas.outline(at, theme.accent);
        canvas.text_within(at, text, theme.text, Align::centre);
        return press.clicked;
    }

    float bottom() const { return top_ + height_; }

  private:
    Frame& frame_;
    Box box_;
    float left_;
    float top_;
    float height_;
};

bool is_loading(const ViewedRun& run) {
    return run.state.phase == LoadState::Phase::waiting ||
           run.state.phase == LoadState::Phase::loading;
}

// What stands in the way, where there are several runs.
std::string why_not_compared(const Session& session) {
    for (const ViewedRun& run : session.runs)
        if (run.state.phase == LoadState::Phase::failed)
            return fmt::format("{} is no run to compare with: {}", run.label,
                               printable(to_text(run.state.error)));
    return "Of these runs not two have a history that could be compared.";
}

// The policy without its options.
std::string_view policy_name(std::string_view policy) {
    return policy.substr(0, policy.find(':'));
}

void draw_replays(Frame& frame, Writer& writer) {
    const ViewedRun& run = frame.run();
    const Theme& theme = frame.canvas.theme();
    const auto suggested = std::ranges::find_if(
        run.findings, [](const Finding& each) { return !each.policy.empty(); });
    if (suggested != run.findings.end()) {
        writer.paragraph(suggested->title, theme.text);
        OfferRow row(frame, writer.box);
        if (row.offer(fmt::format("Compare with {} (U)", suggested->policy), true))
            frame.selection.wanted_policy = suggested->policy;
        writer.box.top = row.bottom();
        writer.skip(14);
    }
    writer.paragraph("Or under any policy; its options can be set:", theme.faint_text);
    OfferRow rows(frame, writer.box);
    if (rows.offer("Replay under\u2026 (Shift-U)", suggested == run.findings.end()))
        frame.selection.wants_policies = true;
    const std::string shown(policy_name(run.run ? run.run->scenario.policy : run.policy));
    for (const PolicyInfo& policy : all_policies()) {
        if (!policy.tried_unasked || policy.name == shown)
            continue;
        if (rows.offer(policy.name))
            frame.selection.wanted_policy = policy.name;
    }
    writer.box.top = rows.bottom();
    writer.skip(14);
}

}  // namespace

void draw_compare_offers(Frame& frame) {
    const Session& session = frame.session;
    const bool is_alone = session.runs.size() < 2;
    if (!is_alone && std::ranges::any_of(session.runs, is_loading))
        return draw_notice(frame.canvas, frame.area, "The runs to compare are still being loaded.");
    Canvas& canvas = frame.canvas;
    const Theme& theme = canvas.theme();
    const float width = std::min(canvas.px(kOffersWidth), frame.area.width() - canvas.px(32));
    const float left = std::round((frame.area.left + frame.area.right - width) / 2);
    const float top = std::round(frame.area.top + frame.area.height() * 0.12F);
    Writer writer{canvas, {left, top, left + width, frame.area.bottom - canvas.px(8)}};
    writer.headline(
        is_alone ? "Compare: there is one run so far" : "Compare: there are no two runs to compare",
        theme.text);
    writer.skip(6);
    if (!is_alone)
        writer.paragraph(why_not_compared(session), theme.problem);
    writer.paragraph(
        "The same program under another policy, or another recording of it, drawn under "
        "this one at one scale: which needs less memory, by how much, from where on, "
        "and at what price.",
        theme.faint_text);
    writer.skip(14);
    const ViewedRun& run = frame.run();
    if (frame.replays && !frame.still && run.history && !run.live)
        draw_replays(frame, writer);
    if (frame.opens && !frame.still) {
        OfferRow row(frame, writer.box);
        if (row.offer("Open another recording (Ctrl-O)"))
            frame.selection.wants_file = true;
        writer.box.top = row.bottom();
        writer.skip(14);
    }
    writer.paragraph("From the command line: tidemark view FILE --policy torch --policy best-fit",
                     theme.faint_text);
}

}  // namespace tidemark::viz
