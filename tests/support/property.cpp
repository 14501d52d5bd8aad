// How much a property suite does, from the environment and the build.
#include "tests/support/property.h"

#include <algorithm>
#include <cstdlib>

#include "core/base/check.h"
#include "core/base/text.h"

namespace tidemark::support {
namespace {

std::uint64_t environment(const char* name, std::uint64_t otherwise) {
    const char* const text = std::getenv(name);
    if (text == nullptr)
        return otherwise;
    const auto value = parse_count(text);
    TM_CHECK(value);
    return *value;
}

}  // namespace

Effort effort(int cases) {
#ifdef NDEBUG
    constexpr std::uint64_t kPercent = 100;
#else
    constexpr std::uint64_t kPercent = 20;
#endif
    const std::uint64_t percent = environment("TIDEMARK_EFFORT", kPercent);
    const std::uint64_t scaled = static_cast<std::uint64_t>(cases) * percent / 100;
    return {environment("TIDEMARK_SEED", 1),
            static_cast<int>(std::clamp<std::uint64_t>(scaled, 1, 1'000'000))};
}

}  // namespace tidemark::support
