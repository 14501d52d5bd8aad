// Colours of maps and their legends.
#include "viz/views/map_paint.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace tidemark::viz {
namespace {

constexpr double kLeastShare = 0.14;   // of a block's colour in a cell that it hardly fills
constexpr float kMapPaintSwatch = 10;  // points
constexpr float kMapPaintGap = 6;
constexpr float kApart = 16;

bool is_ramp(BlockTrait trait) {
    return trait == BlockTrait::size || trait == BlockTrait::life;
}

// From small to large and from short to long: lighter and lighter, and of another hue every few
// steps, so that classes side by side can be told apart without counting.
Colour rising(double share) {
    constexpr Colour kStops[] = {rgb(0x6a3d9a), rgb(0x2f6fd0), rgb(0x17a3b8),
                                 rgb(0x4bb860), rgb(0xa6cf3a), rgb(0xf4e04d)};
    constexpr std::size_t kSteps = std::size(kStops) - 1;
    const double at = std::clamp(share, 0.0, 1.0) * kSteps;
    const std::size_t stop = std::min(static_cast<std::size_t>(at), kSteps - 1);
    return mix(kStops[stop], kStops[stop + 1], at - static_cast<double>(stop));
}

Colour class_colour(const Theme& theme, const BlockClasses& classes, std::size_t index) {
    const BlockClass& one = classes.all()[index];
    if (is_ramp(classes.trait())) {
        const std::size_t count = classes.all().size();
        const double share =
            count < 2 ? 0.5 : static_cast<double>(index) / static_cast<double>(count - 1);
        return calm(theme, rising(share));
    }
    if (one.rest)
        return mix(theme.plot, theme.text, 0.42);
    if (one.blank)
        return mix(theme.plot, theme.text, 0.32);
    return calm(theme, category(theme, index));
}

}  // namespace

MapPaint::MapPaint(const Theme& theme, const BlockClasses& classes)
    : free_(theme.cached),
      hole_(theme.plot),
      stripe_(mix(theme.plot, theme.text, 0.16)),
      dark_(theme.plot) {
    constexpr double kDarker[kShades] = {0, 0.09, 0.18, 0.27};
    for (std::size_t kind = 0; kind < 256; ++kind) {
        const Colour colour = kind < classes.all().size() && kind < kHiddenKind
                                  ? class_colour(theme, classes, kind)
                                  : mix(theme.plot, theme.text, 0.22);
        for (std::size_t shade = 0; shade < kShades; ++shade) {
            const Colour shaded = mix(colour, dark_, kDarker[shade]);
            blocks_[kind * kShades + shade] = shaded;
            waiting_[kind * kShades + shade] = mix(shaded, dark_, 0.65);
        }
    }
}

Colour MapPaint::mixed(const OccupancyCell& cell, std::uint32_t x, std::uint32_t y) const {
    Colour empty = hole_;
    if (cell.memory == 255)
        empty = free_;
    else if (cell.memory > 0)
        empty = mix(hole_, free_, cell.memory / 255.0);
    else if ((cell.flags & kReservedCell) != 0 && in_stripe(x, y))
        empty = stripe_;
    if (cell.taken == 0)
        return empty;
    const bool waits = (cell.flags & kWaitingCell) != 0;
    const std::size_t at = std::size_t{cell.kind} * kShades + shade_of(cell);
    const Colour full = waits && in_hatch(x, y) ? waiting_[at] : blocks_[at];
    return mix(empty, full, kLeastShare + (1 - kLeastShare) * cell.taken / 255.0);
}

Colour MapPaint::text_on(Colour ground) {
    const double red = ground & 0xffU;
    const double green = ground >> 8U & 0xffU;
    const double blue = ground >> 16U & 0xffU;
    return 0.299 * red + 0.587 * green + 0.114 * blue > 118 ? rgb(0x101215) : rgb(0xffffff);
}

