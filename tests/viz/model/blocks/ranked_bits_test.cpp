// RankedBits against a sorted list, whole and half published.
#include "viz/model/blocks/ranked_bits.h"

#include <algorithm>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/property.h"

namespace tidemark::viz {
namespace {

using support::counterexample;
using support::effort;

constexpr std::size_t kStride = RankedBits::kStride;

std::vector<std::size_t> some_numbers(std::size_t below) {
    auto numbers = *rc::gen::container<std::vector<std::size_t>>(
        rc::gen::inRange<std::size_t>(0, std::max<std::size_t>(below, 1)));
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    numbers.erase(std::lower_bound(numbers.begin(), numbers.end(), below), numbers.end());
    return numbers;
}

TEST_CASE("ranks and places of bits are those of a sorted list", "[viz][ranked]") {
    CHECK(counterexample(effort(200), [] {
              const std::size_t size = *rc::gen::inRange<std::size_t>(0, 4 * kStride);
              const std::vector<std::size_t> numbers = some_numbers(size);
              RankedBits bits(size);
              for (const std::size_t number : numbers)
                  bits.add(number);
              const std::size_t half =
                  *rc::gen::inRange<std::size_t>(0, size / kStride + 1) * kStride;
              for (const std::size_t end : {half, size}) {
                  bits.publish(end);
                  const auto known = static_cast<std::size_t>(
                      std::lower_bound(numbers.begin(), numbers.end(), end) - numbers.begin());
                  RC_ASSERT(bits.count() == known);
                  for (std::size_t i = 0; i < known; ++i) {
                      RC_ASSERT(bits.select(i) == numbers[i]);
                      RC_ASSERT(bits.rank(numbers[i]) == i);
                      RC_ASSERT(bits.contains(numbers[i]));
                  }
                  RC_ASSERT(bits.select(known) == size);
                  RC_ASSERT(bits.rank(size) == known);
              }
              RC_ASSERT(bits.complete());
          }) == "");
}

TEST_CASE("what is not published yet is not there", "[viz][ranked]") {
    RankedBits bits(2 * kStride);
    bits.add(kStride + 1);
    CHECK(bits.count() == 0);
    bits.publish(kStride);
    CHECK(bits.count() == 0);
    CHECK_FALSE(bits.contains(kStride + 1));
    bits.publish(2 * kStride);
    CHECK(bits.contains(kStride + 1));
    CHECK(bits.select(0) == kStride + 1);
}

TEST_CASE("nothing at all can be asked about", "[viz][ranked]") {
    RankedBits none(0);
    none.publish(0);
    CHECK(none.complete());
    CHECK(none.count() == 0);
    CHECK(none.select(0) == 0);
    CHECK(none.rank(7) == 0);
}

}  // namespace
}  // namespace tidemark::viz
