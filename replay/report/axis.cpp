// Powers of two.
#include "replay/report/axis.h"

#include <array>
#include <string_view>

#include <fmt/format.h>

namespace tidemark::report {

Bytes tick_step(double value) {
    Bytes step = 1;
    while (static_cast<double>(step) < value && step < (Bytes{1} << 60U))
        step *= 2;
    return step;
}

std::string tick_label(Bytes value) {
    constexpr std::array<std::string_view, 7> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double shown = static_cast<double>(value);
    std::size_t unit = 0;
    for (; shown >= 1024 && unit + 1 < kUnits.size(); ++unit)
        shown /= 1024;
    return fmt::format("{:.4g} {}", shown, kUnits[unit]);
}

}  // namespace tidemark::report
