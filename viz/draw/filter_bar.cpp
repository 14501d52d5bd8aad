// The filter bar: ImGui's own widgets, in a line.
#include "viz/draw/filter_bar.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/model/blocks/owners.h"
#include "viz/model/navigation/filter_query.h"

namespace tidemark::viz {
namespace {

constexpr std::size_t kShownStreams = 256;
constexpr float kFilterBarGap = 6;  // points

struct SizeChoice {
    Bytes least = 0;
    Bytes most = ~Bytes{0};
};

constexpr std::array<SizeChoice, 7> kSizes{{{},
                                            {1_KiB, ~Bytes{0}},
                                            {1_MiB, ~Bytes{0}},
                                            {16_MiB, ~Bytes{0}},
                                            {256_MiB, ~Bytes{0}},
                                            {1_GiB, ~Bytes{0}},
                                            {0, 1_MiB - 1}}};

std::string whole_bytes(Bytes bytes) {
    const WholeSize size = whole_size(bytes);
    return size.unit.empty() ? format_bytes(bytes) : fmt::format("{} {}", size.count, size.unit);
}

std::string stream_text(const std::optional<StreamId>& stream) {
    return stream ? fmt::format("stream {}", to_integer(*stream)) : "all streams";
}

// The chip of the search; a click on it ends the search.
std::string search_text(const Filter& filter) {
    return filter.text.empty() ? std::string()
                               : fmt::format("with \"{}\"  x", one_line(filter.text, 24));
}

// The chip of the owner whose blocks are shown; a click on it shows all again.
std::string owner_text(const Filter& filter) {
    if (!filter.owner)
        return {};
    const std::string_view kind = owner_choice(filter.owner->trait).title;
    return filter.owner->name.empty()
               ? fmt::format("no {}  x", kind)
               : fmt::format("{}: {}  x", kind, one_line(filter.owner->name, 24));
}

// A chip with its text, for a part of the filter; nothing for an empty one. True: it was clicked.
template <class HasRoom, class Put>
bool draw_ending_chip(const Canvas& canvas, const std::string& text, const char* id,
                      const HasRoom& has_room, const Put& put) {
    const float width = canvas.text_width(text) + 2 * ImGui::GetStyle().FramePadding.x;
    if (text.empty() || !has_room(width))
        return false;
    put(width);
    return ImGui::Button((text + id).c_str());
}

// "1 MiB and more", "below 1 MiB", "all sizes".
std::string size_limits_text(const Filter& filter) {
    if (filter.least == 0 && filter.most == ~Bytes{0})
        return "all sizes";
    if (filter.most == ~Bytes{0})
        return whole_bytes(filter.least) + " and more";
    if (filter.least == 0)
        return "below " + whole_bytes(filter.most + 1);
    return fmt::format("{} to {}", whole_bytes(filter.least), whole_bytes(filter.most));
}

void draw_sizes(Frame& frame, float width) {
    Filter& filter = frame.selection.filter;
    ImGui::SetNextItemWidth(width);
    if (!ImGui::BeginCombo("##sizes", size_limits_text(filter).c_str()))
        return;
    for (const SizeChoice& choice : kSizes) {
        Filter other;
        other.least = choice.least;
        other.most = choice.most;
        const bool chosen = filter.least == choice.least && filter.most == choice.most;
        if (ImGui::Selectable(size_limits_text(other).c_str(), chosen)) {
            filter.least = choice.least;
            filter.most = choice.most;
        }
    }
    ImGui::EndCombo();
}

void draw_streams(Frame& frame, const History& history, float width) {
    Filter& filter = frame.selection.filter;
    ImGui::SetNextItemWidth(width);
    if (!ImGui::BeginCombo("##streams", stream_text(filter.stream).c_str()))
        return;
    if (ImGui::Selectable("all streams", !filter.stream))
        filter.stream.reset();
    const std::size_t count = std::min(history.streams().size(), kShownStreams);
    for (std::size_t i = 0; i < count; ++i) {
        const StreamId stream{static_cast<std::uint32_t>(i)};
        if (ImGui::Selectable(stream_text(stream).c_str(), filter.stream == stream))
            filter.stream = stream;
    }
    ImGui::EndCombo();
}

}  // namespace

Box draw_filter_bar(Frame& frame, const Box& box, float left, const History& history,
                    std::string_view total) {
    Canvas& canvas = frame.canvas;
    const float gap = canvas.px(kFilterBarGap);
    const float height = ImGui::GetFrameHeight();
    const Box below{box.left, box.top + height + gap, box.right, box.bottom};
    if (below.height() <= 0)
        return below;
    const float chip = canvas.px(165);
    float next = left + gap;
    const auto has_room = [&](float width) { return next + width + gap < box.right; };
    const auto put = [&](float width) {
        ImGui::SetCursorScreenPos({next, box.top + gap / 2});
        next += width + gap;
    };
    Filter& filter = frame.selection.filter;
    if (draw_ending_chip(canvas, search_text(filter), "##search", has_room, put))
        filter.text.clear();
    if (draw_ending_chip(canvas, owner_text(filter), "##owner", has_room, put))
        filter.owner.reset();
    if (has_room(chip)) {
        put(chip);
        draw_sizes(frame, chip);
    }
    if (has_room(chip) && history.streams().size() > 1) {
        put(chip);
        draw_streams(frame, history, chip);
    }
    const float top = box.top + gap / 2;
    const Box rest{next + gap, top, box.right - gap, top + height};
    if (rest.width() > canvas.px(40))
        canvas.text_within(rest, total, canvas.theme().faint_text, Align::right);
    return below;
}

std::size_t choose(Frame& frame, ImVec2 at, const char* id, std::span<const std::string_view> names,
                   std::size_t chosen, float& right) {
    Canvas& canvas = frame.canvas;
    const Theme& theme = canvas.theme();
    const float height = ImGui::GetFrameHeight();
    const float pad = canvas.px(10);
    float left = at.x;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const float width = canvas.text_width(names[i]) + 2 * pad;
        const Box box{left, at.y, left + width, at.y + height};
        const Press press = frame.press(box, id, i);
        if (press.clicked)
            chosen = i;
        const bool on = i == chosen;
        canvas.fill(box, on              ? mix(theme.panel, theme.accent, 0.35)
                         : press.hovered ? mix(theme.panel, theme.text, 0.15)
                                         : mix(theme.panel, theme.text, 0.06));
        if (on)
            canvas.fill({box.left, box.bottom - canvas.px(2), box.right, box.bottom}, theme.accent);
        canvas.text({left + pad, at.y + (height - canvas.line_height()) / 2}, names[i],
                    on ? theme.text : theme.faint_text);
        left += width + 1;
    }
    right = left;
    return chosen;
}

}  // namespace tidemark::viz
