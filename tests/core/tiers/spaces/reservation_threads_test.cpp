// Reservations and charges under threads: the invariant holds at every moment that anyone sees, and
// everything ends at zero, whoever frees what. For ThreadSanitizer too.
#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "core/tiers/spaces/memory_space.h"

namespace tidemark {
namespace {

constexpr int kWorkers = 4;

bool holds(const SpaceCounters& counters, Bytes capacity) {
    return counters.used == counters.allocated + counters.unused_reserved &&
           counters.used <= capacity && counters.unused_reserved <= counters.reserved &&
           counters.peak_used >= counters.used;
}

// What threads hand to each other.
class Exchange {
  public:
    void put(const Charge& charge) {
        const std::lock_guard lock(mutex_);
        charges_.push_back(charge);
    }

    Charge take(Random& random) {
        const std::lock_guard lock(mutex_);
        if (charges_.empty())
            return {};
        std::swap(charges_[random.below(charges_.size())], charges_.back());
        const Charge charge = charges_.back();
        charges_.pop_back();
        return charge;
    }

    void publish(ReservationId id) {
        const std::lock_guard lock(mutex_);
        ids_[next_++ % ids_.size()] = id;
    }

    ReservationId any(Random& random) {
        const std::lock_guard lock(mutex_);
        return ids_[random.below(ids_.size())];
    }

  private:
    std::mutex mutex_;
    std::vector<Charge> charges_;
    std::array<ReservationId, 8> ids_;
    std::size_t next_ = 0;
};

OverReservation any_policy(Random& random) {
    switch (random.below(4)) {
        case 0:
            return fail_over_reservation();
        case 1:
            return increase_reservation();
        case 2:
            return increase_reservation(1.5, true);
        default:
            return nullptr;
    }
}

// One thread's life: its own reservations, and the ids and charges of all threads.
class Worker {
  public:
    Worker(MemorySpace& space, Exchange& exchange, std::uint64_t seed)
        : space_(space), exchange_(exchange), random_(seed) {}

    void step() {
        const Bytes size = random_.below(200);
        switch (random_.below(10)) {
            case 0:
                return acquire(space_.try_reserve(size));
            case 1:
                return acquire(space_.reserve_up_to(size));
            case 2:
            case 3:
                return keep(space_.charge(size, exchange_.any(random_)));
            case 4:
                return keep(space_.charge(size));
            case 5:
            case 6: {
                Charge charge = exchange_.take(random_);
                return space_.uncharge(charge);
            }
            case 7:
                return resize(size);
            default:
                return change(size);
        }
    }

  private:
    void acquire(std::optional<MemoryReservation> reservation) {
        if (!reservation)
            return;
        reservation->set_over_reservation(any_policy(random_));
        exchange_.publish(reservation->id());
        mine_.push_back(std::move(*reservation));
    }

    void keep(const tl::expected<Charge, ChargeRefusal>& charge) {
        if (charge)
            exchange_.put(*charge);
    }

    void resize(Bytes size) {
        Charge charge = exchange_.take(random_);
        if (!charge)
            return;
        static_cast<void>(space_.recharge(charge, size));  // refused or not: it is what it says
        exchange_.put(charge);
    }

    void change(Bytes size) {
        if (mine_.empty())
            return;
        std::swap(mine_[random_.below(mine_.size())], mine_.back());
        MemoryReservation& one = mine_.back();
        switch (random_.below(5)) {
            case 0:
                one.grow_by(size);
                break;
            case 1:
                one.shrink_to_fit();
                break;
            case 2:
                acquire(one.split(size, OwnerId::nobody));
                break;
            case 3:
                static_cast<void>(one.merge(std::move(mine_.front())));
                std::erase_if(mine_, [](const MemoryReservation& each) { return !each; });
                break;
            default:
                mine_.pop_back();
        }
    }

