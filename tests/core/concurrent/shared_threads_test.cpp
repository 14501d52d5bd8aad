// SharedAllocator with several threads: no two own the same bytes, whatever the policy, and every
// call is counted once. Worth running under the tsan preset.
#include <map>
#include <set>
#include <thread>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/random.h"
#include "core/concurrent/shared_allocator.h"
#include "tests/support/policy.h"

using namespace tidemark;
using support::make_policy;
using support::small_device;

namespace {

// The ranges that threads own at this moment. Claims are made after the grant and given up before
// the free, so that an overlap seen here is one.
class Owners {
  public:
    void claim(const Range& range) {
        const std::lock_guard lock(mutex_);
        const std::uint64_t begin = to_integer(range.begin);
        const auto after = ends_.lower_bound(begin);
        if (after != ends_.end() && after->first < begin + range.size)
            ++overlaps_;
        if (after != ends_.begin() && std::prev(after)->second > begin)
            ++overlaps_;
        ends_.emplace(begin, begin + range.size);
    }

    void give_up(Address address) {
        const std::lock_guard lock(mutex_);
        ends_.erase(to_integer(address));
    }

    int overlaps() const { return overlaps_; }  // when no thread runs any more

  private:
    std::mutex mutex_;
    std::map<std::uint64_t, std::uint64_t> ends_;
    int overlaps_ = 0;
};

template <class Body>
void in_threads(unsigned count, Body body) {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < count; ++i)
        threads.emplace_back(body, i);
    for (std::thread& thread : threads)
        thread.join();
}

// Catch2's assertions are for one thread: a thread keeps what went wrong for later.
struct Outcome {
    std::uint64_t granted = 0;
    std::uint64_t refused = 0;
    std::uint64_t wrong = 0;

    void expect(bool right) { wrong += right ? 0U : 1U; }
};

// The mixed program of VPMM's own test: every third request small, others hundreds of MiB, the
// oldest dropped at even steps, all dropped at the end. Each thread on a stream of its own.
Outcome mixed_program(SharedAllocator& shared, Owners& owners, unsigned thread) {
    Outcome outcome;
    Random random(thread + 1);
    std::vector<Address> mine;
    const StreamId stream{thread + 1};
    const auto drop_oldest = [&] {
        owners.give_up(mine.front());
        outcome.expect(shared.free(mine.front(), stream).has_value());
        mine.erase(mine.begin());
    };
    for (int step = 0; step < 15; ++step) {
        const Bytes size =
            step % 3 == 0 ? (1 + random.below(101)) * 1_KiB : (100 + random.below(301)) * 1_MiB;
        const auto range = shared.allocate({.size = size, .stream = stream});
        outcome.expect(range && range->size >= size);
        if (range) {
            owners.claim(*range);
            mine.push_back(range->begin);
            ++outcome.granted;
        }
        if (step % 2 == 0 && !mine.empty())
            drop_oldest();
    }
    while (!mine.empty())
        drop_oldest();
    return outcome;
}

constexpr Bytes kSmallest = 64;

// Each thread writes its number into what it gets and finds it there again before it frees. The
// device is for one thread: all its calls are made under the shell's lock.
class Tagger {
  public:
    Tagger(SharedAllocator& shared, SimDevice& device, unsigned thread)
        : shared_(shared),
          device_(device),
          tag_(static_cast<std::byte>(thread + 1)),
          stream_{thread + 1},
          random_(thread + 100) {}

    void run(int steps) {
        for (int step = 0; step < steps; ++step)
            take_step();
        while (!mine_.empty())
            drop(0);
    }

    const Outcome& outcome() const { return outcome_; }

  private:
    void take_step() {
        const std::uint64_t choice = random_.below(100);
        if (choice < 55)
            take();
        else if (choice < 95 && !mine_.empty())
            drop(random_.below(mine_.size()));
        else if (choice < 98 && !mine_.empty())
            look(mine_[random_.below(mine_.size())]);
        else if (choice == 98)
            shared_.trim(TrimLevel::unused);
        else if (choice == 99)
            outcome_.expect(!shared_.free(Address{0x10}, stream_));
    }

    void take() {
        const Bytes size = kSmallest + random_.below(Bytes{1} << (6 + random_.below(13)));
        const auto range = shared_.allocate({.size = size, .stream = stream_});
        if (!range) {
            ++outcome_.refused;
            return;
        }
        ++outcome_.granted;
        const std::vector<std::byte> tags(range->size, tag_);
        outcome_.expect(shared_.locked(
            [&](Allocator&, Device&) { return device_.write(range->begin, tags).has_value(); }));
        mine_.push_back(*range);
    }

