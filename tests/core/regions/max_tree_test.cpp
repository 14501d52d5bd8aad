// MaxTree: the largest of many numbers while they change.
#include "core/regions/max_tree.h"

#include <algorithm>
#include <vector>

#include <catch2/catch.hpp>

#include "core/base/random.h"

namespace tidemark {
namespace {

TEST_CASE("the largest number is found, and the first index that has it", "[regions]") {
    MaxTree tree;
    CHECK(tree.largest() == 0);
    CHECK(tree[7] == 0);
    std::vector<Bytes> plain(100);
    Random random(1);
    for (int step = 0; step < 2000; ++step) {
        const std::size_t index = random.below(static_cast<std::uint64_t>(1 + step / 20));
        plain[index] = random.below(8);
        tree.set(index, plain[index]);
        const auto largest = std::ranges::max_element(plain);
        REQUIRE(tree.largest() == *largest);
        REQUIRE(tree[index] == plain[index]);
        if (*largest != 0)
            REQUIRE(tree.where_largest() == static_cast<std::size_t>(largest - plain.begin()));
    }
}

}  // namespace
}  // namespace tidemark