    MemorySpace& space_;
    Exchange& exchange_;
    Random random_;
    std::vector<MemoryReservation> mine_;
};

// Whether the invariant held at every look, and how often one looked.
struct Watch {
    bool held = true;
    std::uint64_t looks = 0;
};

void run(std::uint64_t seed, int steps) {
    const SpaceSpec spec{.capacity = 4096, .granularity = 4, .reservation_limit = 0.75};
    MemorySpace space(spec);
    Exchange exchange;
    std::atomic<int> running = kWorkers;
    Watch watch;
    std::vector<std::thread> threads;
    for (int i = 0; i < kWorkers; ++i)
        threads.emplace_back([&, i] {
            Worker worker(space, exchange, seed * kWorkers + static_cast<std::uint64_t>(i));
            for (int step = 0; step < steps; ++step)
                worker.step();
            --running;
        });
    while (running > 0) {
        watch.held = watch.held && holds(space.counters(), spec.capacity);
        ++watch.looks;
        std::this_thread::yield();
    }
    for (std::thread& thread : threads)
        thread.join();
    CHECK(watch.held);
    CHECK(watch.looks > 0);
    CHECK(space.counters().reservations == 0);  // the workers' went with them
    Random random(seed);
    while (Charge charge = exchange.take(random))
        space.uncharge(charge);
    const SpaceCounters counters = space.counters();
    CHECK(counters == SpaceCounters{.peak_used = counters.peak_used});
}

TEST_CASE("threads that free each other's memory leave nothing behind",
          "[tiers][reservation][threads]") {
    for (std::uint64_t seed = 1; seed <= 3; ++seed)
        run(seed, 20000);
}

TEST_CASE("threads do so for a long time", "[tiers][reservation][threads][.long]") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
        run(seed, 50000);
}

TEST_CASE("one reservation serves threads while it grows, shrinks and is released",
          "[tiers][reservation][threads]") {
    MemorySpace space({.capacity = 1_MiB});
    auto reservation = space.try_reserve(1000);
    REQUIRE(reservation);
    const ReservationId id = reservation->id();
    std::atomic<bool> gone = false;
    std::vector<std::thread> threads;
    for (int i = 0; i < kWorkers; ++i)
        threads.emplace_back([&] {
            std::vector<Charge> held;
            for (bool last = false; !last;) {
                last = gone;  // one more round, after the release
                for (int step = 0; step < 10; ++step)
                    if (const auto charge = space.charge(64, id))
                        held.push_back(*charge);
                while (!held.empty()) {
                    space.uncharge(held.back());
                    held.pop_back();
                }
            }
        });
    for (int step = 0; step < 2000; ++step) {
        reservation->grow_by(300);
        reservation->shrink_to_fit();
    }
    reservation.reset();
    gone = true;
    for (std::thread& thread : threads)
        thread.join();
    const SpaceCounters counters = space.counters();
    CHECK(counters == SpaceCounters{.peak_used = counters.peak_used});
}

TEST_CASE("a reservation that many threads outgrow at once grows by what they need, once",
          "[tiers][reservation][threads]") {
    MemorySpace space({.capacity = 1_MiB});
    auto reservation = space.try_reserve(100);
    REQUIRE(reservation);
    reservation->set_over_reservation(increase_reservation(1.0));
    constexpr int kCharges = 500;
    std::vector<std::vector<Charge>> charges(kWorkers);
    std::vector<std::thread> threads;
    for (int i = 0; i < kWorkers; ++i)
        threads.emplace_back([&, i] {
            for (int step = 0; step < kCharges; ++step)
                if (const auto charge = reservation->charge(10))
                    charges[static_cast<std::size_t>(i)].push_back(*charge);
        });
    for (std::thread& thread : threads)
        thread.join();
    CHECK(reservation->size() == kWorkers * kCharges * 10);
    CHECK(reservation->used() == reservation->size());
    CHECK(space.used() == reservation->size());
    for (auto& some : charges)
        for (Charge& charge : some)
            space.uncharge(charge);
    reservation.reset();
    CHECK(space.used() == 0);
}

}  // namespace
}  // namespace tidemark
