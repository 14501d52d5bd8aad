// Requests by strategy: the candidates, and what becomes of those that must wait.
#include "core/tiers/request.h"

#include <thread>

#include <catch2/catch.hpp>

#include "tests/core/tiers/small_machine.h"
#include "tests/support/spaces.h"

namespace {

using namespace tidemark;
using namespace std::chrono_literals;
using support::kDisk;
using support::kGpu;
using support::kGpu1;
using support::kHost;

constexpr SpaceId kHost1{Tier::host, 1};

MachineSpec whole() {
    return {"whole",
            {small_space(kGpu, 100), small_space(kGpu1, 100), small_space(kHost, 400),
             small_space(kHost1, 400), small_space(kDisk, 1000)},
            {small_link(kGpu1, kHost, 20e9), small_link(kGpu1, kHost1, 50e9),
             small_link(kHost1, kGpu1, 50e9)},
            {}};
}

std::vector<SpaceId> found(const RequestStrategy& strategy) {
    return candidates(strategy, whole()).value();
}

void until_waiting(SpaceSet& spaces, std::size_t count) {
    while (spaces.queue().waiting() != count)
        std::this_thread::yield();
}

// A thread within request().
class Asker {
  public:
    Asker(SpaceSet& spaces, RequestStrategy strategy, Bytes size, WaitTerms terms = {})
        : thread_([this, &spaces, strategy = std::move(strategy), size, terms] {
              outcome_ = request(spaces, {strategy, size}, terms).value();
          }) {}

    RequestOutcome outcome() {
        thread_.join();
        return std::move(outcome_);
    }

