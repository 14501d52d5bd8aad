// What tests of questions to a history share.
#pragma once

#include <cstdint>
#include <memory>

#include <rapidcheck.h>

#include "tests/support/small_history.h"
#include "viz/model/session/job.h"

namespace tidemark::viz {

// For answers that nobody calls off.
inline const Cancelled kGoOn = false;

// A history as RapidCheck likes it; for use in a property.
inline std::shared_ptr<const History> some_history() {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    return support::random_history(seed, *rc::gen::inRange<std::size_t>(1, 400));
}

}  // namespace tidemark::viz