    void look(const Range& range) {
        std::vector<std::byte> found(range.size);
        outcome_.expect(shared_.locked(
            [&](Allocator&, Device&) { return device_.read(range.begin, found).has_value(); }));
        outcome_.expect(found == std::vector<std::byte>(range.size, tag_));
        const auto known = shared_.range_of(range.begin + random_.below(range.size));
        outcome_.expect(known && known->address == range.begin);
    }

    void drop(std::size_t index) {
        look(mine_[index]);
        outcome_.expect(shared_.free(mine_[index].begin, stream_).has_value());
        mine_[index] = mine_.back();
        mine_.pop_back();
    }

    SharedAllocator& shared_;
    SimDevice& device_;
    std::byte tag_;
    StreamId stream_;
    Random random_;
    std::vector<Range> mine_;
    Outcome outcome_;
};

}  // namespace

TEST_CASE("four threads with mixed sizes share every policy, and a large request succeeds after",
          "[concurrent][threads]") {
    const ThreadCaches caches{.budget = GENERATE(0_MiB, 64_MiB)};
    for (const PolicyInfo& policy : support::general_policies()) {
        INFO(policy.name);
        SimDevice device(small_device(64_GiB));
        SharedAllocator shared(make_policy(policy.name, device), device, {}, caches);
        Owners owners;
        Outcome outcomes[4];

        in_threads(4, [&](unsigned i) { outcomes[i] = mixed_program(shared, owners, i); });

        CHECK(owners.overlaps() == 0);
        for (const Outcome& outcome : outcomes) {
            CHECK(outcome.wrong == 0);
            CHECK(outcome.granted == 15);
        }
        CHECK(shared.status().granted == 60);
        CHECK(shared.status().freed == 60);
        CHECK(shared.status().usage.allocated == 0);
        const auto large = shared.allocate({.size = 1_GiB});
        REQUIRE(large);
        CHECK(shared.free(large->begin));
        CHECK(shared.close().empty());
    }
}

TEST_CASE("what a thread wrote is there when it frees, under every policy",
          "[concurrent][threads]") {
    const ThreadCaches caches{.budget = GENERATE(0_MiB, 1_MiB)};
    for (const PolicyInfo& policy : support::general_policies()) {
        INFO(policy.name);
        SimConfig config = small_device(192_MiB);
        config.backed = true;
        SimDevice device(config);
        SharedAllocator shared(make_policy(policy.name, device), device, {}, caches);
        std::vector<Tagger> taggers;
        for (unsigned i = 0; i < 4; ++i)
            taggers.emplace_back(shared, device, i);

        in_threads(4, [&](unsigned i) { taggers[i].run(500); });

        std::uint64_t granted = 0;
        std::uint64_t refused = 0;
        for (const Tagger& tagger : taggers) {
            CHECK(tagger.outcome().wrong == 0);
            granted += tagger.outcome().granted;
            refused += tagger.outcome().refused;
        }
        const SharedStatus status = shared.status();
        CHECK(granted > 500);
        CHECK(status.granted == granted);
        CHECK(status.refused == refused);
        CHECK(status.freed == granted);
        CHECK(status.live == 0);
        CHECK(status.requested == 0);
        CHECK(status.usage.allocated == 0);
    }
}

TEST_CASE("of many threads that free one address exactly one does", "[concurrent][threads]") {
    SimDevice device(small_device(64_MiB));
    const ThreadCaches caches{.budget = GENERATE(0_MiB, 1_MiB)};
    SharedAllocator shared(make_policy("torch", device), device, {}, caches);
    for (int round = 0; round < 50; ++round) {
        const auto range = shared.allocate({.size = 4096});
        REQUIRE(range);
        int freed[4] = {};
        int twice[4] = {};

        in_threads(4, [&](unsigned i) {
            const auto answer = shared.free(range->begin);
            freed[i] = answer ? 1 : 0;
            twice[i] = !answer && answer.error() == BadAddress::freed_already ? 1 : 0;
        });

        CHECK(freed[0] + freed[1] + freed[2] + freed[3] == 1);
        CHECK(twice[0] + twice[1] + twice[2] + twice[3] == 3);
    }
    CHECK(shared.status().freed == 50);
    CHECK(shared.status().bad_addresses == 150);
}

