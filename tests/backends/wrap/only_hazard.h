// What the checker's tests share: the one hazard that a test has provoked.
#pragma once

#include <catch2/catch.hpp>

#include "backends/wrap/checker.h"

namespace tidemark::support {

// The checker has found this, and nothing else.
inline void check_only_hazard(const Checker& checker, HazardKind kind, std::uint64_t first,
                              std::uint64_t second) {
    REQUIRE(checker.count() == 1);
    const Hazard& hazard = checker.hazards().front();
    INFO(hazard.what);
    CHECK(to_text(hazard.kind) == to_text(kind));
    CHECK(hazard.first_event == first);
    CHECK(hazard.second_event == second);
    CHECK_FALSE(hazard.what.empty());
    CHECK(checker.count(kind) == 1);
}

}  // namespace tidemark::support
