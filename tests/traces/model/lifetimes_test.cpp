// Slots are dense, and LiveMap does what a map does.
#include "traces/model/lifetimes.h"

#include <unordered_map>
#include <vector>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "tests/support/property.h"

using namespace tidemark;

TEST_CASE("the slot freed last is handed out first", "[model]") {
    SlotPool slots;
    CHECK(slots.acquire() == 0);
    CHECK(slots.acquire() == 1);
    CHECK(slots.acquire() == 2);

    slots.release(0);
    slots.release(2);

    CHECK(slots.acquire() == 2);
    CHECK(slots.acquire() == 0);
    CHECK(slots.acquire() == 3);
    CHECK(slots.count() == 4);
}

TEST_CASE("LiveMap agrees with std::unordered_map under any mix of calls", "[model][property]") {
    CHECK(support::counterexample(support::effort(200), [] {
              Random random(*rc::gen::arbitrary<std::uint64_t>());
              const std::uint64_t names = *rc::gen::inRange<std::uint64_t>(1, 2000);
              // Far apart as addresses are, or so that all land in one place of the table.
              const std::uint64_t stride = *rc::gen::element<std::uint64_t>(1, 512, 1ULL << 60U);
              LiveMap map;
              std::unordered_map<std::uint64_t, std::uint32_t> expected;
              for (std::uint32_t i = 0; i < 3000; ++i) {
                  const std::uint64_t name = random.below(names) * stride;
                  const auto found = expected.find(name);
                  const std::uint32_t slot = found == expected.end() ? kNoSlot : found->second;
                  RC_ASSERT(map.find(name) == slot);
                  if (slot == kNoSlot && random.below(3) != 0) {
                      map.insert(name, i);
                      expected.emplace(name, i);
                  } else {
                      RC_ASSERT(map.erase(name) == slot);
                      expected.erase(name);
                  }
                  RC_ASSERT(map.size() == expected.size());
              }
          }) == "");
}
