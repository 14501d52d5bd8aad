// What every victim policy of the catalogue promises, under random lives of buffers.
#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "tests/core/tiers/victims/resident_store.h"

namespace tidemark::tests {
namespace {

constexpr std::uint32_t kIds = 48;

std::vector<std::string> all_specs() {
    std::vector<std::string> specs{"belady:weigh=distance", "cost:companions=8",
                                   "s3fifo:small=0.5,promote=1", "gdsf:overhead=0"};
    for (const VictimPolicyInfo& info : all_victim_policies())
        specs.emplace_back(info.name);
    return specs;
}

// A random program over one store; writes down who left.
class Life {
  public:
    Life(const std::string& spec, std::uint64_t seed) : store_(spec, 2000), random_(seed) {}

    void step() {
        const auto id = static_cast<std::uint32_t>(random_.below(kIds));
        store_.now += random_.below(3);
        if (!store_.alive(id)) {
            store_.add(id, facts());
            return;
        }
        if (!store_.resident(id)) {
            if (random_.below(3) == 0)
                store_.free(id);
            else
                store_.bring_back(id);
            return;
        }
        switch (random_.below(8)) {
            case 0:
                store_.free(id);
                break;
            case 1:
                store_.pin(id, !store_.pinned(id));
                break;
            case 2:
                store_.revise(id, facts(store_.size(id)));
                break;
            case 3:
                store_.change(id, facts(store_.size(id)));
                break;
            case 4:
                evict();
                break;
            default:
                store_.change(id, facts(store_.size(id)));
                store_.use(id);
                break;
        }
    }

    // Whoever is named must be there and free to leave; somebody must be named if anybody is.
    void evict() {
        const auto id = store_.victim();
        REQUIRE(id.has_value() == anybody());
        REQUIRE(store_.victim() == id);  // asking changes nothing
        if (id) {
            REQUIRE((store_.resident(*id) && !store_.pinned(*id)));
            store_.evict(*id);
            left_.push_back(*id);
        }
    }

    // Everybody who may leaves in the end, each once.
    void end() {
        while (anybody())
            evict();
        evict();
        for (std::uint32_t id = 0; id < kIds; ++id)
            if (store_.resident(id))
                store_.pin(id, false);
        while (anybody())
            evict();
        for (std::uint32_t id = 0; id < kIds; ++id)
            REQUIRE_FALSE(store_.resident(id));
    }

    const std::vector<std::uint32_t>& left() const { return left_; }

  private:
    bool anybody() const {
        for (std::uint32_t id = 0; id < kIds; ++id)
            if (store_.resident(id) && !store_.pinned(id))
                return true;
        return false;
    }

    BufferFacts facts() { return facts(1 + random_.below(300)); }

    BufferFacts facts(Bytes size) {
        const auto position = [this]() -> std::uint64_t {
            switch (random_.below(4)) {
                case 0:
                    return kNeverUsed;
                case 1:
                    return kUnknownUse;
                default:
                    return store_.now + random_.below(40);  // may have passed, too
            }
        };
        BufferFacts facts;
        facts.size = size;
        facts.next_use = position();
        facts.end = position();
        facts.hint = static_cast<std::int32_t>(random_.below(5)) - 2;
        facts.dirty = random_.below(2) == 0;
        facts.empty = random_.below(8) == 0;
        return facts;
    }

    ResidentStore store_;
    Random random_;
    std::vector<std::uint32_t> left_;
};

std::vector<std::uint32_t> live(const std::string& spec, std::uint64_t seed, int steps) {
    INFO(spec << " seed " << seed);
    Life life(spec, seed);
    for (int i = 0; i < steps; ++i)
        life.step();
    life.end();
    return life.left();
}

TEST_CASE("every victim is resident and may leave, and there is one while anybody may",
          "[tiers][victims]") {
    for (const std::string& spec : all_specs())
        for (std::uint64_t seed = 1; seed <= 10; ++seed)
            live(spec, seed, 1500);
}

TEST_CASE("identical lives have identical victims", "[tiers][victims]") {
    for (const std::string& spec : all_specs()) {
        const auto first = live(spec, 11, 2000);
        CHECK(first.size() > 100);
        CHECK(first == live(spec, 11, 2000));
    }
}

TEST_CASE("a policy starts again for a buffer that takes over an id", "[tiers][victims]") {
    for (const std::string& spec : all_specs()) {
        INFO(spec);
        ResidentStore store(spec);
        for (int life = 0; life < 50; ++life) {
            store.add(0);
            store.use(0);
            if (life % 2 == 0)
                CHECK(store.evict_next() == 0U);
            store.free(0);
            CHECK_FALSE(store.victim());
        }
    }
}

TEST_CASE("long random lives hold too", "[tiers][victims][.long]") {
    for (const std::string& spec : all_specs())
        for (std::uint64_t seed = 100; seed < 200; ++seed)
            live(spec, seed, 10000);
}

}  // namespace
}  // namespace tidemark::tests
