// Shapes and text on a draw list. They go straight into its vertices, a few at a time, so that
// ImGui can start a new range of its 16-bit indices wherever one is full.
#include "viz/draw/canvas.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <utility>

#include "viz/draw/texture_store.h"

namespace tidemark::viz {
namespace {

constexpr std::size_t kLongestText = 8000;  // bytes, of which each may become four vertices
constexpr float kDash = 4;                  // points
constexpr float kLabelPad = 3;              // points

// The part of `box` that the list will show: shapes of many parts are made only for that.
Box visible(const ImDrawList& list, const Box& box) {
    const ImVec2 least = list.GetClipRectMin();
    const ImVec2 most = list.GetClipRectMax();
    return {std::max(box.left, least.x), std::max(box.top, least.y), std::min(box.right, most.x),
            std::min(box.bottom, most.y)};
}

bool is_empty(const Box& box) {
    return !(box.right > box.left && box.bottom > box.top);
}

// A convex shape of a few corners.
struct Polygon {
    static constexpr std::size_t kMost = 8;

    std::array<ImVec2, kMost> corners;
    std::size_t count = 0;

    void add(ImVec2 corner) {
        if (count < kMost)
            corners[count++] = corner;
    }
};

// The part of `shape` where sign * (x + y - at) >= 0.
Polygon cut(const Polygon& shape, float at, float sign) {
    Polygon rest;
    const auto side = [at, sign](ImVec2 point) { return sign * (point.x + point.y - at); };
    for (std::size_t i = 0; i < shape.count; ++i) {
        const ImVec2 here = shape.corners[i];
        const ImVec2 next = shape.corners[(i + 1) % shape.count];
        const float from = side(here);
        const float to = side(next);
        if (from >= 0)
            rest.add(here);
        if ((from >= 0) != (to >= 0)) {
            const float share = from / (from - to);
            rest.add({here.x + (next.x - here.x) * share, here.y + (next.y - here.y) * share});
        }
    }
    return rest;
}

void fill_polygon(ImDrawList& list, const Polygon& shape, Colour colour) {
    if (shape.count < 3)
        return;
    const auto count = static_cast<unsigned>(shape.count);
    list.PrimReserve(static_cast<int>(3 * (count - 2)), static_cast<int>(count));
    const ImVec2 white = ImGui::GetFontTexUvWhitePixel();
    const unsigned first = list._VtxCurrentIdx;
    for (unsigned i = 2; i < count; ++i) {
        list.PrimWriteIdx(static_cast<ImDrawIdx>(first));
        list.PrimWriteIdx(static_cast<ImDrawIdx>(first + i - 1));
        list.PrimWriteIdx(static_cast<ImDrawIdx>(first + i));
    }
    for (unsigned i = 0; i < count; ++i)
        list.PrimWriteVtx(shape.corners[i], white, colour);
}

// To ImGui, text without an end ends at a zero: an empty text must not get there.
float width_of(const char* begin, const char* end) {
    if (begin == end)
        return 0;
    return ImGui::GetFont()->CalcTextSizeA(ImGui::GetFontSize(), FLT_MAX, 0, begin, end, nullptr).x;
}

// `text` without the part that is too long for one call, cut between letters.
std::string_view bounded(std::string_view text) {
    if (text.size() <= kLongestText)
        return text;
    std::size_t end = kLongestText;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U)
        --end;
    return text.substr(0, end);
}

float shift_of(Align align) {
    return align == Align::left ? 0.0F : align == Align::centre ? 0.5F : 1.0F;
}

// How many letters (code points) there are; after the second they don't matter here.
bool has_two_letters(std::string_view text) {
    return std::count_if(text.begin(), text.end(), [](char letter) {
               return (static_cast<unsigned char>(letter) & 0xc0U) != 0x80U;
           }) >= 2;
}

// A font without it has a replacement (fonts.h).
constexpr std::string_view kEllipsis = "\u2026";

}  // namespace

void Canvas::fill(const Box& box, Colour colour) {
    if (is_empty(box))
        return;
    list_->PrimReserve(6, 4);
    list_->PrimRect({box.left, box.top}, {box.right, box.bottom}, colour);
}

void Canvas::outline(const Box& box, Colour colour, float thickness) {
    const Box edge{std::floor(box.left), std::floor(box.top), std::floor(box.right),
                   std::floor(box.bottom)};
    if (is_empty(edge))
        return;
    const float wide = std::max(1.0F, std::round(thickness));
    const float x = std::min(wide, edge.width());
    const float y = std::min(wide, edge.bottom - edge.top);
    fill({edge.left, edge.top, edge.right, edge.top + y}, colour);
    fill({edge.left, edge.bottom - y, edge.right, edge.bottom}, colour);
    fill({edge.left, edge.top + y, edge.left + x, edge.bottom - y}, colour);
    fill({edge.right - x, edge.top + y, edge.right, edge.bottom - y}, colour);
}

void Canvas::line(ImVec2 from, ImVec2 to, Colour colour, float thickness) {
    list_->AddLine(from, to, colour, thickness);
}

void Canvas::vertical(float x, float top, float bottom, Colour colour) {
    const float left = std::floor(x);
    fill({left, top, left + 1, bottom}, colour);
}

void Canvas::horizontal(float y, float left, float right, Colour colour) {
    const float top = std::floor(y);
    fill({left, top, right, top + 1}, colour);
}

