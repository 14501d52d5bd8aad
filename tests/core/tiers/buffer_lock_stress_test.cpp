// BufferLock under many threads at random. What each lock guards is plain memory: whoever gets in
// wrongly spoils a sum, and a thread sanitizer sees it. Ends with every lock as it began.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "core/base/stopwatch.h"
#include "core/tiers/buffer_lock.h"

namespace tidemark {
namespace {

struct Cell {
    BufferLock lock;
    std::uint64_t value = 0;  // changed by writers
    std::uint64_t place = 0;  // changed by movers
};

class Stress {
  public:
    explicit Stress(std::size_t locks) : cells_(locks) {}

    void run(int threads, int rounds) {
        std::vector<std::thread> running;
        for (int i = 0; i < threads; ++i) {
            running.emplace_back([this, i, rounds] {
                Random random(static_cast<std::uint64_t>(i) + 1);
                for (int round = 0; round < rounds; ++round)
                    use(cells_[random.below(cells_.size())], random);
            });
        }
        for (std::thread& thread : running)
            thread.join();
    }

    std::uint64_t moves() const { return moves_; }

    void check() {
        std::uint64_t values = 0;
        std::uint64_t places = 0;
        for (Cell& cell : cells_) {
            CHECK(cell.lock.state() == LockWord{});
            CHECK(cell.lock.waiting() == 0);
            values += cell.value;
            places += cell.place;
        }
        CHECK(wrong_ == 0);
        CHECK(values == writes_);
        CHECK(places == moves_);
        CHECK(writes_ > 0);
        CHECK(upgrades_ > 0);
    }

  private:
    void use(Cell& cell, Random& random) {
        switch (random.below(5)) {
            case 0:
                return write(cell, random);
            case 1:
                return pin(cell);
            case 2:
                return move(cell, random);
            default:
                return read(cell, random);
        }
    }

    void change(Cell& cell) {
        ++cell.value;
        ++writes_;
    }

    void write(Cell& cell, Random& random) {
        if (random.below(4) != 0)
            cell.lock.write();
        else if (!cell.lock.write_for(static_cast<Nanoseconds>(random.below(20'000))))
            return;
        change(cell);
        if (random.below(2) == 0)
            return cell.lock.end_write();
        const std::uint64_t before = cell.value;
        cell.lock.downgrade();
        wrong_ += cell.value != before;
        cell.lock.end_read();
    }

    void read(Cell& cell, Random& random) {
        if (random.below(4) != 0)
            cell.lock.read();
        else if (!cell.lock.read_for(static_cast<Nanoseconds>(random.below(20'000))))
            return;
        const std::uint64_t value = cell.value;
        const std::uint64_t place = cell.place;
        if (random.below(4) == 0) {
            cell.lock.share_read();
            cell.lock.end_read();
        }
        if (random.below(4) == 0)
            std::this_thread::yield();
        wrong_ += cell.value != value || cell.place != place;
        const bool timed = random.below(2) == 0;
        if (random.below(3) == 0 &&
            cell.lock.upgrade_for(timed ? 10'000 : kForever) == Upgrade::done) {
            wrong_ += cell.value != value;  // nobody wrote in between
            ++upgrades_;
            change(cell);
            cell.lock.end_write();
        } else {
            wrong_ += cell.value != value;
            cell.lock.end_read();
        }
    }

    void pin(Cell& cell) {
        cell.lock.pin();
        const std::uint64_t place = cell.place;
        std::this_thread::yield();
        wrong_ += cell.place != place;
        cell.lock.end_pin();
    }

    void move(Cell& cell, Random& random) {
        if (!cell.lock.try_move())
            return;
        ++cell.place;
        ++moves_;
        if (random.below(4) == 0)
            std::this_thread::yield();
        switch (random.below(3)) {
            case 0:
                return cell.lock.end_move();
            case 1:
                cell.lock.end_move_as_read();
                return cell.lock.end_read();
            default:
                cell.lock.end_move_as_write();
                change(cell);
                return cell.lock.end_write();
        }
    }

    std::vector<Cell> cells_;
    std::atomic<std::uint64_t> writes_ = 0;
    std::atomic<std::uint64_t> moves_ = 0;
    std::atomic<std::uint64_t> upgrades_ = 0;
    std::atomic<std::uint64_t> wrong_ = 0;
};

// Nanoseconds of one call of `body`: of the fastest batch, since others may have the processor.
template <class Body>
double cost(Body body) {
    constexpr int kBatch = 10'000;
    Nanoseconds best = kForever;
    for (int batch = 0; batch < 300; ++batch) {
        const Stopwatch watch;
        for (int i = 0; i < kBatch; ++i)
            body();
        best = std::min(best, watch.elapsed());
    }
    return static_cast<double>(best) / kBatch;
}

}  // namespace

TEST_CASE("threads at random keep one lock's promises, and leave nothing behind",
          "[tiers][buffer_lock]") {
    Stress stress(1);
    stress.run(6, 3000);
    stress.check();
}

TEST_CASE("threads at random keep the promises of several locks", "[tiers][buffer_lock]") {
    Stress stress(5);
    stress.run(6, 3000);
    stress.check();
}

TEST_CASE("more locks than queues share them well", "[tiers][buffer_lock]") {
    Stress stress(2000);
    stress.run(4, 10'000);
    stress.check();
    CHECK(stress.moves() > 0);  // of a lock that all want, nobody may ever have been moved
}

TEST_CASE("threads at random, for long", "[tiers][buffer_lock][.long]") {
    for (const std::size_t locks : {1U, 2U, 16U}) {
        Stress stress(locks);
        stress.run(16, 100'000);
        stress.check();
    }
}

TEST_CASE("what a lock costs when nobody is there", "[tiers][buffer_lock][.long]") {
    BufferLock lock;
    WARN("read + end_read: " << cost([&] { lock.read(), lock.end_read(); }) << " ns");
    WARN("write + end_write: " << cost([&] { lock.write(), lock.end_write(); }) << " ns");
    WARN("pin + end_pin: " << cost([&] { lock.pin(), lock.end_pin(); }) << " ns");
    WARN("move + end_move: " << cost([&] { (void)lock.try_move(), lock.end_move(); }) << " ns");
    CHECK(lock.state() == LockWord{});
}

}  // namespace tidemark
