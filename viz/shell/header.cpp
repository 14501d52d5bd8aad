// The header: the menu, open runs with their colours and progress, live programs, the search.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/draw/tip.h"
#include "viz/shell/shell_parts.h"
#include "viz/shell/widgets.h"

namespace tidemark::viz {
namespace {

constexpr float kMostChip = 320;  // points
constexpr float kHeaderGap = 8;
constexpr float kLeastChips = 200;  // room that buttons after them leave

// "62 %", "failed", or the state of a live program.
std::string state_text(const ViewedRun& run) {
    if (run.live) {
        if (!run.live->alive)
            return run.live->died ? "died" : "has ended";
        if (run.live->paused)
            return "paused";
        return "live";
    }
    switch (run.state.phase) {
        case LoadState::Phase::waiting:
            return "waiting";
        case LoadState::Phase::loading:
            return fmt::format("{:.0f} %", std::floor(run.state.share * 100));
        case LoadState::Phase::failed:
            return run.state.error.code == ErrorCode::cancelled ? "cancelled" : "failed";
        case LoadState::Phase::ready:
            return {};
    }
    return {};
}

bool is_bad(const ViewedRun& run) {
    return run.state.phase == LoadState::Phase::failed;
}

// What the label leaves out: an error, else the state.
void draw_chip_tip(const Canvas& canvas, const ViewedRun& run) {
    const std::string what =
        run.policy.empty() ? run.label : fmt::format("{}, policy {}", run.label, run.policy);
    std::string more;
    if (is_bad(run))
        more = to_text(run.state.error);
    else if (run.live && run.live->alive)
        more = fmt::format(
            "process {}, {} a second, ring {:.0f} % full, {} lost", run.live->process,
            format_counted(static_cast<std::uint64_t>(run.live->events_per_second), "event"),
            run.live->ring_share * 100, format_count(run.live->dropped));
    else if (!run.state.activity.empty())
        more = run.state.activity;
    else if (run.warnings.size() == 1)
        more = "note: " + run.warnings.front();
    else if (!run.warnings.empty())
        more = fmt::format("{} notes, listed in the overview; the first: {}", run.warnings.size(),
                           run.warnings.front());
    draw_tip(canvas, what, more);
}

struct ChipSize {
    float swatch;
    float gap;
    float width;
};

ChipSize chip_size(const Canvas& canvas, const std::string& label, const std::string& state) {
    ChipSize size{canvas.px(10), canvas.px(6), 0};
    size.width = 3 * size.gap + size.swatch + canvas.text_width(label);
    if (!state.empty())
        size.width += size.gap + canvas.text_width(state);
    size.width = std::min(std::ceil(size.width), canvas.px(kMostChip));
    return size;
}

void draw_chip(ShellParts& parts, Canvas& canvas, const Box& box, std::size_t index) {
    const ViewedRun& run = parts.session.runs[index];
    const Theme& theme = canvas.theme();
    const std::string id = fmt::format("run {}", index);
    const bool is_shown = index == parts.selection.run;
    const bool is_choice = parts.session.runs.size() > 1;
    const Pressed pressed = button(canvas, box, id.c_str(), {},
                                   is_shown && is_choice ? ButtonLook::raised : ButtonLook::plain);
    if (pressed.left && !is_shown) {
        parts.selection.run = index;
        parts.selection.block.reset();
        parts.selection.used.clear();
    }
    if (pressed.hovered)
        draw_chip_tip(canvas, run);
    const std::string state = state_text(run);
    const ChipSize size = chip_size(canvas, run.label, state);
    const float middle = std::round((box.top + box.bottom) / 2);
    const float half = std::round(size.swatch / 2);
    float left = box.left + size.gap;
    canvas.fill({left, middle - half, left + size.swatch, middle + half},
                run_colour(theme, index, parts.selection.run));
    left += size.swatch + size.gap;
    float right = box.right - size.gap;
    if (!state.empty()) {
        const float top = middle - canvas.line_height() / 2;
        right -= canvas.text({right, top}, state, is_bad(run) ? theme.problem : theme.faint_text,
                             Align::right);
        right -= size.gap;
    }
    canvas.text_within({left, box.top, right, box.bottom}, run.label,
                       is_shown ? theme.text : theme.faint_text);
}

// Returns where they end.
float draw_chips(ShellParts& parts, Canvas& canvas, Box box) {
    const std::size_t count = parts.session.runs.size();
    for (std::size_t i = 0; i < count; ++i) {
        const ViewedRun& run = parts.session.runs[i];
        const float width = chip_size(canvas, run.label, state_text(run)).width;
        const std::string rest = fmt::format("+{} more (R)", count - i);
        const float kept = i + 1 < count ? canvas.text_width(rest) + canvas.px(kHeaderGap) : 0;
        if (box.left + width + kept > box.right && i > 0) {
            return box.left + canvas.text_within(box, rest, canvas.theme().faint_text);
        }
        draw_chip(parts, canvas,
                  {box.left, box.top, std::min(box.left + width, box.right), box.bottom}, i);
        box.left += width + canvas.px(4);
    }
    return box.left;
}

// More to open: buttons after the chips, where there is room.
struct HeaderOffer {
    std::string_view text;
    Action action;
};

std::vector<HeaderOffer> header_offers(const ShellParts& parts) {
    std::vector<HeaderOffer> offers;
    if (parts.host.open)
        offers.push_back({"+ Open", Action::open_file});
    if (parts.host.replay)
        offers.push_back({"Replay under\u2026", Action::replay_under});
    return offers;
}

void draw_chips_and_offers(ShellParts& parts, Canvas& canvas, const Box& box) {
    const std::vector<HeaderOffer> offers = header_offers(parts);
    float room = 0;
    for (const HeaderOffer& offer : offers)
        room += button_width(canvas, offer.text);
    const bool has_room = box.width() - room > canvas.px(kLeastChips);
    float left = draw_chips(
        parts, canvas, {box.left, box.top, has_room ? box.right - room : box.right, box.bottom});
    for (const HeaderOffer& offer : offers) {
        if (!has_room)
            return;
        const float width = button_width(canvas, offer.text);
        const ActionInfo& info = info_of(offer.action);
        const std::string id(info.title);
        const Pressed pressed =
            button(canvas, {left, box.top, left + width, box.bottom}, id.c_str(), offer.text);
        if (pressed.left)
            perform(parts, {offer.action, 0});
        if (pressed.hovered)
            draw_tip(canvas, fmt::format("{} ({})", info.about, keys_text(info)));
        left += width;
    }
}

}  // namespace

void draw_header(ShellParts& parts, Canvas& canvas, const Box& box) {
    const Theme& theme = canvas.theme();
    canvas.fill(box, theme.panel);
    const float pad = canvas.px(kHeaderGap);
    const Box inner{box.left + pad / 2, box.top + canvas.px(3), box.right - pad,
                    box.bottom - canvas.px(3)};
    float left = inner.left;
    const float menu = button_width(canvas, "Menu");
    if (button(canvas, {left, inner.top, left + menu, inner.bottom}, "menu", "Menu",
               parts.popup == Popup::menu ? ButtonLook::on : ButtonLook::plain)
            .left)
        parts.popup = parts.popup == Popup::menu ? Popup::none : Popup::menu;
    left += menu + pad;
    const bool finds = !parts.session.runs.empty();
    const float right =
        finds ? draw_find(parts, canvas, {left, box.top, inner.right, box.bottom}) - pad
              : inner.right;
    const Box chips{left, inner.top, right, inner.bottom};
    if (finds)
        draw_chips_and_offers(parts, canvas, chips);
    else
        canvas.text_within(chips, "Tidemark", theme.faint_text);
}

}  // namespace tidemark::viz
