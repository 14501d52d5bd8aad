// HashIndex against maps of the standard library, under any mix of calls.
#include "core/base/hash_index.h"

#include <set>
#include <unordered_map>
#include <utility>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "tests/support/property.h"
#include "traces/model/event.h"

using namespace tidemark;

namespace {

static_assert(HashIndex::kNothing == kNoSlot);  // readers of traces rely on it

// Far apart as addresses are, or so that all land in one place of the table.
std::uint64_t any_stride() {
    return *rc::gen::element<std::uint64_t>(1, 512, 1ULL << 60U);
}

}  // namespace

TEST_CASE("an index of single values is a map", "[base][property]") {
    CHECK(support::counterexample(support::effort(200), [] {
              Random random(*rc::gen::arbitrary<std::uint64_t>());
              const std::uint64_t keys = *rc::gen::inRange<std::uint64_t>(1, 2000);
              const std::uint64_t stride = any_stride();
              HashIndex index;
              std::unordered_map<std::uint64_t, std::uint32_t> expected;
              for (std::uint32_t i = 0; i < 3000; ++i) {
                  const std::uint64_t key = random.below(keys) * stride;
                  const auto found = expected.find(key);
                  const std::uint32_t value =
                      found == expected.end() ? HashIndex::kNothing : found->second;
                  RC_ASSERT(index.find(key) == value);
                  const std::uint64_t choice = random.below(6);
                  if (choice == 0) {
                      RC_ASSERT(index.exchange(key, i) == value);
                      expected[key] = i;
                  } else if (value == HashIndex::kNothing && choice < 5) {
                      index.insert(key, i);
                      expected.emplace(key, i);
                  } else {
                      RC_ASSERT(index.erase(key) == value);
                      expected.erase(key);
                  }
                  RC_ASSERT(index.size() == expected.size());
              }
          }) == "");
}

TEST_CASE("an index of several values for a key is a set of pairs", "[base][property]") {
    CHECK(support::counterexample(support::effort(100), [] {
              Random random(*rc::gen::arbitrary<std::uint64_t>());
              const std::uint64_t keys = *rc::gen::inRange<std::uint64_t>(1, 300);
              const std::uint64_t stride = any_stride();
              HashIndex index;
              std::set<std::pair<std::uint64_t, std::uint32_t>> expected;
              for (std::uint32_t i = 0; i < 2000; ++i) {
                  const std::uint64_t key = random.below(keys) * stride;
                  const auto value = static_cast<std::uint32_t>(random.below(4));
                  const bool there = expected.contains({key, value});
                  const auto same = [value](std::uint32_t each) { return each == value; };
                  RC_ASSERT(index.find(key, same) == (there ? value : HashIndex::kNothing));
                  if (there) {
                      index.erase(key, value);
                      expected.erase({key, value});
                  } else {
                      index.insert(key, value);
                      expected.insert({key, value});
                  }
                  RC_ASSERT(index.size() == expected.size());
              }
          }) == "");
}
