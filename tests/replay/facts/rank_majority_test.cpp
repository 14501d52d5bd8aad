// Which of several ranks is accused when they stop doing the same.
#include "replay/facts/rank_majority.h"

#include <array>

#include <catch2/catch.hpp>

namespace tidemark::facts {
namespace {

constexpr Bytes kEnded = RankMajority::kEnded;

using Ranks = std::vector<std::size_t>;

}  // namespace

TEST_CASE("one odd rank leaves, the first as well as any other", "[facts][ranks]") {
    for (const std::size_t odd : {0U, 2U, 3U}) {
        RankMajority majority(4);
        std::array<Bytes, 4> sizes{512, 512, 512, 512};
        sizes[odd] = 1024;
        const auto left = majority.part(sizes);
        REQUIRE(left.size() == 1);
        CHECK(left[0].rank == odd);
        CHECK(left[0].size == 1024);
        CHECK(left[0].usual == 512);
        CHECK(majority.together().size() == 3);
    }
}

TEST_CASE("of two ranks the second leaves", "[facts][ranks]") {
    RankMajority majority(2);
    const auto left = majority.part(std::array<Bytes, 2>{1024, 512});
    REQUIRE(left.size() == 1);
    CHECK(left[0].rank == 1);
    CHECK(majority.together() == Ranks{0});
}

TEST_CASE("who has ended has left nobody", "[facts][ranks]") {
    RankMajority majority(3);
    CHECK(majority.part(std::array<Bytes, 3>{512, kEnded, 512}).empty());
    CHECK(majority.together() == Ranks{0, 2});
    CHECK(majority.part(std::array<Bytes, 2>{kEnded, kEnded}).empty());
    CHECK(majority.together().empty());
}

}  // namespace tidemark::facts
