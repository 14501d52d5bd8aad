// IdSet: against a plain set, and what it costs.
#include "traces/model/id_set.h"

#include <set>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

#include "core/base/random.h"

namespace tidemark {

TEST_CASE("an IdSet holds what a set holds", "[model]") {
    CHECK(rc::check("for ids that come in runs, in gaps and at the ends", [] {
        Random random(*rc::gen::arbitrary<std::uint64_t>());
        const std::uint64_t spread = *rc::gen::element<std::uint64_t>(8, 200, 5000);
        const std::uint64_t base = *rc::gen::element<std::uint64_t>(0, 1000, UINT64_MAX - 5000);
        IdSet ids;
        std::set<std::uint64_t> plain;
        std::uint64_t id = base;
        for (int i = 0; i < 1000; ++i) {
            id = random.below(2) == 0 && id != UINT64_MAX ? id + 1 : base + random.below(spread);
            RC_ASSERT(ids.contains(id) == (plain.count(id) == 1));
            RC_ASSERT(ids.insert(id) == plain.insert(id).second);
            RC_ASSERT(ids.contains(id));
        }
        std::size_t runs = 0;
        for (const std::uint64_t member : plain)
            runs += member == 0 || plain.count(member - 1) == 0 ? 1U : 0U;
        RC_ASSERT(ids.runs() == runs);
    }));
}

TEST_CASE("ids in ascending order are one run, from whichever end", "[model]") {
    IdSet ids;

    for (std::uint64_t id = 10; id < 1000; ++id)
        CHECK(ids.insert(id));
    for (std::uint64_t id = 10; id-- > 0;)
        CHECK(ids.insert(id));

    CHECK(ids.runs() == 1);
    CHECK_FALSE(ids.insert(0));
    CHECK_FALSE(ids.insert(999));
    CHECK_FALSE(ids.contains(1000));
}

}  // namespace tidemark
