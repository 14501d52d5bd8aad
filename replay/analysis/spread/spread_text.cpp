// Numbers first, then the unit that both share.
#include "replay/analysis/spread/spread_text.h"

#include <cmath>

#include <fmt/format.h>

#include "core/base/text.h"

namespace tidemark {
namespace {

std::string ends_text(double low, double high) {
    const double from = std::round(100 * low);
    const double to = std::round(100 * high);
    return from == to ? fmt::format("{:.0f} %", to) : fmt::format("{:.0f} to {:.0f} %", from, to);
}

}  // namespace

std::string range_text(const PeakSpread& spread) {
    const std::string low = format_bytes(spread.p5);
    const std::string high = format_bytes(spread.p95);
    if (low == high)
        return high;
    const std::size_t unit = high.rfind(' ');
    const std::size_t other = low.rfind(' ');
    const bool same = unit != std::string::npos && other != std::string::npos &&
                      high.substr(unit) == low.substr(other);
    return fmt::format("{} to {}", same ? low.substr(0, other) : low, high);
}

std::string saving_text(const SavingSpread& saving) {
    if (saving.p5 > 0)
        return "saves " + ends_text(saving.p5, saving.p95);
    if (saving.p95 < 0)
        return fmt::format("needs {} more", ends_text(-saving.p95, -saving.p5));
    const auto less = static_cast<int>(std::lround(100 * saving.p95));
    const auto more = static_cast<int>(std::lround(-100 * saving.p5));
    if (less == 0 && more == 0)
        return "needs as much";
    if (less == 0)
        return fmt::format("needs up to {} % more", more);
    if (more == 0)
        return fmt::format("needs up to {} % less", less);
    return fmt::format("needs from {} % less to {} % more", less, more);
}

}  // namespace tidemark
