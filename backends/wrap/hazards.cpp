// The names of hazards.
#include "backends/wrap/hazards.h"

#include <iterator>

namespace tidemark {

std::string_view to_text(HazardKind kind) {
    constexpr std::string_view kNames[] = {
        "overlap",
        "reuse_before_completion",
        "unmap_in_flight",
        "double_free",
        "unknown_free",
        "out_of_bounds",
        "misaligned",
        "leak",
        "illegal_in_capture",
        "graph_memory_reused",
        "graph_memory_freed",
        "graph_race",
    };
    static_assert(std::size(kNames) == kHazardKindCount);
    return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace tidemark