bool draw_chip(Frame& frame, float& x, float y, std::string_view word, bool chosen) {
    Canvas& canvas = frame.canvas;
    const Theme& theme = canvas.theme();
    const float pad = canvas.px(kMapPaintGap);
    const Box box{x, y, x + canvas.text_width(word) + 2 * pad,
                  y + canvas.line_height() + canvas.px(4)};
    x = box.right + canvas.px(2);
    const Press press = frame.press(box, std::string(word).c_str());
    if (chosen || press.hovered)
        canvas.fill(box, mix(theme.ground, theme.text, chosen ? 0.16 : 0.08));
    if (chosen)
        canvas.fill({box.left, box.bottom - canvas.px(2), box.right, box.bottom}, theme.accent);
    canvas.text({box.left + pad, box.top + canvas.px(2)}, word,
                chosen ? theme.text : theme.faint_text);
    return press.clicked;
}

float draw_colour_choice(Frame& frame, float x, float y, BlockTrait shown) {
    struct Choice {
        std::string_view word;
        ColourBy colour_by;
        BlockTrait trait;
    };

    static constexpr Choice kChoices[] = {
        {"tag", ColourBy::tag, BlockTrait::tag},
        {"stream", ColourBy::stream, BlockTrait::stream},
        {"call stack", ColourBy::stack, BlockTrait::stack},
        {"size", ColourBy::size, BlockTrait::size},
        {"lifetime", ColourBy::age, BlockTrait::life},
    };
    Canvas& canvas = frame.canvas;
    x += canvas.text({x, y + canvas.px(2)}, "Colour by", canvas.theme().faint_text);
    x += canvas.px(4);
    for (const Choice& choice : kChoices)
        if (draw_chip(frame, x, y, choice.word, choice.trait == shown))
            frame.selection.colour_by = choice.colour_by;
    return x;
}

namespace {

// A small box and a name; returns its width, which is found without drawing if `draws` is false.
float swatch(Canvas& canvas, float x, float y, Colour colour, std::string_view name,
             bool draws = true) {
    const float side = canvas.px(kMapPaintSwatch);
    const float top = std::floor(y + (canvas.line_height() - side) / 2);
    if (draws) {
        canvas.fill({x, top, x + side, top + side}, colour);
        canvas.text({x + side + canvas.px(kMapPaintGap), y}, name, canvas.theme().text);
    }
    return side + canvas.px(kMapPaintGap) + canvas.text_width(name);
}

// Without the folders of a file, and not too long.
std::string short_name(std::string name) {
    constexpr std::size_t kLongest = 36;
    const std::size_t colon = name.find(".py:");
    const std::size_t slash = colon == std::string::npos ? colon : name.rfind('/', colon);
    if (slash != std::string::npos)
        name.erase(0, slash + 1);
    if (name.size() <= kLongest)
        return name;
    std::size_t end = kLongest - 1;
    while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0U) == 0x80U)
        --end;
    return name.substr(0, end) + "\u2026";
}

// A box and a word for each class; false, and nothing drawn, if they need more than the line.
bool draw_swatches(Canvas& canvas, const Box& box, const MapPaint& paint,
                   const BlockClasses& classes, std::string BlockClass::*word) {
    const auto walk = [&](bool draws) {
        float x = box.left;
        for (std::size_t i = 0; i < classes.all().size(); ++i)
            x += swatch(canvas, x, box.top, paint.block(static_cast<std::uint8_t>(i)),
                        classes.all()[i].*word, draws) +
                 canvas.px(kApart);
        return x - canvas.px(kApart);
    };
    const bool fits = walk(false) <= box.right;
    if (fits)
        walk(true);
    return fits;
}

