// Owners as text and colours.
#include "viz/views/owner_legend.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/model/blocks/owners.h"
#include "viz/model/blocks/site_index.h"
#include "viz/model/session/moment.h"

namespace tidemark::viz {
namespace {

constexpr float kMostLegend = 0.27F;      // of the height, at most
constexpr std::size_t kLongestName = 34;  // letters

}  // namespace

void OwnerLegend::follow(const Theme& theme, const std::shared_ptr<const OwnerSeries>& series) {
    if (paint_ && series_ == series && theme_ == &theme)
        return;
    paint_ = std::make_unique<MapPaint>(theme, series->classes());
    series_ = series;
    theme_ = &theme;
}

Colour OwnerLegend::colour(std::size_t owner) const {
    return owner == series_->not_shown() ? mix(theme_->plot, theme_->text, 0.2)
                                         : paint_->block(static_cast<std::uint8_t>(owner));
}

std::string OwnerLegend::name(std::size_t owner) const {
    if (owner == series_->not_shown())
        return "hidden by the filter";
    const BlockClass& one = series_->classes().all()[owner];
    const bool by_site = series_->classes().trait() == BlockTrait::stack;
    return one_line(by_site ? brief_call_site(one.name) : one.name, kLongestName);
}

bool OwnerLegend::is_meant(const Filter& filter, std::size_t owner) const {
    return owner < series_->not_shown() &&
           means_owner(filter, series_->classes().trait(), series_->classes().all()[owner]);
}

void OwnerLegend::toggle(Filter& filter, std::size_t owner) const {
    if (owner < series_->not_shown())
        toggle_owner(filter, series_->classes().trait(), series_->classes().all()[owner]);
}

std::vector<LegendEntry> OwnerLegend::entries(Frame& frame, bool shows_reserved) const {
    const auto at = instant_of(frame.run(), frame.camera.unit(), frame.selection.looked_at());
    std::vector<Bytes> values(series_->owners());  // none before the first event
    if (at && at->event < series_->events() && !at->has_ended)
        series_->at(at->event, values);
    const Filter& filter = frame.selection.filter;
    const bool hides = hides_something(filter);
    std::vector<LegendEntry> entries;
    for (std::size_t owner = 0; owner < series_->owners(); ++owner) {
        const bool hidden = owner == series_->not_shown();
        if (hidden && !hides)
            continue;
        std::optional<std::size_t> toggles;
        if (!hidden && !series_->classes().all()[owner].rest)
            toggles = owner;
        entries.push_back({name(owner), format_bytes(values[owner]), colour(owner), CurveLook::area,
                           toggles,
                           !hides || hidden || values[owner] > 0 || is_meant(filter, owner)});
    }
    const Bytes reserved =
        at && !at->has_ended ? series_->history().values(at->event)[Series::reserved] : 0;
    entries.push_back({"reserved", format_bytes(reserved), theme_->reserved, CurveLook::line,
                       series_->owners(), shows_reserved});
    return entries;
}

TimelineLegend OwnerLegend::fitting(Frame& frame, const Box& across, bool shows_reserved) const {
    const Canvas& canvas = frame.canvas;
    const std::vector<LegendEntry> all = entries(frame, shows_reserved);
    const float most = std::max(across.height() * kMostLegend, canvas.line_height() * 2);
    for (std::size_t left_out = 0;; ++left_out) {
        std::vector<LegendEntry> shown = all;
        const std::size_t owners = series_->classes().all().size();
        if (left_out > 0 && left_out < owners) {
            const auto first = shown.begin() + static_cast<std::ptrdiff_t>(owners - left_out);
            shown.erase(first, first + static_cast<std::ptrdiff_t>(left_out));
            shown.push_back({fmt::format("and {} more", left_out),
                             {},
                             canvas.theme().panel,
                             CurveLook::dots,
                             {},
                             true});
        }
        TimelineLegend fitting(canvas, std::move(shown), across.width());
        if (fitting.height() <= most || left_out + 1 >= owners)
            return fitting;
    }
}

}  // namespace tidemark::viz
