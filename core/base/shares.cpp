// See the header.
#include "core/base/shares.h"

#include <fmt/format.h>

#include "core/base/text.h"

namespace tidemark {

std::string format_share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? std::string() : format_percent(share_of(part, whole));
}

std::string format_brief_share(std::uint64_t part, std::uint64_t whole) {
    const double percent = 100 * share_of(part, whole);
    if (part > 0 && percent < 0.1)
        return "< 0.1 %";
    return fmt::format("{:.{}f} %", percent, part > 0 && percent < 10 ? 1 : 0);
}

std::string format_change(double change) {
    return fmt::format("{:+.1f} %", 100 * change);
}

}  // namespace tidemark