void Canvas::dashed_horizontal(float y, float left, float right, Colour colour) {
    const float dash = std::max(1.0F, std::round(px(kDash)));
    const float top = std::floor(y);
    const Box seen = visible(*list_, {left, top, right, top + 1});
    if (is_empty(seen))
        return;
    // From `left` on, wherever the clip starts: so dashes don't move when it does.
    const float skipped = std::floor((seen.left - left) / (2 * dash));
    for (float x = left + skipped * 2 * dash; x < seen.right; x += 2 * dash)
        fill({x, top, std::min(x + dash, right), top + 1}, colour);
}

void Canvas::hatch(const Box& box, Colour ground, Colour stripes, float step) {
    fill(box, ground);
    const Box seen = visible(*list_, box);
    if (is_empty(seen))
        return;
    Polygon whole;
    whole.add({seen.left, seen.top});
    whole.add({seen.right, seen.top});
    whole.add({seen.right, seen.bottom});
    whole.add({seen.left, seen.bottom});
    // On whole pixels of the window, so that the stripes of neighbours meet.
    const float apart = std::max(3.0F, std::round(px(step)));
    const float wide = std::max(1.0F, std::round(apart / 4));
    const float last = seen.right + seen.bottom;
    for (float at = std::floor((seen.left + seen.top) / apart) * apart; at < last; at += apart)
        fill_polygon(*list_, cut(cut(whole, at, 1), at + wide, -1), stripes);
}

void Canvas::triangle(ImVec2 a, ImVec2 b, ImVec2 c, Colour colour) {
    list_->AddTriangleFilled(a, b, c, colour);
}

float Canvas::text(ImVec2 at, std::string_view text, Colour colour, Align align) {
    if (text.empty())
        return 0;
    const std::string_view shown = bounded(text);
    if (shown.empty())
        return 0;
    const float width = text_width(shown);
    const ImVec2 origin{std::floor(at.x - width * shift_of(align)), std::floor(at.y)};
    list_->AddText(ImGui::GetFont(), ImGui::GetFontSize(), origin, colour, shown.data(),
                   shown.data() + shown.size());
    offer(origin, width, shown);
    return width;
}

// Text outside of the visible area can't be selected.
void Canvas::offer(ImVec2 at, float width, std::string_view text) {
    if (texts_ == nullptr)
        return;
    const float height = line_height();
    const float middle = at.y + height / 2;
    if (middle >= list_->GetClipRectMin().y && middle <= list_->GetClipRectMax().y)
        texts_->push_back({at.x, at.y, width, height, std::string(text)});
}

float Canvas::text_within(const Box& box, std::string_view text, Colour colour, Align align) {
    const float room = box.width();
    const std::string_view shown = bounded(text);
    if (shown.empty())
        return 0;
    const float height = line_height();
    const float top = box.top + (box.bottom - box.top - height) / 2;
    const float x = box.left + room * shift_of(align);
    if (shown.size() == text.size() && text_width(shown) <= room)
        return this->text({x, top}, shown, colour, align);
    const float dots_width = text_width(kEllipsis);
    const char* end = shown.data();
    const float kept = ImGui::GetFont()
                           ->CalcTextSizeA(ImGui::GetFontSize(), std::max(room - dots_width, 0.0F),
                                           0, shown.data(), shown.data() + shown.size(), &end)
                           .x;
    const std::string_view prefix(shown.data(), static_cast<std::size_t>(end - shown.data()));
    if (!has_two_letters(prefix) || kept + dots_width > room)
        return 0;
    const float width = kept + dots_width;
    const float left = std::floor(x - width * shift_of(align));
    SelectableTexts* const texts = std::exchange(texts_, nullptr);
    this->text({left, top}, prefix, colour);
    this->text({left + kept, top}, kEllipsis, colour);
    texts_ = texts;
    offer({left, std::floor(top)}, width, text);
    return width;
}

Box Canvas::label_box(ImVec2 at, std::string_view text, Align align) const {
    const float pad = std::round(px(kLabelPad));
    const float width = text_width(bounded(text));
    const float left = std::floor(at.x - width * shift_of(align));
    const float top = std::floor(at.y);
    return {left - pad, top - 1, left + std::ceil(width) + pad, top + line_height() + 1};
}

void Canvas::label(ImVec2 at, std::string_view text, Colour colour, Align align) {
    const Box ground = label_box(at, text, align);
    fill(ground, theme_->panel);
    outline(ground, theme_->border);
    this->text({ground.left + std::round(px(kLabelPad)), std::floor(at.y)}, text, colour);
}

float Canvas::text_width(std::string_view text) const {
    return width_of(text.data(), text.data() + text.size());
}

float Canvas::line_height() const {
    return ImGui::GetFontSize();
}

void Canvas::clip(const Box& box) {
    list_->PushClipRect({box.left, box.top}, {box.right, box.bottom}, true);
}

void Canvas::unclip() {
    list_->PopClipRect();
}

void Canvas::image(const Box& box, const Bitmap& bitmap) {
    TextureStore* const store = texture_store();
    const ImTextureID texture = store != nullptr ? store->texture(bitmap) : nullptr;
    if (texture != nullptr && !is_empty(box))
        list_->AddImage(texture, {box.left, box.top}, {box.right, box.bottom});
}

}  // namespace tidemark::viz
