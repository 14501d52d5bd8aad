// Linearizability: what threads see of one space is what they would see if their calls had come one
// after another, each at a moment between its begin and its end. Short random histories are
// searched for such an order (Wing and Gong, JPDC 17, 1993); the rules are SpaceAccount's.
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_set>
#include <vector>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "core/tiers/spaces/memory_space.h"
#include "core/tiers/spaces/space_account.h"
#include "tests/core/tiers/small_machine.h"

namespace {

using namespace tidemark;

constexpr Bytes kSmallCapacity = 12;
constexpr Bytes kSmallLimit = 9;
constexpr std::size_t kCallers = 3;

// One call, as it was seen. Every thread has a reservation and an allocation of its own.
struct Call {
    enum class Kind : std::uint8_t { reserve, release, grow, shrink, charge, uncharge, look };
    Kind kind = Kind::look;
    Bytes size = 0;
    std::size_t thread = 0;
    Bytes result = 0;  // 1: granted; shrink: what was given back; look: what is used
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

// The rules, one call after another.
struct Sequential {
    struct Thread {
        bool reserved = false;
        Bytes size = 0;   // of the reservation
        Bytes plain = 0;  // allocated outside of it
    };

    SpaceAccount account{kSmallCapacity, kSmallLimit};
    std::array<Thread, kCallers> threads = {};

    // What the call would give now.
    Bytes apply(const Call& call) {
        Thread& thread = threads[call.thread];
        switch (call.kind) {
            case Call::Kind::reserve:
                if (!account.try_reserve(call.size))
                    return 0;
                thread.reserved = true;
                thread.size = call.size;
                return 1;
            case Call::Kind::grow:
                if (!account.try_reserve(call.size))
                    return 0;
                thread.size += call.size;
                return 1;
            case Call::Kind::shrink:
            case Call::Kind::release: {
                const Bytes unused = thread.size;
                account.unreserve(unused);
                thread.size = 0;
                return call.kind == Call::Kind::shrink ? unused : 1;
            }
            case Call::Kind::charge:
                if (!account.try_allocate(call.size))
                    return 0;
                thread.plain = call.size;
                return 1;
            case Call::Kind::uncharge:
                account.deallocate(thread.plain);
                thread.plain = 0;
                return 1;
            case Call::Kind::look:
                return account.used();
        }
        return 0;
    }
};

// Whether the calls that are left can follow each other from `state` on.
bool linear(const std::vector<Call>& history, std::uint32_t done, const Sequential& state,
            std::unordered_set<std::uint32_t>& failed) {
    if (done + 1 == std::uint32_t{1} << history.size())
        return true;
    // What has been done determines the counters: each call's effect is known by its result.
    if (failed.count(done) != 0)
        return false;
    std::uint64_t first_end = ~std::uint64_t{0};
    for (std::size_t at = 0; at < history.size(); ++at)
        if ((done >> at & 1) == 0)
            first_end = std::min(first_end, history[at].end);
    for (std::size_t at = 0; at < history.size(); ++at) {
        if ((done >> at & 1) != 0 || history[at].begin > first_end)
            continue;
        Sequential next = state;
        if (next.apply(history[at]) == history[at].result &&
            linear(history, done | std::uint32_t{1} << at, next, failed))
            return true;
    }
    failed.insert(done);
    return false;
}

bool linear(const std::vector<Call>& history) {
    std::unordered_set<std::uint32_t> failed;
    return linear(history, 0, {}, failed);
}

// Some calls of one thread, as its state allows them.
class Player {
  public:
    Player(MemorySpace& space, std::size_t thread, std::uint64_t seed)
        : space_(space), thread_(thread), random_(seed) {}

    Call play(std::atomic<std::uint64_t>& clock) {
        Call call;
        call.thread = thread_;
        call.size = 1 + random_.below(6);
        call.kind = choose();
        call.begin = clock.fetch_add(1);
        dawdle();
        call.result = perform(call);
        dawdle();
        call.end = clock.fetch_add(1);
        return call;
    }

    void finish() {
        reservation_.release();
        space_.uncharge(charge_);
    }

  private:
    using Kind = Call::Kind;

    Kind choose() {
        const std::uint64_t dice = random_.below(8);
        if (dice == 0)
            return Kind::look;
        if (dice < 3)
            return charge_ ? Kind::uncharge : Kind::charge;
        if (!reservation_)
            return Kind::reserve;
        return dice < 5 ? Kind::release : dice < 7 ? Kind::grow : Kind::shrink;
    }

    // So that others come in between, on machines with few cores too.
    void dawdle() {
        if (random_.below(2) == 0)
            std::this_thread::yield();
    }

