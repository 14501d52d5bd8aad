// Canvas: what views draw with: colours by meaning, fonts, and the few shapes that curves, maps and
// axes consist of. The only header through which views reach ImGui's draw lists.
//
// Coordinates are pixels of the window, x to the right, y down. Fills are opaque where they can be
// (a blended pixel costs a software renderer ten times an opaque one): mix colours, don't blend.
// Screen's thread only.
#pragma once

#include <cstdint>
#include <string_view>

#include <imgui.h>

#include "replay/report/forms/theme.h"
#include "replay/timeline/history.h"
#include "viz/draw/bitmap.h"
#include "viz/draw/selectable_text.h"

namespace tidemark::viz {

// A rectangle: [left, right) x [top, bottom).
struct Box {
    float left = 0;
    float top = 0;
    float right = 0;
    float bottom = 0;

    float width() const { return right - left; }

    float height() const { return bottom - top; }

    bool contains(ImVec2 point) const {
        return point.x >= left && point.x < right && point.y >= top && point.y < bottom;
    }

    bool overlaps(const Box& other) const {
        return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
    }

    Box inset(float by) const { return {left + by, top + by, right - by, bottom - by}; }
};

enum class Align : std::uint8_t { left, centre, right };

class Canvas {
  public:
    // `list` is the draw list of the current window.
    Canvas(ImDrawList* list, const Theme& theme, float scale)
        : list_(list), theme_(&theme), scale_(scale) {}

    // A canvas with the same look, for drawing over everything in the window; no pane cuts it off.
    Canvas over_all() const { return {ImGui::GetForegroundDrawList(), *theme_, scale_}; }

    // Texts from now on can be selected: they go into `texts` as well; null: no longer.
    void offer_texts(SelectableTexts* texts) { texts_ = texts; }

    // Tips stay left of this, so that they don't cover what is to its right; 0: the window's edge.
    void end_tips_at(float right) { tips_end_ = right; }

    float tips_end() const { return tips_end_; }

    const Theme& theme() const { return *theme_; }

    // Pixels of a length that is `points` at the usual density.
    float px(float points) const { return points * scale_; }

    void fill(const Box& box, Colour colour);
    void outline(const Box& box, Colour colour, float thickness = 1);
    void line(ImVec2 from, ImVec2 to, Colour colour, float thickness = 1);
    void vertical(float x, float top, float bottom, Colour colour);    // one pixel wide, crisp
    void horizontal(float y, float left, float right, Colour colour);  // one pixel high
    void dashed_horizontal(float y, float left, float right, Colour colour);
    void hatch(const Box& box, Colour ground, Colour stripes, float step = 6);  // 45 degrees
    void triangle(ImVec2 a, ImVec2 b, ImVec2 c, Colour colour);

    // Draws `text` with its top at `at.y`, aligned about `at.x`, and returns its width.
    float text(ImVec2 at, std::string_view text, Colour colour, Align align = Align::left);

    // The same within a width: text that doesn't fit is cut off with an ellipsis; nothing at all is
    // drawn if not even two letters fit.
    float text_within(const Box& box, std::string_view text, Colour colour,
                      Align align = Align::left);

    // Text on a ground of its own, so that it is readable over anything.
    void label(ImVec2 at, std::string_view text, Colour colour, Align align = Align::left);

    // The box of such a label.
    Box label_box(ImVec2 at, std::string_view text, Align align = Align::left) const;

    float text_width(std::string_view text) const;
    float line_height() const;

    // Everything drawn until unclip() stays inside.
    void clip(const Box& box);
    void unclip();

    // Pixels, row by row from the top, stretched over `box` without smoothing. `pixels` must stay
    // valid until the frame has been rendered.
    void image(const Box& box, const Bitmap& bitmap);

  private:
    void offer(ImVec2 at, float width, std::string_view text);

    ImDrawList* list_;
    const Theme* theme_;
    float scale_;
    float tips_end_ = 0;
    SelectableTexts* texts_ = nullptr;
};

}  // namespace tidemark::viz
