// Grants: numbers are reused last first, and the listing is by address.
#include "core/regions/grants.h"

#include <catch2/catch.hpp>

namespace tidemark {
namespace {

TEST_CASE("a grant's number is reused after its removal, last first", "[regions][grants]") {
    Grants grants;
    const std::uint32_t a = grants.add({Address{1024}, 512, 7});
    const std::uint32_t b = grants.add({Address{512}, 512, 8});
    const std::uint32_t c = grants.add({Address{2048}, 512, 9});

    grants.remove(a);
    grants.remove(c);

    CHECK(grants.add({Address{4096}, 512, 1}) == c);
    CHECK(grants.add({Address{8192}, 512, 2}) == a);
    CHECK(grants.add({Address{16384}, 512, 3}) == 3);
    CHECK(grants[b].owner == 8);
}

TEST_CASE("grants are listed by address, without those removed", "[regions][grants]") {
    Grants grants;
    grants.add({Address{4096}, 512, 1});
    const std::uint32_t gone = grants.add({Address{512}, 512, 2});
    grants.add({Address{1024}, 512, 3});
    grants.remove(gone);

    const std::vector<Grant> listed = grants.by_address();

    REQUIRE(listed.size() == 2);
    CHECK(listed[0].begin == Address{1024});
    CHECK(listed[0].owner == 3);
    CHECK(listed[1].begin == Address{4096});
}

}  // namespace
}  // namespace tidemark
