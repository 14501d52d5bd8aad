// Three cases: exact, packed above what is live at once, not searched.
#include "replay/report/bound/offline_text.h"

#include <fmt/format.h>

#include "core/base/text.h"

namespace tidemark {

std::string offline_figure(const OfflineBound& bound) {
    return bound.packed ? format_bytes(*bound.packed)
                        : fmt::format("{} or more", format_bytes(bound.lower));
}

std::string offline_meaning(const OfflineBound& bound) {
    const std::string whose =
        bound.waits ? "for an allocator that knew the whole run, with each free as late as recorded"
                    : "for an allocator that knew the whole run";
    if (!bound.packed)
        return whose + "; --bound finds how much more";
    if (*bound.packed == bound.lower)
        return whose + ": exactly what is live at once";
    return fmt::format("{}; no allocator needs less than {}", whose, format_bytes(bound.lower));
}

}  // namespace tidemark
