// Offers runs to compare with: what a finding suggests, any policy, another file.
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

constexpr float kOffersWidth = 720;  // points
constexpr float kOfferPad = 10;      // about a button's text
constexpr float kPolicyWidth = 110;

enum class OfferLook : std::uint8_t { small, large };

// A button at the top of the column, followed by its description where it is one of a list. True if
// it was clicked.
bool offer(Frame& frame, Writer& writer, std::string_view text, OfferLook look,
           std::string_view about = {}) {
    Canvas& canvas = frame.canvas;
    const Theme& theme = canvas.theme();
    const bool is_large = look == OfferLook::large;
    const float height =
        std::ceil(canvas.line_height() + canvas.px(is_large ? 2 * kOfferPad : kOfferPad / 2));
    if (writer.box.height() < height)
        return false;
    const float width = about.empty()
                            ? std::ceil(canvas.text_width(text) + 3 * canvas.px(kOfferPad))
                            : canvas.px(kPolicyWidth);
    const Box at{writer.box.left, writer.box.top,
                 std::min(writer.box.left + width, writer.box.right), writer.box.top + height};
    const Press press = frame.press(at, std::string(text).c_str());
    const double share = press.hovered ? 0.45 : is_large ? 0.32 : 0.14;
    canvas.fill(at, mix(theme.ground, theme.accent, share));
    if (is_large)
        canvas.outline(at, theme.accent);
    canvas.text_within(at, text, theme.text, Align::centre);
    canvas.text_within({at.right + canvas.px(kOfferPad), at.top, writer.box.right, at.bottom},
                       about, theme.faint_text);
    writer.box.top = at.bottom + canvas.px(4);
    return press.clicked;
}

bool is_loading(const ViewedRun& run) {
    return run.state.phase == LoadState::Phase::waiting ||
           run.state.phase == LoadState::Phase::loading;
}

// Why several runs can't be compared.
std::string why_not_compared(const Session& session) {
    for (const ViewedRun& run : session.runs)
        if (run.state.phase == LoadState::Phase::failed)
            return fmt::format("{} can't be compared: {}", run.label,
                               printable(to_text(run.state.error)));
    return "Fewer than two of these runs have a history to compare.";
}

void draw_replays(Frame& frame, Writer& writer) {
    const ViewedRun& run = frame.run();
    const Theme& theme = frame.canvas.theme();
    const auto suggested = std::ranges::find_if(
        run.findings, [](const Finding& each) { return !each.policy.empty(); });
    const bool has_suggestion = suggested != run.findings.end();
    if (has_suggestion) {
        writer.paragraph(suggested->title, theme.text);
        if (offer(frame, writer, fmt::format("Compare with {} (U)", suggested->policy),
                  OfferLook::large))
            frame.selection.wanted_policy = suggested->policy;
        writer.skip(10);
    }
    if (offer(frame, writer, "Replay under\u2026 (Shift-U)",
              has_suggestion ? OfferLook::small : OfferLook::large))
        frame.selection.wants_policies = true;
    writer.skip(2);
    writer.paragraph("Any policy, with its options; or one of these with its defaults:",
                     theme.faint_text);
    const std::string& shown = run.run ? run.run->scenario.policy : run.policy;
    for (const PolicyInfo& policy : all_policies()) {
        if (policy.tried_unasked && policy.name != shown &&
            offer(frame, writer, policy.name, OfferLook::small, policy.summary))
            frame.selection.wanted_policy = policy.name;
    }
    writer.skip(10);
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
    const float top = std::round(frame.area.top + frame.area.height() * 0.08F);
    Writer writer{canvas, {left, top, left + width, frame.area.bottom - canvas.px(8)}};
    writer.headline(
        is_alone ? "Compare: there is only one run" : "Compare: there are no two runs to compare",
        theme.text);
    writer.skip(6);
    if (!is_alone)
        writer.paragraph(why_not_compared(session), theme.problem);
    writer.paragraph(
        "The same program under another policy, or another recording of it, drawn under "
        "this one at one scale: which needs less memory, by how much, from when on, "
        "and at what cost.",
        theme.faint_text);
    writer.skip(14);
    const ViewedRun& run = frame.run();
    if (frame.replays && !frame.still && run.history && !run.live)
        draw_replays(frame, writer);
    if (frame.opens && !frame.still) {
        if (offer(frame, writer, "Open another recording (Ctrl-O)", OfferLook::small))
            frame.selection.wants_file = true;
        writer.skip(10);
    }
    writer.paragraph("From the command line: tidemark view FILE --policy torch --policy best-fit",
                     theme.faint_text);
}

}  // namespace tidemark::viz