TEST_CASE("figures that are read together belong to one moment", "[concurrent][threads]") {
    SimDevice device(small_device(64_MiB));
    const ThreadCaches caches{.budget = GENERATE(0_MiB, 1_MiB)};
    SharedAllocator shared(make_policy("best-fit", device), device, {}, caches);
    constexpr Bytes kSize = 4096;
    std::uint64_t torn = 0;

    in_threads(3, [&](unsigned i) {
        for (int step = 0; step < 3000; ++step) {
            if (i != 0) {
                const auto range = shared.allocate({.size = kSize});
                if (range && !shared.free(range->begin))
                    return;
                continue;
            }
            const SharedStatus status = shared.status();
            const bool whole = status.granted - status.freed == status.live &&
                               status.live * kSize == status.requested &&
                               status.requested <= status.peak_requested.at_least &&
                               status.usage.allocated <= status.peak_allocated.at_least;
            torn += whole ? 0U : 1U;
        }
    });

    CHECK(torn == 0);
    CHECK(shared.status().granted == 6000);
}

TEST_CASE("the allocator may be closed while other threads still free", "[concurrent][threads]") {
    SimDevice device(small_device(64_MiB));
    const ThreadCaches caches{.budget = GENERATE(0_MiB, 1_MiB)};
    SharedAllocator shared(make_policy("torch", device), device, {}, caches);
    std::vector<Address> addresses;
    for (int i = 0; i < 400; ++i)
        addresses.push_back(shared.allocate({.size = 1024})->begin);
    std::uint64_t freed[4] = {};
    std::size_t left = 0;

    in_threads(4, [&](unsigned i) {
        for (std::size_t k = i; k < addresses.size(); k += 4) {
            if (i == 3 && k > 200) {
                left += shared.close().size();
                continue;
            }
            const auto answer = shared.free(addresses[k]);
            freed[i] += answer ? 1U : 0U;
        }
    });

    CHECK(freed[0] + freed[1] + freed[2] + freed[3] + left == addresses.size());
}

TEST_CASE("blocks go from thread to thread", "[concurrent][threads]") {
    SimDevice device(small_device(256_MiB));
    SharedAllocator shared(make_policy("best-fit", device), device, {}, {.budget = 1_MiB});
    constexpr std::size_t kSlots = 64;
    std::array<std::atomic<Address>, kSlots> slots{};
    Outcome outcomes[4];

    in_threads(4, [&](unsigned i) {
        Random random(i + 1);
        for (int step = 0; step < 5000; ++step) {
            const auto range = shared.allocate({.size = 512 * (1 + random.below(8))});
            outcomes[i].expect(range.has_value());
            const Address before = slots[random.below(kSlots)].exchange(range->begin);
            outcomes[i].expect(shared.free(before).has_value());
        }
    });

    for (const Outcome& outcome : outcomes)
        CHECK(outcome.wrong == 0);
    for (const auto& slot : slots)
        CHECK(shared.free(slot));
    const SharedStatus status = shared.status();
    CHECK(status.live == 0);
    CHECK(status.hits > 1000);
    CHECK(status.usage.allocated == 0);
    CHECK(status.bad_addresses == 0);
}

TEST_CASE("threads come and go, more than there are caches", "[concurrent][threads]") {
    SimDevice device(small_device(256_MiB));
    SharedAllocator shared(make_policy("torch", device), device, {},
                           {.budget = 1_MiB, .threads = 4});
    for (int round = 0; round < 5; ++round) {
        in_threads(16, [&](unsigned i) {
            for (int step = 0; step < 200; ++step) {
                const auto range = shared.allocate({.size = 4096, .stream = StreamId{i}});
                if (!range || !shared.free(range->begin))
                    return;
            }
        });
    }
    CHECK(shared.status().freed == 5U * 16 * 200);
    CHECK(shared.status().cached <= 4_MiB);
    CHECK(shared.close().empty());
}

// A sanitizer of threads forbids what comes after a fork of a program with threads.
#ifndef __SANITIZE_THREAD__
TEST_CASE("a child made while other threads allocate finds everything whole",
          "[concurrent][threads]") {
    SimDevice device(small_device(256_MiB));
    SharedAllocator shared(make_policy("torch", device), device, {}, {.budget = 1_MiB});
    std::atomic<bool> ended = false;
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 3; ++i)
        threads.emplace_back([&shared, &ended, i] {
            for (Bytes size = 512; !ended; size = size % 100'000 + 512) {
                const auto range = shared.allocate({.size = size, .stream = StreamId{i}});
                static_cast<void>(shared.free(range->begin));
            }
        });
    for (int round = 0; round < 50; ++round) {
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            const SharedStatus status = shared.status();
            const auto range = shared.allocate({.size = 4096});
            const bool right = status.granted - status.freed == status.live && range &&
                               shared.free(range->begin) && shared.close().size() == status.live;
            _exit(right ? 0 : 1);
        }
        int result = -1;
        REQUIRE(waitpid(child, &result, 0) == child);
        REQUIRE(result == 0);
    }
    ended = true;
    for (std::thread& thread : threads)
        thread.join();
    CHECK(shared.status().live == 0);
}
#endif
