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

    CHECK(ids.in_use() == 1);
    CHECK(ids.take() == 2);
    CHECK(ids.take() == 0);
    CHECK(ids.take() == 3);
    CHECK(ids.count() == 4);
}

TEST_CASE("a table has an entry for each number given so far", "[base]") {
    VacantIds ids;
    std::vector<char> table;
    CHECK(ids.put_into(table, 'a') == 0);
    CHECK(ids.put_into(table, 'b') == 1);
    ids.give_back(0);
    CHECK(ids.in_use() == 1);
    CHECK(ids.put_into(table, 'c') == 0);
    CHECK(table == std::vector<char>{'c', 'b'});
}