// Classes in a row from small to large: by name, else by where each ends, else as one bar with
// words at its ends.
void draw_ramp_legend(Canvas& canvas, Box box, const MapPaint& paint, const BlockClasses& classes) {
    const std::vector<BlockClass>& all = classes.all();
    const Theme& theme = canvas.theme();
    if (draw_swatches(canvas, box, paint, classes, &BlockClass::name))
        return;
    if (classes.trait() == BlockTrait::size) {
        constexpr std::string_view kUpTo = "up to";
        const float label = canvas.text_width(kUpTo) + canvas.px(kMapPaintGap);
        if (draw_swatches(canvas, {box.left + label, box.top, box.right, box.bottom}, paint,
                          classes, &BlockClass::end)) {
            canvas.text({box.left, box.top}, kUpTo, theme.faint_text);
            return;
        }
    }
    float x = box.left;
    x += canvas.text({x, box.top}, all.front().name, theme.text) + canvas.px(kMapPaintGap);
    const float step = canvas.px(14);
    const float side = canvas.px(kMapPaintSwatch);
    const float top = std::floor(box.top + (canvas.line_height() - side) / 2);
    for (std::size_t i = 0; i < all.size() && x + step < box.right; ++i, x += step)
        canvas.fill({x, top, x + step, top + side}, paint.block(static_cast<std::uint8_t>(i)));
    canvas.text_within(
        {x + canvas.px(kMapPaintGap), box.top, box.right, box.top + canvas.line_height()},
        all.back().name, theme.text);
}

}  // namespace

void draw_class_legend(Canvas& canvas, const Box& box, const MapPaint& paint,
                       const BlockClasses& classes) {
    if (is_ramp(classes.trait()) && classes.all().size() > 1) {
        draw_ramp_legend(canvas, box, paint, classes);
        return;
    }
    const float more = canvas.text_width("+ 99 more");
    float x = box.left;
    for (std::size_t i = 0; i < classes.all().size(); ++i) {
        const std::string name = short_name(classes.all()[i].name);
        const auto kind = static_cast<std::uint8_t>(i);
        const float wide = swatch(canvas, x, box.top, paint.block(kind), name, false);
        const bool last = i + 1 == classes.all().size();
        if (x + wide + (last ? 0 : canvas.px(kApart) + more) > box.right) {
            canvas.text({x, box.top}, fmt::format("+ {} more", classes.all().size() - i),
                        canvas.theme().faint_text);
            return;
        }
        swatch(canvas, x, box.top, paint.block(kind), name);
        x += wide + canvas.px(kApart);
    }
}

std::string_view word_for_stripes(bool reserves, bool views) {
    return reserves ? views ? "reserved, unmapped; second mapping" : "reserved, unmapped"
           : views  ? "second mapping"
                    : "";
}

void draw_ground_legend(Canvas& canvas, const Box& box, const MapPaint& paint,
                        std::string_view stripes) {
    struct Entry {
        std::string_view name;
        Colour ground;
        bool hatched;
        bool striped;
    };

    std::vector<Entry> entries = {
        {"free", paint.free(), false, false},
        {"pending free", canvas.theme().faint_text, true, false},
        {"no memory", paint.hole(), false, false},
    };
    if (!stripes.empty())
        entries.push_back({stripes, paint.hole(), false, true});
    float room = box.width();  // the first ones are the most informative
    std::size_t count = 0;
    for (; count < entries.size(); ++count) {
        room -= swatch(canvas, 0, box.top, 0, entries[count].name, false) + canvas.px(kApart);
        if (room + canvas.px(kApart) < 0)
            break;
    }
    float x = box.right;
    for (std::size_t i = count; i-- > 0;) {
        const Entry& entry = entries[i];
        x -= swatch(canvas, x, box.top, entry.ground, entry.name, false);
        swatch(canvas, x, box.top, entry.ground, entry.name);
        const float side = canvas.px(kMapPaintSwatch);
        const float top = std::floor(box.top + (canvas.line_height() - side) / 2);
        const Box sample{x, top, x + side, top + side};
        if (entry.hatched)
            canvas.hatch(sample, entry.ground, canvas.theme().plot, 4);
        if (entry.striped)
            canvas.hatch(sample, entry.ground, paint.stripe(), 5);
        canvas.outline(sample, canvas.theme().border);
        x -= canvas.px(kApart);
    }
}

void draw_notice(Canvas& canvas, const Box& box, std::string_view what, std::string_view hint) {
    const float middle = (box.left + box.right) / 2;
    const float y = (box.top + box.bottom) / 2 - canvas.line_height();
    canvas.text({middle, y}, what, canvas.theme().text, Align::centre);
    canvas.text({middle, y + canvas.line_height() * 1.5F}, hint, canvas.theme().faint_text,
                Align::centre);
}

}  // namespace tidemark::viz
