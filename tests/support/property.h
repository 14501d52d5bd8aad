// How the property suites use RapidCheck: with a fixed seed, a number of cases that depends on the
// build, and the failure as text that says how to see it again.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>

#include <rapidcheck.h>

namespace tidemark::support {

struct Effort {
    std::uint64_t seed = 0;
    int cases = 0;
};

// TIDEMARK_SEED (default 1), and `cases` times TIDEMARK_EFFORT per cent (default: 100 in release
// builds, 20 in others, which are that much slower); at least one.
Effort effort(int cases);

// Checks `property`; "" or the shrunk counterexample, with the seed that finds it again.
template <class Property>
std::string counterexample(const Effort& effort, Property&& property) {
    rc::detail::TestParams params;
    params.seed = effort.seed;
    params.maxSuccess = effort.cases;
    const rc::detail::TestResult result = rc::detail::checkTestable(
        std::forward<Property>(property), rc::detail::TestMetadata{}, params);
    if (result.is<rc::detail::SuccessResult>())
        return {};
    std::ostringstream text;
    text << "TIDEMARK_SEED=" << effort.seed << '\n';
    rc::detail::printResultMessage(result, text);
    return text.str();
}

}  // namespace tidemark::support