    Bytes perform(const Call& call) {
        switch (call.kind) {
            case Kind::reserve: {
                auto taken = space_.try_reserve(call.size);
                if (taken)
                    reservation_ = std::move(*taken);
                return taken ? 1 : 0;
            }
            case Kind::release:
                reservation_.release();
                return 1;
            case Kind::grow:
                return reservation_.grow_by(call.size) ? 1 : 0;
            case Kind::shrink:
                return reservation_.shrink_to_fit();
            case Kind::charge: {
                auto taken = space_.charge(call.size);
                if (taken)
                    charge_ = *taken;
                return taken ? 1 : 0;
            }
            case Kind::uncharge:
                space_.uncharge(charge_);
                return 1;
            case Kind::look:
                return space_.used();
        }
        return 0;
    }

    MemorySpace& space_;
    std::size_t thread_;
    Random random_;
    MemoryReservation reservation_;
    Charge charge_;
};

// Threads that live for all rounds: a round is what they do between two meetings.
std::vector<std::vector<Call>> histories(std::size_t rounds, std::uint64_t seed) {
    MemorySpace space(small_space({Tier::gpu, 0}, kSmallCapacity, 0.75));
    std::vector<std::vector<std::vector<Call>>> calls(kCallers,
                                                      std::vector<std::vector<Call>>(rounds));
    std::atomic<std::uint64_t> clock = 0;
    std::atomic<std::size_t> arrived = 0;
    const auto meet = [&arrived](std::size_t meeting) {
        ++arrived;
        while (arrived < meeting * kCallers)
            std::this_thread::yield();
    };
    std::vector<std::thread> threads;
    for (std::size_t who = 0; who < kCallers; ++who)
        threads.emplace_back([&, who] {
            Random random(seed + who);
            for (std::size_t round = 0; round < rounds; ++round) {
                Player player(space, who, random.next());
                meet(2 * round + 1);
                for (std::size_t count = 1 + random.below(2); count < 4; ++count)
                    if (calls[who][round].size() < (who < 2 ? 3U : 2U))
                        calls[who][round].push_back(player.play(clock));
                meet(2 * round + 2);
                player.finish();
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    std::vector<std::vector<Call>> result(rounds);
    for (std::size_t round = 0; round < rounds; ++round)
        for (std::size_t who = 0; who < kCallers; ++who)
            result[round].insert(result[round].end(), calls[who][round].begin(),
                                 calls[who][round].end());
    return result;
}

void check_histories(std::size_t rounds) {
    std::size_t overlapping = 0;
    for (const std::vector<Call>& history : histories(rounds, 7)) {
        REQUIRE(history.size() <= 8);
        REQUIRE(linear(history));
        for (const Call& call : history)
            for (const Call& other : history)
                overlapping +=
                    call.thread < other.thread && call.begin < other.end && other.begin < call.end
                        ? 1
                        : 0;
    }
    INFO(rounds << " histories, " << overlapping << " pairs of calls at the same time");
    CHECK(overlapping > rounds / 10);
}

TEST_CASE("Calls of several threads on a space are linearizable", "[tiers][linear]") {
    check_histories(1500);
}

TEST_CASE("Calls of several threads on a space are linearizable, for long",
          "[tiers][linear][.long]") {
    check_histories(200'000);
}

TEST_CASE("The search tells histories that no order explains", "[tiers][linear]") {
    using Kind = Call::Kind;
    // Two of 6 bytes at the same time, both granted, though only 9 may be reserved.
    CHECK(!linear({{Kind::reserve, 6, 0, 1, 0, 3}, {Kind::reserve, 6, 1, 1, 1, 2}}));
    CHECK(linear({{Kind::reserve, 6, 0, 1, 0, 3}, {Kind::reserve, 6, 1, 0, 1, 2}}));
    CHECK(linear({{Kind::reserve, 6, 0, 0, 0, 3}, {Kind::reserve, 6, 1, 1, 1, 2}}));
    // Neither granted.
    CHECK(!linear({{Kind::reserve, 6, 0, 0, 0, 3}, {Kind::reserve, 6, 1, 0, 1, 2}}));
    // One who looks after a release has ended sees nothing of it.
    CHECK(!linear({{Kind::reserve, 6, 0, 1, 0, 1},
                   {Kind::release, 0, 0, 1, 2, 3},
                   {Kind::look, 0, 1, 6, 4, 5}}));
    CHECK(linear({{Kind::reserve, 6, 0, 1, 0, 1},
                  {Kind::release, 0, 0, 1, 2, 5},
                  {Kind::look, 0, 1, 6, 3, 4}}));
}

}  // namespace