  private:
    RequestOutcome outcome_;
    std::thread thread_;
};

TEST_CASE("Strategies give their candidates in order", "[tiers][request]") {
    using Ids = std::vector<SpaceId>;
    CHECK(found(specific(kHost1)) == Ids{kHost1});
    CHECK(found(any_in(Tier::gpu)) == Ids{kGpu, kGpu1});
    CHECK(found(prefer(kGpu1)) == Ids{kGpu1, kGpu});
    CHECK(found(in_order({Tier::host, Tier::gpu})) == Ids{kHost, kHost1, kGpu, kGpu1});
    CHECK(found(in_order({Tier::disk, Tier::disk})) == Ids{kDisk});
}

TEST_CASE("Down and up go to the nearest by link first", "[tiers][request]") {
    using Ids = std::vector<SpaceId>;
    CHECK(found(downgrade(kGpu)) == Ids{kHost, kHost1, kDisk});
    CHECK(found(downgrade(kGpu1)) == Ids{kHost1, kHost, kDisk});
    CHECK(found(downgrade(kGpu1, {Tier::disk, Tier::host})) == Ids{kDisk, kHost1, kHost});
    CHECK(found(downgrade(kHost)) == Ids{kDisk});
    CHECK(found(upgrade(kHost1, Tier::gpu)) == Ids{kGpu1, kGpu});
    CHECK(found(upgrade(kDisk, Tier::host)) == Ids{kHost, kHost1});
}

TEST_CASE("What can never be is an error at once (defect 9)", "[tiers][request]") {
    const auto spaces = SpaceSet::make(whole()).value();
    const auto code = [&](const RequestStrategy& strategy, Bytes size = 1) {
        const auto blocking = request(*spaces, {strategy, size});
        return blocking ? std::nullopt : std::optional(blocking.error().code);
    };
    CHECK(code(specific({Tier::gpu, 7})) == ErrorCode::not_found);
    CHECK(code(prefer({Tier::gpu, 7})) == ErrorCode::not_found);
    CHECK(code(in_order({})) == ErrorCode::not_found);
    CHECK(code(downgrade(kDisk)) == ErrorCode::not_found);
    CHECK(code(downgrade(kHost, {Tier::gpu})) == ErrorCode::bad_option);
    CHECK(code(downgrade({Tier::host, 9})) == ErrorCode::not_found);
    CHECK(code(upgrade(kGpu, Tier::gpu)) == ErrorCode::bad_option);
    CHECK(code(upgrade(kHost, Tier::disk)) == ErrorCode::bad_option);
    CHECK(code(any_in(Tier::gpu), 101) == ErrorCode::bad_option);
    CHECK(!code(any_in(Tier::gpu), 100));
    CHECK(!try_request(*spaces, {specific({Tier::gpu, 7}), 1}));
    CHECK(!request_up_to(*spaces, {specific({Tier::gpu, 7}), 1}));
    // Too large is no error for those who do not wait.
    CHECK(!*try_request(*spaces, {any_in(Tier::gpu), 101}));
    CHECK(request_up_to(*spaces, {any_in(Tier::gpu), 101})->size() == 100);
    CHECK(spaces->counters().used == 0);
}

TEST_CASE("Any GPU, tiers in order (A-T3)", "[tiers][request]") {
    const auto spaces =
        make_spaces({small_space(kGpu, 2_GiB, 0.75), small_space(kHost, 4_GiB, 0.75)});
    const auto where = [&](const RequestStrategy& strategy, Bytes size) {
        return request(*spaces, {strategy, size}, {.timeout = 0ns})->reservation.space().id();
    };
    CHECK(where(any_in(Tier::gpu), 50_MiB) == kGpu);
    CHECK(where(in_order({Tier::gpu, Tier::host, Tier::disk}), 25_MiB) == kGpu);
    CHECK(where(in_order({Tier::host, Tier::gpu, Tier::disk}), 100_MiB) == kHost);
    CHECK(spaces->counters().used == 0);
}

TEST_CASE("Two GPUs: when the first is full the second serves (A-T8)", "[tiers][request]") {
    const auto spaces =
        make_spaces({small_space(kGpu, 2_GiB, 0.75), small_space(kGpu1, 2_GiB, 0.75)});
    const Bytes size = spaces->at(0).thresholds().limit - 1024;
    const auto first = try_request(*spaces, {specific(kGpu), size});
    REQUIRE(*first);
    const auto second = try_request(*spaces, {any_in(Tier::gpu), size});
    REQUIRE(*second);
    CHECK(second->space().id() == kGpu1);
    CHECK(second->size() == size);
    CHECK(!*try_request(*spaces, {any_in(Tier::gpu), size}));
}

TEST_CASE("A preferred space that is full does not keep from the others (defect 11)",
          "[tiers][request]") {
    const auto spaces = SpaceSet::make(whole()).value();
    MemoryReservation first = *try_request(*spaces, {specific(kGpu1), 100});
    const auto second = request(*spaces, {prefer(kGpu1), 100}, {.timeout = 0ns});
    REQUIRE(second->end == WaitEnd::granted);
    CHECK(second->reservation.space().id() == kGpu);
    // Both full: whichever has room first.
    Asker asker(*spaces, prefer(kGpu), 30);
    until_waiting(*spaces, 1);
    first.release();
    CHECK(asker.outcome().reservation.space().id() == kGpu1);
}

TEST_CASE("A release in any candidate wakes who waits (defect 10)", "[tiers][request]") {
    const auto spaces = SpaceSet::make(whole()).value();
    const SpaceId freed = GENERATE(kGpu, kGpu1, kHost1);
    std::vector<MemoryReservation> full;
    for (const SpaceId id : {kGpu, kGpu1, kHost, kHost1})
        full.push_back(*try_request(*spaces, {specific(id), spaces->find(id)->reservable()}));
    Asker asker(*spaces, in_order({Tier::gpu, Tier::host}), 10);
    until_waiting(*spaces, 1);
    for (MemoryReservation& reservation : full)
        if (reservation.space().id() == freed) {
            reservation.release();
            break;
        }
    const RequestOutcome outcome = asker.outcome();
    REQUIRE(outcome.end == WaitEnd::granted);
    CHECK(outcome.reservation.space().id() == freed);
    CHECK(outcome.reservation.size() == 10);
}

TEST_CASE("Nobody gets less than he asked for, though nobody else holds a reservation",
          "[tiers][request]") {
    const auto spaces = make_spaces({small_space(kGpu, 100)});
    Charge charge = *spaces->at(0).charge(60);
    const auto refused = request(*spaces, {any_in(Tier::gpu), 50}, {.timeout = 2ms});
    CHECK(refused->end == WaitEnd::timed_out);
    CHECK(!refused->reservation);
    CHECK(request_up_to(*spaces, {any_in(Tier::gpu), 50})->size() == 40);
    Asker asker(*spaces, any_in(Tier::gpu), 50);
    until_waiting(*spaces, 1);
    spaces->at(0).uncharge(charge);
    CHECK(asker.outcome().reservation.size() == 50);
}

TEST_CASE("As much as there is comes from where there is most", "[tiers][request]") {
    const auto spaces = SpaceSet::make(whole()).value();
    const MemoryReservation some = *try_request(*spaces, {specific(kGpu), 70});
    const MemoryReservation more = *try_request(*spaces, {specific(kGpu1), 50});
    const auto rest = request_up_to(*spaces, {any_in(Tier::gpu), 90});
    CHECK(rest->space().id() == kGpu1);
    CHECK(rest->size() == 50);
    const auto fits = request_up_to(*spaces, {any_in(Tier::gpu), 20});
    CHECK(fits->space().id() == kGpu);
    CHECK(fits->size() == 20);
    CHECK(request_up_to(*spaces, {specific(kGpu1), 20})->size() == 0);
}

TEST_CASE("One who does not wait passes those who may not be passed no more", "[tiers][request]") {
    const auto spaces = make_spaces({small_space(kGpu, 100)}, {.bypass_limit = 1});
    MemoryReservation half = *try_request(*spaces, {any_in(Tier::gpu), 50});
    Asker asker(*spaces, any_in(Tier::gpu), 80);
    until_waiting(*spaces, 1);
    CHECK(*try_request(*spaces, {any_in(Tier::gpu), 5}));
    CHECK(!*try_request(*spaces, {any_in(Tier::gpu), 5}));
    CHECK(request_up_to(*spaces, {any_in(Tier::gpu), 5})->size() == 0);
    half.release();
    CHECK(asker.outcome().end == WaitEnd::granted);
}

TEST_CASE("Requests end by deadline, cancellation and the set's own end (defect 9)",
          "[tiers][request]") {
    auto spaces = make_spaces({small_space(kGpu, 100), small_space(kHost, 100)});
    Charge charge = *spaces->at(0).charge(100);
    const RequestStrategy gpu = any_in(Tier::gpu);
    CHECK(request(*spaces, {gpu, 1}, {.timeout = 1ms})->end == WaitEnd::timed_out);
    std::stop_source cancel;
    Asker cancelled(*spaces, gpu, 1, {.cancel = cancel.get_token()});
    until_waiting(*spaces, 1);
    cancel.request_stop();
    CHECK(cancelled.outcome().end == WaitEnd::cancelled);
    Asker one(*spaces, gpu, 1);
    Asker two(*spaces, specific(kGpu), 2);
    until_waiting(*spaces, 2);
    spaces->at(0).uncharge(charge);
    CHECK(one.outcome().end == WaitEnd::granted);
    CHECK(two.outcome().end == WaitEnd::granted);
    charge = *spaces->at(0).charge(100);
    Asker three(*spaces, gpu, 1);
    Asker four(*spaces, gpu, 2);
    until_waiting(*spaces, 2);
    const bool destroyed = GENERATE(false, true);
    if (!destroyed) {
        spaces->shut_down();
        CHECK(request(*spaces, {specific(kHost), 1})->end == WaitEnd::shut_down);
        CHECK(!*try_request(*spaces, {specific(kHost), 1}));
        spaces->at(0).uncharge(charge);
    } else {
        spaces.reset();
    }
    CHECK(three.outcome().end == WaitEnd::shut_down);
    CHECK(four.outcome().end == WaitEnd::shut_down);
}

}  // namespace
