// The rasteriser. Rectangles of one colour and glyphs are most of the input and have fast paths;
// everything else is triangles, filled span by span.
#include "viz/headless/rasteriser.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tidemark::viz {
namespace {

// Positions in 1/256 pixel. Beyond 2^22 pixels they are brought back: products then fit.
using Fixed = std::int64_t;
constexpr Fixed kOne = 256;
constexpr double kFarthest = 4194304.0;

Fixed to_fixed(float position) {
    return static_cast<Fixed>(
        std::lround(std::clamp(static_cast<double>(position), -kFarthest, kFarthest) * 256));
}

// The first pixel whose middle is not before `position`.
std::int64_t first_pixel(Fixed position) {
    return (position + kOne / 2 - 1) >> 8;
}

// Pixels [left, right) x [top, bottom).
struct Area {
    std::int64_t left = 0;
    std::int64_t top = 0;
    std::int64_t right = 0;
    std::int64_t bottom = 0;

    bool empty() const { return left >= right || top >= bottom; }
};

Area intersection(const Area& a, const Area& b) {
    return {std::max(a.left, b.left), std::max(a.top, b.top), std::min(a.right, b.right),
            std::min(a.bottom, b.bottom)};
}

constexpr std::uint32_t alpha_of(Colour colour) {
    return colour >> 24;
}

constexpr std::uint32_t part_of(Colour colour, unsigned shift) {
    return colour >> shift & 0xffU;
}

// a * b / 255, rounded; exact for 0 and 255.
constexpr std::uint32_t product(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t sum = a * b + 128;
    return (sum + (sum >> 8)) >> 8;
}

Colour tinted(Colour texel, Colour colour) {
    if (texel == 0xffffffffU)
        return colour;
    if (colour == 0xffffffffU)
        return texel;
    Colour result = 0;
    for (const unsigned shift : {0U, 8U, 16U, 24U})
        result |= product(part_of(texel, shift), part_of(colour, shift)) << shift;
    return result;
}

void blend(Colour& target, Colour colour) {
    const std::uint32_t alpha = alpha_of(colour);
    if (alpha == 255) {
        target = colour;
    } else if (alpha != 0) {
        Colour result = 0xff000000U;
        for (const unsigned shift : {0U, 8U, 16U})
            result |= (product(part_of(colour, shift), alpha) +
                       product(part_of(target, shift), 255 - alpha))
                      << shift;
        target = result;
    }
}

struct Sheet {
    Bitmap& bitmap;
    Area clip;

    Colour* row(std::int64_t y) const {
        return bitmap.pixels.data() + static_cast<std::size_t>(y) * bitmap.width;
    }

