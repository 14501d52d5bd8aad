// VacantIds: dense numbers, the one given back last first.
#include "core/base/vacant_ids.h"

#include <catch2/catch.hpp>

using namespace tidemark;

TEST_CASE("the number given back last is taken first", "[base]") {
    VacantIds ids;
    CHECK(ids.take() == 0);
    CHECK(ids.take() == 1);
    CHECK(ids.take() == 2);

    ids.give_back(0);
    ids.give_back(2);

    CHECK(ids.take() == 2);
    CHECK(ids.take() == 0);
    CHECK(ids.take() == 3);
    CHECK(ids.count() == 4);
}
