// Powers of two.
#include "replay/report/forms/byte_axis.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

namespace tidemark::report {

ByteAxis byte_axis(Bytes most) {
    constexpr double kStepsMost = 6;
    ByteAxis axis;
    while (static_cast<double>(axis.step) < static_cast<double>(most) / kStepsMost &&
           axis.step < (Bytes{1} << 60U))
        axis.step *= 2;
    const Bytes steps = std::max<Bytes>(most / axis.step + (most % axis.step != 0 ? 1 : 0), 1);
    axis.top = std::min(steps, ~Bytes{0} / axis.step) * axis.step;
    return axis;
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