    void fill_span(std::int64_t y, std::int64_t left, std::int64_t right, Colour colour) const {
        Colour* const pixels = row(y);
        if (alpha_of(colour) == 255)
            std::fill(pixels + left, pixels + right, colour);
        else
            for (std::int64_t x = left; x < right; ++x)
                blend(pixels[x], colour);
    }
};

Colour texel(const Texture& texture, std::int64_t x, std::int64_t y) {
    const auto column =
        static_cast<std::size_t>(std::clamp<std::int64_t>(x, 0, texture.width - std::int64_t{1}));
    const auto line =
        static_cast<std::size_t>(std::clamp<std::int64_t>(y, 0, texture.height - std::int64_t{1}));
    const std::size_t at = line * texture.width + column;
    if (texture.alpha != nullptr)
        return static_cast<Colour>(texture.alpha[at]) << 24 | 0xffffffU;
    return texture.colours[at];
}

bool is_white(const Texture* texture) {
    return texture == nullptr || texture->width == 0 || texture->height == 0 ||
           (texture->alpha == nullptr && texture->colours == nullptr);
}

Colour sample(const Texture* texture, double u, double v) {
    if (is_white(texture))
        return 0xffffffffU;
    return texel(*texture, static_cast<std::int64_t>(std::floor(u * texture->width)),
                 static_cast<std::int64_t>(std::floor(v * texture->height)));
}

bool is_finite(const ImDrawVert& vertex) {
    return std::isfinite(vertex.pos.x) && std::isfinite(vertex.pos.y) &&
           std::isfinite(vertex.uv.x) && std::isfinite(vertex.uv.y);
}

bool same(ImVec2 a, ImVec2 b) {
    return a.x == b.x && a.y == b.y;
}

// --- rectangles ----------------------------------------------------------------------------------

// Two triangles that are a rectangle of one colour as ImGui makes them: a b c, a c d, from the top
// left clockwise, its texture (if any) parallel to it.
bool is_rectangle(const ImDrawVert& a, const ImDrawVert& b, const ImDrawVert& c,
                  const ImDrawVert& d) {
    return a.col == b.col && a.col == c.col && a.col == d.col && a.pos.x == d.pos.x &&
           b.pos.x == c.pos.x && a.pos.y == b.pos.y && c.pos.y == d.pos.y && a.uv.x == d.uv.x &&
           b.uv.x == c.uv.x && a.uv.y == b.uv.y && c.uv.y == d.uv.y && a.pos.x < b.pos.x &&
           a.pos.y < c.pos.y;
}

// Where a row or column of pixels is in a texture: in 2^-32 texels, from the first pixel on.
struct Walk {
    std::int64_t at = 0;
    std::int64_t step = 0;
};

Walk walk(float from, float to, float first, float last, std::uint32_t texels, std::int64_t pixel) {
    constexpr double kUnit = 4294967296.0;
    const double size = static_cast<double>(texels);
    const double slope = (static_cast<double>(last) - first) / (static_cast<double>(to) - from);
    const double middle = static_cast<double>(pixel) + 0.5 - from;
    const auto fixed = [](double value) {
        return static_cast<std::int64_t>(std::clamp(value * kUnit, -kUnit * 65536, kUnit * 65536));
    };
    return {fixed((first + middle * slope) * size), fixed(slope * size)};
}

void copy_texture(const Sheet& sheet, const Area& area, const Texture& texture, const ImDrawVert& a,
                  const ImDrawVert& c) {
    const Walk across = walk(a.pos.x, c.pos.x, a.uv.x, c.uv.x, texture.width, area.left);
    Walk down = walk(a.pos.y, c.pos.y, a.uv.y, c.uv.y, texture.height, area.top);
    for (std::int64_t y = area.top; y < area.bottom; ++y, down.at += down.step) {
        Colour* const pixels = sheet.row(y);
        std::int64_t at = across.at;
        for (std::int64_t x = area.left; x < area.right; ++x, at += across.step)
            blend(pixels[x], tinted(texel(texture, at >> 32, down.at >> 32), a.col));
    }
}

void draw_rectangle(const Sheet& sheet, const Texture* texture, const ImDrawVert& a,
                    const ImDrawVert& c) {
    const Area whole{first_pixel(to_fixed(a.pos.x)), first_pixel(to_fixed(a.pos.y)),
                     first_pixel(to_fixed(c.pos.x)), first_pixel(to_fixed(c.pos.y))};
    const Area area = intersection(whole, sheet.clip);
    if (area.empty())
        return;
    if (!same(a.uv, c.uv) && !is_white(texture))
        return copy_texture(sheet, area, *texture, a, c);
    const Colour colour = tinted(sample(texture, a.uv.x, a.uv.y), a.col);
    for (std::int64_t y = area.top; y < area.bottom; ++y)
        sheet.fill_span(y, area.left, area.right, colour);
}

// --- triangles -----------------------------------------------------------------------------------

struct Point {
    Fixed x = 0;
    Fixed y = 0;
};

// An edge: across * x + down * y + constant is >= 0 for pixels' middles on its inner side. Middles
// on the edge itself belong to the shape if it is a left or a top edge.
struct Edge {
    std::int64_t across = 0;
    std::int64_t down = 0;
    std::int64_t constant = 0;

