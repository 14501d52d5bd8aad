// Which request of one step is which of another.
#include "replay/analysis/scale/align_steps.h"

#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/support/property.h"

using namespace tidemark;

namespace {

std::vector<StepRequest> step(std::initializer_list<Bytes> sizes) {
    std::vector<StepRequest> requests;
    for (const Bytes size : sizes)
        requests.push_back({size, 0, false});
    return requests;
}

using Found = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("steps of one order are aligned request by request") {
    CHECK(align_steps(step({1, 2, 3}), step({5, 6, 7}), 1) == Found{0, 1, 2});
    CHECK(align_steps({}, step({1, 2}), 1) == Found{kUnaligned, kUnaligned});
    CHECK(align_steps(step({1, 2}), {}, 1).empty());
}

TEST_CASE("what one step has more is left out") {
    auto reference = step({100, 7, 100, 40, 100});
    auto other = step({200, 7, 3, 200, 80, 200});
    for (auto* requests : {&reference, &other})
        for (StepRequest& request : *requests)
            request.symbol = request.size == 3 ? 9 : 1;
    CHECK(align_steps(reference, other, 2) == Found{0, 1, kUnaligned, 2, 3, 4});
    CHECK(align_steps(other, reference, 0.5) == Found{0, 1, 3, 4, 5});
}

TEST_CASE("what is aligned comes in the same order") {
    CHECK(support::counterexample(support::effort(200), [] {
              const auto any = [] {
                  std::vector<StepRequest> requests;
                  for (const int number :
                       *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 6)))
                      requests.push_back({static_cast<Bytes>(number),
                                          static_cast<std::uint32_t>(number % 3), false});
                  return requests;
              };
              const auto reference = any(), other = any();
              const Found found = align_steps(reference, other, 2);
              const bool whole = found.size() == other.size();
              RC_ASSERT(whole);
              Found aligned;
              std::ranges::copy_if(found, std::back_inserter(aligned),
                                   [](std::uint32_t one) { return one != kUnaligned; });
              const bool rising = std::ranges::is_sorted(aligned) &&
                                  std::ranges::adjacent_find(aligned) == aligned.end();
              const bool inside = aligned.empty() || aligned.back() < reference.size();
              RC_ASSERT(rising);
              RC_ASSERT(inside);
          }).empty());
}
