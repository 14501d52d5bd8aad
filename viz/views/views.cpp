// The catalogue of views.
#include <vector>

#include "viz/views/view.h"

namespace tidemark::viz {

#define TIDEMARK_VIEW(name) ViewInfo name##_view();
#include "viz/views/views.inc"
#undef TIDEMARK_VIEW

std::span<const ViewInfo> all_views() {
    static const std::vector<ViewInfo> views = {
#define TIDEMARK_VIEW(name) name##_view(),
#include "viz/views/views.inc"
#undef TIDEMARK_VIEW
    };
    return views;
}

}  // namespace tidemark::viz