    std::int64_t at(Fixed x, Fixed y) const { return across * x + down * y + constant; }
};

// Of a triangle whose corners go clockwise on the screen.
Edge make_edge(Point from, Point to) {
    Edge edge{from.y - to.y, to.x - from.x, 0};
    edge.constant = -(edge.across * from.x + edge.down * from.y);
    const bool left = edge.across > 0;
    const bool top = edge.across == 0 && edge.down > 0;
    if (!left && !top)
        edge.constant -= 1;
    return edge;
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
    const std::int64_t quotient = a / b;
    return quotient - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

// Narrows [left, right) to the pixels of row `y` that are inside of `edge`.
void narrow(const Edge& edge, Fixed middle, std::int64_t& left, std::int64_t& right) {
    // across * (256 x + 128) + rest >= 0
    const std::int64_t rest = edge.at(kOne / 2, middle);
    const std::int64_t slope = edge.across * kOne;
    if (slope > 0)
        left = std::max(left, -floor_divide(rest, slope));
    else if (slope < 0)
        right = std::min(right, floor_divide(rest, -slope) + 1);
    else if (rest < 0)
        right = left;
}

// A quantity over a triangle: value + across * x + down * y at pixels' middles.
struct Plane {
    double value = 0;
    double across = 0;
    double down = 0;

    double at(std::int64_t x, std::int64_t y) const {
        return value + across * static_cast<double>(x) + down * static_cast<double>(y);
    }
};

struct Triangle {
    std::array<const ImDrawVert*, 3> corners;
    std::array<Point, 3> points;
    std::int64_t area = 0;  // twice, in (1/256 pixel)^2; positive

    Plane plane(const std::array<double, 3>& values) const {
        const auto size = static_cast<double>(area);
        const double x1 = static_cast<double>(points[1].x - points[0].x);
        const double y1 = static_cast<double>(points[1].y - points[0].y);
        const double x2 = static_cast<double>(points[2].x - points[0].x);
        const double y2 = static_cast<double>(points[2].y - points[0].y);
        const double first = values[1] - values[0];
        const double second = values[2] - values[0];
        Plane plane;
        plane.across = (first * y2 - second * y1) / size * kOne;
        plane.down = (second * x1 - first * x2) / size * kOne;
        const double x0 = static_cast<double>(points[0].x) / kOne - 0.5;
        const double y0 = static_cast<double>(points[0].y) / kOne - 0.5;
        plane.value = values[0] - plane.across * x0 - plane.down * y0;
        return plane;
    }
};

// Sorted so that the corners go clockwise; empty triangles have area 0.
Triangle make_triangle(const ImDrawVert& a, const ImDrawVert& b, const ImDrawVert& c) {
    Triangle triangle{{&a, &b, &c}, {}, 0};
    for (std::size_t i = 0; i < 3; ++i)
        triangle.points[i] = {to_fixed(triangle.corners[i]->pos.x),
                              to_fixed(triangle.corners[i]->pos.y)};
    const auto& p = triangle.points;
    triangle.area = (p[1].x - p[0].x) * (p[2].y - p[0].y) - (p[2].x - p[0].x) * (p[1].y - p[0].y);
    if (triangle.area < 0) {
        std::swap(triangle.points[1], triangle.points[2]);
        std::swap(triangle.corners[1], triangle.corners[2]);
        triangle.area = -triangle.area;
    }
    return triangle;
}

// How the pixels of a triangle are coloured that has more than one colour or a texture.
class Shade {
  public:
    Shade(const Triangle& triangle, const Texture* texture)
        : texture_(texture), textured_(!is_white(texture)) {
        const auto plane = [&triangle](auto value) {
            return triangle.plane({value(*triangle.corners[0]), value(*triangle.corners[1]),
                                   value(*triangle.corners[2])});
        };
        for (unsigned i = 0; i < 4; ++i)
            parts_[i] = plane([i](const ImDrawVert& vertex) {
                return static_cast<double>(part_of(vertex.col, 8 * i));
            });
        u_ = plane([](const ImDrawVert& vertex) { return static_cast<double>(vertex.uv.x); });
        v_ = plane([](const ImDrawVert& vertex) { return static_cast<double>(vertex.uv.y); });
    }

    Colour at(std::int64_t x, std::int64_t y) const {
        Colour colour = 0;
        for (unsigned i = 0; i < 4; ++i) {
            const double part = std::clamp(parts_[i].at(x, y), 0.0, 255.0);
            colour |= static_cast<Colour>(part + 0.5) << (8 * i);
        }
        return textured_ ? tinted(sample(texture_, u_.at(x, y), v_.at(x, y)), colour) : colour;
    }

  private:
    const Texture* texture_;
    bool textured_;
    std::array<Plane, 4> parts_;
    Plane u_;
    Plane v_;
};

// Calls `span(y, left, right)` for each row that has pixels of the triangle.
template <class Span>
void for_each_span(const Triangle& triangle, const Area& clip, const Span& span) {
    const auto& p = triangle.points;
    const std::array<Edge, 3> edges = {make_edge(p[0], p[1]), make_edge(p[1], p[2]),
                                       make_edge(p[2], p[0])};
    const auto [top, bottom] = std::minmax({p[0].y, p[1].y, p[2].y});
    const std::int64_t last = std::min(clip.bottom, first_pixel(bottom) + 1);
    for (std::int64_t y = std::max(clip.top, first_pixel(top)); y < last; ++y) {
        std::int64_t left = clip.left;
        std::int64_t right = clip.right;
        for (const Edge& edge : edges)
            narrow(edge, y * kOne + kOne / 2, left, right);
        if (left < right)
            span(y, left, right);
    }
}

void draw_triangle(const Sheet& sheet, const Texture* texture, const ImDrawVert& a,
                   const ImDrawVert& b, const ImDrawVert& c) {
    const Triangle triangle = make_triangle(a, b, c);
    if (triangle.area == 0)
        return;
    if (a.col == b.col && a.col == c.col && same(a.uv, b.uv) && same(a.uv, c.uv)) {
        const Colour colour = tinted(sample(texture, a.uv.x, a.uv.y), a.col);
        if (alpha_of(colour) != 0)
            for_each_span(triangle, sheet.clip, [&](auto y, auto left, auto right) {
                sheet.fill_span(y, left, right, colour);
            });
        return;
    }
    const Shade shade(triangle, same(a.uv, b.uv) && same(a.uv, c.uv) &&
                                        sample(texture, a.uv.x, a.uv.y) == 0xffffffffU
                                    ? nullptr
                                    : texture);
    for_each_span(triangle, sheet.clip, [&](auto y, auto left, auto right) {
        Colour* const pixels = sheet.row(y);
        for (auto x = left; x < right; ++x)
            blend(pixels[x], shade.at(x, y));
    });
}

// --- commands ------------------------------------------------------------------------------------

// The elements of a command, with their vertices behind its offset.
class Elements {
  public:
    Elements(const ImDrawList& list, const ImDrawCmd& command) : list_(&list), command_(&command) {}

    std::size_t size() const {
        const auto room = static_cast<std::size_t>(list_->IdxBuffer.Size);
        return command_->IdxOffset > room
                   ? 0
                   : std::min<std::size_t>(command_->ElemCount, room - command_->IdxOffset);
    }

    std::size_t index(std::size_t element) const {
        return list_->IdxBuffer.Data[command_->IdxOffset + element];
    }

    // Null if there is none, or none that can be drawn.
    const ImDrawVert* vertex(std::size_t element) const {
        const std::size_t at = command_->VtxOffset + index(element);
        if (at >= static_cast<std::size_t>(list_->VtxBuffer.Size))
            return nullptr;
        const ImDrawVert& vertex = list_->VtxBuffer.Data[at];
        return is_finite(vertex) ? &vertex : nullptr;
    }

    // From `element` on: a b c, a c d.
    bool is_quad(std::size_t element) const {
        return element + 6 <= size() && index(element) == index(element + 3) &&
               index(element + 2) == index(element + 4);
    }

  private:
    const ImDrawList* list_;
    const ImDrawCmd* command_;
};

void draw_elements(const Sheet& sheet, const Texture* texture, const Elements& elements) {
    const std::size_t count = elements.size();
    for (std::size_t i = 0; i + 3 <= count;) {
        const ImDrawVert* const a = elements.vertex(i);
        const ImDrawVert* const b = elements.vertex(i + 1);
        const ImDrawVert* const c = elements.vertex(i + 2);
        if (elements.is_quad(i)) {
            const ImDrawVert* const d = elements.vertex(i + 5);
            if (a != nullptr && b != nullptr && c != nullptr && d != nullptr &&
                is_rectangle(*a, *b, *c, *d)) {
                draw_rectangle(sheet, texture, *a, *c);
                i += 6;
                continue;
            }
        }
        if (a != nullptr && b != nullptr && c != nullptr)
            draw_triangle(sheet, texture, *a, *b, *c);
        i += 3;
    }
}

Area clip_of(const ImDrawCmd& command, const Bitmap& target) {
    const ImVec4& clip = command.ClipRect;
    const Area area{first_pixel(to_fixed(clip.x)), first_pixel(to_fixed(clip.y)),
                    first_pixel(to_fixed(clip.z)), first_pixel(to_fixed(clip.w))};
    return intersection(area, {0, 0, target.width, target.height});
}

}  // namespace

void rasterise(const ImDrawData& data, Bitmap& target) {
    for (int i = 0; i < data.CmdListsCount; ++i) {
        const ImDrawList& list = *data.CmdLists[i];
        for (const ImDrawCmd& command : list.CmdBuffer) {
            if (command.UserCallback != nullptr) {
                if (command.UserCallback != ImDrawCallback_ResetRenderState)
                    command.UserCallback(&list, &command);
                continue;
            }
            const Sheet sheet{target, clip_of(command, target)};
            if (!sheet.clip.empty())
                draw_elements(sheet, static_cast<const Texture*>(command.GetTexID()),
                              Elements(list, command));
        }
    }
}

}  // namespace tidemark::viz
