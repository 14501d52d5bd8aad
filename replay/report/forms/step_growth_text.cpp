// Part of a sentence.
#include "replay/report/forms/step_growth_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"

namespace tidemark {

std::string step_growth_text(const StepGrowth& growth, bool by_site, std::string_view step) {
    return fmt::format("live memory {} {} grows by {} a {}, from {} to {}",
                       by_site || growth.site.empty() ? "of" : "in blocks of",
                       growth.site.empty() ? "the program" : growth.site,
                       format_bytes(static_cast<Bytes>(std::max(growth.bytes_per_step, 1.0))), step,
                       format_bytes(growth.first_bytes), format_bytes(growth.last_bytes));
}

}  // namespace tidemark
