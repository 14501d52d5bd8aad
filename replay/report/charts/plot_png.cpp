// A plot in pixels, drawn by Cairo. It is loaded only here, so that a machine without it, or a
// command that draws nothing, doesn't pay for it.
#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string_view>
#include <type_traits>

#include <dlfcn.h>

#include "replay/report/charts/plot.h"
#include "replay/report/charts/png_mark.h"
#include "replay/report/forms/wording.h"

namespace tidemark {
namespace {

constexpr double kMostPixels = 32'000;  // Cairo's limit for a side
constexpr double kPixelsPerPoint = 2;
constexpr int kOpaque = 1;  // CAIRO_FORMAT_RGB24

struct Extents {  // cairo_text_extents_t
    double x_bearing, y_bearing, width, height, x_advance, y_advance;
};

// The functions of Cairo that we call; all exist since 1.0 (2005).
struct Cairo {
    void* (*image_surface_create)(int, int, int) = nullptr;
    void (*surface_destroy)(void*) = nullptr;
    int (*surface_status)(void*) = nullptr;
    int (*surface_write_to_png_stream)(void*, int (*)(void*, const unsigned char*, unsigned),
                                       void*) = nullptr;
    void* (*create)(void*) = nullptr;
    void (*destroy)(void*) = nullptr;
    int (*status)(void*) = nullptr;
    void (*scale)(void*, double, double) = nullptr;
    void (*paint)(void*) = nullptr;
    void (*set_source_rgb)(void*, double, double, double) = nullptr;
    void (*set_line_width)(void*, double) = nullptr;
    void (*move_to)(void*, double, double) = nullptr;
    void (*line_to)(void*, double, double) = nullptr;
    void (*fill)(void*) = nullptr;
    void (*stroke)(void*) = nullptr;
    void (*select_font_face)(void*, const char*, int, int) = nullptr;
    void (*set_font_size)(void*, double) = nullptr;
    void (*text_extents)(void*, const char*, Extents*) = nullptr;
    void (*show_text)(void*, const char*) = nullptr;
};

Result<Cairo> load_cairo() {
    void* const library = dlopen("libcairo.so.2", RTLD_NOW | RTLD_LOCAL);
    bool whole = library != nullptr;
    const auto find = [&](const char* name, auto& function) {
        void* const symbol = whole ? dlsym(library, name) : nullptr;
        whole = symbol != nullptr;
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(symbol);
    };
    Cairo cairo;
    find("cairo_image_surface_create", cairo.image_surface_create);
    find("cairo_surface_destroy", cairo.surface_destroy);
    find("cairo_surface_status", cairo.surface_status);
    find("cairo_surface_write_to_png_stream", cairo.surface_write_to_png_stream);
    find("cairo_create", cairo.create);
    find("cairo_destroy", cairo.destroy);
    find("cairo_status", cairo.status);
    find("cairo_scale", cairo.scale);
    find("cairo_paint", cairo.paint);
    find("cairo_set_source_rgb", cairo.set_source_rgb);
    find("cairo_set_line_width", cairo.set_line_width);
    find("cairo_move_to", cairo.move_to);
    find("cairo_line_to", cairo.line_to);
    find("cairo_fill", cairo.fill);
    find("cairo_stroke", cairo.stroke);
    find("cairo_select_font_face", cairo.select_font_face);
    find("cairo_set_font_size", cairo.set_font_size);
    find("cairo_text_extents", cairo.text_extents);
    find("cairo_show_text", cairo.show_text);
    if (!whole)
        return fail(ErrorCode::unsupported, "needs Cairo (libcairo.so.2) to draw a .png", "--plot",
                    "name a .svg instead, or install it: apt install libcairo2");
    return cairo;
}

class Page {
  public:
    Page(const Cairo& cairo, const Plot& plot)
        : cairo_(cairo),
          scale_(std::min(kPixelsPerPoint, kMostPixels / std::max(plot.width, plot.height))),
          surface_(cairo.image_surface_create(kOpaque, pixels(plot.width), pixels(plot.height)),
                   cairo.surface_destroy),
          context_(cairo.create(surface_.get()), cairo.destroy) {
        cairo_.scale(context_.get(), scale_, scale_);
        choose("#ffffff");
        cairo_.paint(context_.get());
        cairo_.select_font_face(context_.get(), "sans-serif", 0, 0);
    }

    void draw(const PlotShape& shape) {
        choose(shape.colour);
        bool first = true;
        for (const auto& [x, y] : shape.points) {
            (first ? cairo_.move_to : cairo_.line_to)(context_.get(), x, y);
            first = false;
        }
        if (shape.width > 0) {
            cairo_.set_line_width(context_.get(), shape.width);
            cairo_.stroke(context_.get());
        } else {
            cairo_.fill(context_.get());
        }
    }

    void draw(const PlotText& text) {
        choose(text.colour);
        cairo_.set_font_size(context_.get(), text.size);
        Extents extents{};
        const std::string printed = printable(text.text);  // Cairo takes only UTF-8
        cairo_.text_extents(context_.get(), printed.c_str(), &extents);
        const double back = text.anchor == PlotText::Anchor::begin    ? 0
                            : text.anchor == PlotText::Anchor::middle ? extents.x_advance / 2
                                                                      : extents.x_advance;
        cairo_.move_to(context_.get(), text.x - back, text.y);
        cairo_.show_text(context_.get(), printed.c_str());
    }

    Result<std::string> png() const {
        std::string bytes;
        const auto add = [](void* to, const unsigned char* data, unsigned size) {
            static_cast<std::string*>(to)->append(reinterpret_cast<const char*>(data), size);
            return 0;
        };
        if (cairo_.status(context_.get()) != 0 || cairo_.surface_status(surface_.get()) != 0 ||
            cairo_.surface_write_to_png_stream(surface_.get(), add, &bytes) != 0)
            return fail(ErrorCode::unsupported, "Cairo could not draw this page", "--plot",
                        "name a .svg instead");
        return bytes;
    }

  private:
    int pixels(double points) const { return std::max(static_cast<int>(points * scale_), 1); }

    void choose(std::string_view colour) {
        std::array<double, 3> parts{};
        for (std::size_t i = 0; i < parts.size(); ++i) {
            unsigned value = 0;
            const char* const digits = colour.data() + 1 + 2 * i;
            std::from_chars(digits, digits + 2, value, 16);
            parts[i] = value / 255.0;
        }
        cairo_.set_source_rgb(context_.get(), parts[0], parts[1], parts[2]);
    }

    const Cairo& cairo_;
    double scale_;
    std::unique_ptr<void, void (*)(void*)> surface_;
    std::unique_ptr<void, void (*)(void*)> context_;
};

}  // namespace

Result<std::string> plot_png(const Plot& plot) {
    TM_ASSIGN(const Cairo cairo, load_cairo());
    Page page(cairo, plot);
    for (const PlotShape& shape : plot.shapes)
        page.draw(shape);
    for (const PlotText& text : plot.texts)
        page.draw(text);
    TM_ASSIGN(std::string png, page.png());
    png.insert(std::min(report::kBehindPngHeader, png.size()), report::kPngMark);
    return png;
}

}  // namespace tidemark
