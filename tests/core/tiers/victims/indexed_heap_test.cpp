// IndexedHeap and IdList against plain vectors.
#include "core/tiers/victims/indexed_heap.h"

#include <algorithm>
#include <vector>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "core/tiers/victims/id_list.h"

namespace tidemark::tests {
namespace {

struct Plain {
    std::uint64_t key = 0;
    std::uint32_t id = 0;

    bool operator<(const Plain& other) const {
        return key != other.key ? key < other.key : id < other.id;
    }
};

// The first in order of key, then id, whose id is not a multiple of `stride`; ~0 if none.
std::uint32_t first_not_multiple(std::vector<Plain> plain, std::uint32_t stride) {
    std::sort(plain.begin(), plain.end());
    for (const Plain& one : plain)
        if (one.id % stride != 0)
            return one.id;
    return ~0U;
}

TEST_CASE("an indexed heap finds what sorting finds, under changing keys", "[tiers][victims]") {
    Random random(7);
    IndexedHeap<std::uint64_t> heap;
    std::vector<Plain> plain;
    for (int step = 0; step < 20000; ++step) {
        const auto id = static_cast<std::uint32_t>(random.below(60));
        const auto known = std::find_if(plain.begin(), plain.end(),
                                        [id](const Plain& one) { return one.id == id; });
        REQUIRE(heap.contains(BufferId{id}) == (known != plain.end()));
        if (known != plain.end() && random.below(3) == 0) {
            heap.erase(BufferId{id});
            plain.erase(known);
        } else {
            const std::uint64_t key = random.below(20);  // many ties
            heap.put(BufferId{id}, key);
            if (known != plain.end())
                known->key = key;
            else
                plain.push_back({key, id});
            REQUIRE(heap.key(BufferId{id}) == key);
        }
        const auto stride = static_cast<std::uint32_t>(1 + random.below(4));
        const auto found =
            heap.first_where([stride](BufferId one) { return to_integer(one) % stride != 0; });
        REQUIRE((found ? to_integer(*found) : ~0U) == first_not_multiple(plain, stride));
        REQUIRE(heap.empty() == plain.empty());
        if (!plain.empty())
            REQUIRE(to_integer(heap.first()) == std::min_element(plain.begin(), plain.end())->id);
    }
}

TEST_CASE("a list keeps its order through erasing and moving", "[tiers][victims]") {
    Random random(8);
    IdList list;
    std::vector<std::uint32_t> plain;
    for (int step = 0; step < 20000; ++step) {
        const auto id = static_cast<std::uint32_t>(random.below(40));
        const auto known = std::find(plain.begin(), plain.end(), id);
        REQUIRE(list.contains(BufferId{id}) == (known != plain.end()));
        if (known == plain.end()) {
            list.push_back(BufferId{id});
            plain.push_back(id);
        } else if (random.below(2) == 0) {
            list.move_to_back(BufferId{id});
            plain.erase(known);
            plain.push_back(id);
        } else {
            list.erase(BufferId{id});
            plain.erase(known);
        }
        REQUIRE(list.size() == plain.size());
        std::vector<std::uint32_t> walked;
        for (BufferId one = list.front(); one != IdList::kEnd; one = list.after(one))
            walked.push_back(to_integer(one));
        REQUIRE(walked == plain);
    }
}

}  // namespace
}  // namespace tidemark::tests
