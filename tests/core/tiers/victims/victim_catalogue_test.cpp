// The catalogue of victim policies, and reading one from its text.
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "core/tiers/victims/victim_policy.h"

namespace tidemark {
namespace {

TEST_CASE("the catalogue has every victim policy once, with words about it", "[tiers][victims]") {
    std::set<std::string_view> names;
    for (const VictimPolicyInfo& info : all_victim_policies()) {
        CHECK(names.insert(info.name).second);
        CHECK_FALSE(info.summary.empty());
        CHECK_FALSE(info.source.empty());
        CHECK(info.make != nullptr);
        const auto spec = parse_victim_policy(info.name);
        REQUIRE(spec);
        CHECK(spec->policy == &info);
        CHECK(spec->text() == info.name);
    }
    for (const std::string_view name : {"lru", "clock", "sieve", "s3fifo", "gdsf", "largest",
                                        "cost", "hint", "belady", "learned"})
        CHECK(names.count(name) == 1);
}

TEST_CASE("a victim policy's text reads back with the options that were set", "[tiers][victims]") {
    const auto spec = parse_victim_policy("s3fifo:small=0.2,promote=1");
    REQUIRE(spec);
    CHECK(spec->policy->name == "s3fifo");
    CHECK(spec->options.real("small") == 0.2);
    CHECK(spec->options.real("ghost") == 0.9);
    CHECK(spec->text() == "s3fifo:small=0.2,promote=1");
    CHECK(parse_victim_policy("s3fifo:small=0.1")->text() == "s3fifo");
}

TEST_CASE("an unknown victim policy or option is refused with the nearest name",
          "[tiers][victims]") {
    const auto policy = parse_victim_policy("seive");
    REQUIRE_FALSE(policy);
    CHECK(policy.error().code == ErrorCode::bad_option);
    CHECK(policy.error().what == "there is no victim policy 'seive'");
    CHECK(policy.error().hint == "did you mean 'sieve'?");
    CHECK_FALSE(parse_victim_policy(""));
    CHECK_FALSE(parse_victim_policy("lru:depth=2"));
    CHECK_FALSE(parse_victim_policy("s3fifo:small=2"));
    CHECK_FALSE(parse_victim_policy("s3fifo:promote=0"));
    CHECK_FALSE(parse_victim_policy("belady:weigh=luck"));
    CHECK(parse_victim_policy("belady:wiegh=cost").error().hint.find("weigh") != std::string::npos);
}

TEST_CASE("only belady is an oracle, and only learned learns", "[tiers][victims]") {
    for (const VictimPolicyInfo& info : all_victim_policies()) {
        CHECK((info.foresight == Foresight::oracle) == (info.name == "belady"));
        CHECK((info.foresight == Foresight::learned) == (info.name == "learned"));
    }
}

}  // namespace
}  // namespace tidemark
