// The heat map of a sweep and its Pareto front, as plots.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/theme.h"
#include "replay/report/forms/wording.h"
#include "replay/report/sweep/sweep_result.h"

namespace tidemark {
namespace {

using Anchor = PlotText::Anchor;

constexpr double kSweepMargin = 24;
constexpr double kSweepNames = 150;  // width of the names left of the cells
constexpr double kSweepTop = 48;     // above them
constexpr double kCellHeight = 30;
constexpr double kNarrowCell = 44;  // narrower ones have no text
constexpr double kFrontHeight = 360;
constexpr double kFrontAxis = 84;
constexpr std::size_t kLongestValue = 20;

std::string sweep_ink(Colour Theme::*colour) {
    return css(light_theme().*colour);
}

// The ends of the drawn range, never equal.
struct Span {
    double least = 0;
    double most = 0;

    void include(double value) {
        least = std::min(least, value);
        most = std::max(most, value);
    }

    double share(double value) const { return most > least ? (value - least) / (most - least) : 0; }
};

class HeatCells {
  public:
    HeatCells(const SweepResult& sweep, const HeatMap& map)
        : sweep_(sweep), map_(map), columns_(map.across.values.size()) {
        bool first = true;
        for (const auto& cell : map.cells) {
            if (!cell || refused(*cell))
                continue;
            const double ratio = sweep.settings[*cell].score.ratio;
            ratios_ = first ? Span{ratio, ratio} : ratios_;
            ratios_.include(ratio);
            first = false;
        }
        width_ = (plot_.width - kSweepNames - kSweepMargin) / static_cast<double>(columns_);
    }

    Plot draw() {
        titles();
        for (std::size_t row = 0; row < map_.rows(); ++row) {
            const double top = kSweepTop + kCellHeight * static_cast<double>(row);
            if (!map_.down.name.empty())
                text(kSweepNames - 8, top + 19, map_.down.values[row], Anchor::end);
            for (std::size_t column = 0; column < columns_; ++column)
                if (const auto& number = map_.cells[row * columns_ + column])
                    cell(sweep_.settings[*number], *number, column, top);
        }
        const double bottom = kSweepTop + kCellHeight * static_cast<double>(map_.rows());
        text(kSweepNames, bottom + 20,
             fmt::format(
                 "{} of the best setting, {:.3f} (dark) to {:.3f} (yellow); grey: requests were "
                 "out of memory",
                 ratio_name(sweep_), ratios_.least, ratios_.most),
             Anchor::begin, sweep_ink(&Theme::faint_text));
        plot_.height = bottom + 20 + kSweepMargin;
        return std::move(plot_);
    }

  private:
    bool refused(std::size_t number) const {
        return sweep_.settings[number].score.out_of_memory > 0;
    }

    double x_of(std::size_t column) const {
        return kSweepNames + width_ * static_cast<double>(column);
    }

    void text(double x, double y, const std::string& line, Anchor anchor,
              const std::string& colour = sweep_ink(&Theme::text)) {
        plot_.texts.push_back({x, y, line, anchor, 11, colour});
    }

    void titles() {
        text(kSweepNames, 18, one_line(map_.across.name, 60), Anchor::begin,
             sweep_ink(&Theme::faint_text));
        if (!map_.down.name.empty())
            text(kSweepNames - 8, 38, one_line(map_.down.name, kLongestValue), Anchor::end,
                 sweep_ink(&Theme::faint_text));
        const auto every = static_cast<std::size_t>(std::ceil(kNarrowCell / width_));
        for (std::size_t column = 0; column < columns_; column += every)
            text(x_of(column) + width_ / 2, 38, one_line(map_.across.values[column], kLongestValue),
                 Anchor::middle);
    }

