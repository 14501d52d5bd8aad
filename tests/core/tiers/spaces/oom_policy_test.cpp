// What a refusal leads to, without an allocator around it.
#include "core/tiers/spaces/oom_policy.h"

#include <vector>

#include <catch2/catch.hpp>

#include "core/tiers/spaces/memory_space.h"

namespace tidemark {
namespace {

// Answers what the test says, and keeps what it was asked for.
class ScriptedSpiller final : public Spiller {
  public:
    Result<Bytes> free_bytes(Bytes size) override {
        requests.push_back(size);
        return answer;
    }

    std::vector<Bytes> requests;
    Result<Bytes> answer = Bytes{0};
};

OomFacts refusal(Bytes missing, std::uint32_t attempt) {
    return {.requested = 2 * missing, .missing = missing, .attempt = attempt};
}

TEST_CASE("rethrow gives up", "[tiers][oom_policy]") {
    CHECK(rethrow_oom()->refused(refusal(10, 0)) == OomAnswer::give_up);
}

TEST_CASE("spill-and-retry frees what is missing, and retries so often at most",
          "[tiers][oom_policy]") {
    ScriptedSpiller spiller;
    const OomHandling policy = spill_and_retry(spiller, 2);
    spiller.answer = Bytes{4};  // less than asked is worth a try
    CHECK(policy->refused(refusal(10, 0)) == OomAnswer::try_again);
    CHECK(policy->refused(refusal(6, 1)) == OomAnswer::try_again);
    CHECK(policy->refused(refusal(2, 2)) == OomAnswer::give_up);
    CHECK(spiller.requests == std::vector<Bytes>{10, 6});
}

TEST_CASE("spill-and-retry gives up when nothing was freed, or freeing can't help",
          "[tiers][oom_policy]") {
    ScriptedSpiller spiller;
    const OomHandling policy = spill_and_retry(spiller);
    CHECK(policy->refused(refusal(10, 0)) == OomAnswer::give_up);
    spiller.answer = fail(ErrorCode::io, "the disk is gone");
    CHECK(policy->refused(refusal(10, 0)) == OomAnswer::give_up);
    spiller.answer = Bytes{10};
    CHECK(policy->refused(refusal(0, 0)) == OomAnswer::give_up);
    CHECK(spiller.requests == std::vector<Bytes>{10, 10});
}

TEST_CASE("a callback is told all, and decides", "[tiers][oom_policy]") {
    std::uint32_t attempts = 0;
    const OomHandling policy = oom_callback([&](const OomFacts& facts) {
        attempts += facts.attempt;
        return facts.attempt < 3 ? OomAnswer::try_again : OomAnswer::give_up;
    });
    CHECK(policy->refused(refusal(1, 2)) == OomAnswer::try_again);
    CHECK(policy->refused(refusal(1, 3)) == OomAnswer::give_up);
    CHECK(attempts == 5);
}

TEST_CASE("a space has an OOM policy at any time, rethrow unless told otherwise",
          "[tiers][oom_policy]") {
    MemorySpace space({.capacity = 1000});
    CHECK(space.oom_policy() == rethrow_oom());
    ScriptedSpiller spiller;
    const OomHandling policy = spill_and_retry(spiller);
    space.set_oom_policy(policy);
    CHECK(space.oom_policy() == policy);
    space.set_oom_policy(nullptr);
    CHECK(space.oom_policy() == rethrow_oom());
}

}  // namespace
}  // namespace tidemark