    void cell(const SweptSetting& setting, std::size_t number, std::size_t column, double top) {
        const double share = ratios_.share(setting.score.ratio);
        plot_.shapes.push_back(box(x_of(column), top, x_of(column) + width_ - 1,
                                   top + kCellHeight - 1,
                                   refused(number) ? sweep_ink(&Theme::grid) : css(ramp(share))));
        if (width_ < kNarrowCell)
            return;
        text(x_of(column) + width_ / 2, top + 19,
             refused(number) ? fmt::format("{} OOM", setting.score.out_of_memory)
                             : fmt::format("{:.3f}", setting.score.ratio),
             Anchor::middle,
             !refused(number) && share < 0.5 ? sweep_ink(&Theme::plot) : sweep_ink(&Theme::text));
    }

    const SweepResult& sweep_;
    const HeatMap& map_;
    std::size_t columns_;
    Plot plot_;
    Span ratios_;
    double width_ = 0;
};

class FrontPoints {
  public:
    explicit FrontPoints(const SweepResult& sweep) : sweep_(sweep) {
        times_ = {0, 1};
        ratios_ = {1, 1};
        for (const SweptSetting& setting : sweep.settings) {
            times_.include(static_cast<double>(setting.score.time));
            ratios_.include(setting.score.ratio);
        }
        ratios_.most = std::max(ratios_.most, 1.001);
    }

    Plot draw() {
        plot_.height = kFrontHeight;
        grid();
        std::vector<std::pair<double, double>> front;
        for (std::size_t i = 0; i < sweep_.settings.size(); ++i) {
            if (sweep_.front[i])
                front.push_back(position(sweep_.settings[i]));
            else if (sweep_.settings[i].score.out_of_memory == 0)
                point(position(sweep_.settings[i]), 2.5, sweep_ink(&Theme::border));
        }
        std::ranges::sort(front);
        if (front.size() > 1)
            plot_.shapes.push_back(
                {.points = front, .colour = sweep_ink(&Theme::accent), .width = 1});
        for (const auto& each : front)
            point(each, 4, sweep_ink(&Theme::accent));
        return std::move(plot_);
    }

  private:
    static constexpr double kTop = 40;
    static constexpr double kBottom = kFrontHeight - 34;

    std::pair<double, double> position(const SweptSetting& setting) const {
        const double width = plot_.width - kFrontAxis - kSweepMargin;
        return {kFrontAxis + width * times_.share(static_cast<double>(setting.score.time)),
                kBottom - (kBottom - kTop) * ratios_.share(setting.score.ratio)};
    }

    void point(std::pair<double, double> at, double half, const std::string& colour) {
        const auto [x, y] = at;
        plot_.shapes.push_back(box(x - half, y - half, x + half, y + half, colour));
    }

    void grid() {
        plot_.texts.push_back({kFrontAxis, 20,
                               fmt::format("{}, over {}; blue: the Pareto front",
                                           ratio_name(sweep_), time_name(sweep_)),
                               Anchor::begin, 11, sweep_ink(&Theme::faint_text)});
        for (const unsigned quarter : {0U, 1U, 2U, 3U, 4U}) {
            const double share = quarter / 4.0;
            const double y = kBottom - (kBottom - kTop) * share;
            const double x = kFrontAxis + (plot_.width - kFrontAxis - kSweepMargin) * share;
            plot_.shapes.push_back(
                line(kFrontAxis, y, plot_.width - kSweepMargin, y, sweep_ink(&Theme::grid), 1));
            plot_.texts.push_back(
                {kFrontAxis - 8, y + 4,
                 fmt::format("{:.3f}", ratios_.least + share * (ratios_.most - ratios_.least)),
                 Anchor::end, 11, sweep_ink(&Theme::faint_text)});
            plot_.texts.push_back(
                {x, kBottom + 18,
                 format_duration(static_cast<Nanoseconds>(std::llround(times_.most * share))),
                 quarter == 4 ? Anchor::end : Anchor::middle, 11, sweep_ink(&Theme::faint_text)});
        }
    }

    const SweepResult& sweep_;
    Plot plot_;
    Span times_;
    Span ratios_;
};

}  // namespace

Plot heat_map_plot(const SweepResult& sweep, const HeatMap& map) {
    return HeatCells(sweep, map).draw();
}

Plot front_plot(const SweepResult& sweep) {
    return FrontPoints(sweep).draw();
}

}  // namespace tidemark
