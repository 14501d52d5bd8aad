// Buffers in host memory and files, through the C interface.
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "replay/c_api/tidemark.h"

namespace {

constexpr std::uint64_t kMiB = 1 << 20;

// A store of 16 MiB of host memory and a directory of its own.
class Shelf {
  public:
    explicit Shelf(std::uint64_t disk_bytes = 0) {
        std::string name = (std::filesystem::temp_directory_path() / "tm-store-XXXXXX").string();
        REQUIRE(mkdtemp(name.data()) != nullptr);
        directory_ = name;
        TM_INIT(tm_store_options, options);
        options.host_bytes = 16 * kMiB;
        options.directory = directory_.c_str();
        options.disk_bytes = disk_bytes;
        REQUIRE(tm_store_open(&options, &store) == TM_OK);
    }

    Shelf(const Shelf&) = delete;
    Shelf& operator=(const Shelf&) = delete;

    ~Shelf() {
        tm_store_close(store);
        std::filesystem::remove_all(directory_);
    }

    std::uint64_t buffer(std::uint64_t bytes) {
        std::uint64_t made = 0;
        REQUIRE(tm_buffer_create(store, bytes, TM_TIER_HOST, TM_PATIENT, 0, &made) == TM_OK);
        return made;
    }

    tm_access* acquire(std::uint64_t buffer, tm_mode mode) {
        tm_access* access = nullptr;
        REQUIRE(tm_buffer_acquire(store, buffer, TM_TIER_HOST, mode, 0, TM_PATIENT, &access) ==
                TM_OK);
        return access;
    }

    tm_tier_counters counters(tm_tier tier) {
        TM_INIT(tm_tier_counters, all);
        REQUIRE(tm_store_counters(store, tier, &all) == TM_OK);
        return all;
    }

    tm_store* store = nullptr;

  private:
    std::string directory_;
};

std::vector<tm_piece> pieces_of(tm_access* access) {
    std::size_t count = 0;
    REQUIRE(tm_access_pieces(access, nullptr, 0, &count) == TM_OK);
    std::vector<tm_piece> pieces(count);
    REQUIRE(tm_access_pieces(access, pieces.data(), count, nullptr) == TM_OK);
    return pieces;
}

void fill(const std::vector<tm_piece>& pieces, int value) {
    for (const tm_piece& piece : pieces)
        std::memset(reinterpret_cast<void*>(piece.address), value, piece.bytes);
}

void fill(tm_access* access, int value) {
    fill(pieces_of(access), value);
}

bool holds(tm_access* access, int value) {
    std::uint64_t right = 0;
    std::uint64_t all = 0;
    for (const tm_piece& piece : pieces_of(access)) {
        const auto* const bytes = reinterpret_cast<const unsigned char*>(piece.address);
        for (std::uint64_t i = 0; i < piece.bytes; ++i)
            right += bytes[i] == value;
        all += piece.bytes;
    }
    return all != 0 && right == all;
}

}  // namespace

TEST_CASE("more buffers than memory go to files and come back whole", "[c_api]") {
    Shelf shelf;
    std::vector<std::uint64_t> buffers;
    for (int i = 0; i < 8; ++i) {
        buffers.push_back(shelf.buffer(4 * kMiB));
        tm_access* const access = shelf.acquire(buffers.back(), TM_OVERWRITE);
        fill(access, i + 1);
        tm_access_release(access);
    }
    CHECK(shelf.counters(TM_TIER_HOST).used <= 16 * kMiB);
    CHECK(shelf.counters(TM_TIER_HOST).copied_out >= 16 * kMiB);
    for (int i = 0; i < 8; ++i) {
        tm_access* const access = shelf.acquire(buffers[static_cast<std::size_t>(i)], TM_READ);
        CHECK(holds(access, i + 1));
        tm_access_release(access);
    }
    std::uint32_t tiers = 0;
    REQUIRE(tm_buffer_tiers(shelf.store, buffers[0], &tiers) == TM_OK);
    CHECK(tiers != 0);
    CHECK(tm_buffer_hint(shelf.store, buffers[0], 5) == TM_OK);
    std::uint64_t freed = 0;
    CHECK(tm_store_free_bytes(shelf.store, TM_TIER_HOST, 4 * kMiB, &freed) == TM_OK);
    CHECK(freed >= 4 * kMiB);
    for (const std::uint64_t buffer : buffers)
        CHECK(tm_buffer_destroy(shelf.store, buffer) == TM_OK);
    while (shelf.counters(TM_TIER_HOST).used != 0)  // when copies under way have ended
        std::this_thread::yield();
}

TEST_CASE("a program that spills by itself asks how much, and which", "[c_api]") {
    Shelf shelf;
    std::vector<std::uint64_t> buffers;
    for (int i = 0; i < 3; ++i) {
        buffers.push_back(shelf.buffer(4 * kMiB));
        tm_access* const access = shelf.acquire(buffers.back(), TM_OVERWRITE);
        fill(access, i + 1);
        tm_access_release(access);
    }
    TM_INIT(tm_tier_pressure, pressure);
    REQUIRE(tm_store_pressure(shelf.store, TM_TIER_HOST, 0.5, 0.25, &pressure) == TM_OK);
    CHECK(pressure.used == 12 * kMiB);
    CHECK(pressure.spill_start == 8 * kMiB);
    CHECK(pressure.spill_stop == 4 * kMiB);
    CHECK(pressure.should_spill == 1);
    CHECK(pressure.excess == 8 * kMiB);

    // By the policy: those that were used longest ago. Nothing has left.
    tm_access* const held = shelf.acquire(buffers[1], TM_READ);
    std::size_t count = 0;
    std::vector<tm_candidate> next(4);
    REQUIRE(tm_store_candidates(shelf.store, TM_TIER_HOST, pressure.excess, next.data(),
                                next.size(), &count) == TM_OK);
    REQUIRE(count == 2);
    CHECK(next[0].buffer == buffers[0]);
    CHECK(next[1].buffer == buffers[2]);
    CHECK(next[0].bytes == 4 * kMiB);
    CHECK(next[0].freed == 4 * kMiB);
    CHECK(shelf.counters(TM_TIER_HOST).used == 12 * kMiB);
    REQUIRE(tm_store_candidates(shelf.store, TM_TIER_HOST, 1, nullptr, 0, &count) == TM_OK);
    CHECK(count == 1);

    std::uint64_t freed = 0;
    for (std::size_t i = 0; i < 2; ++i) {
        REQUIRE(tm_buffer_evict(shelf.store, next[i].buffer, TM_TIER_HOST, &freed) == TM_OK);
        CHECK(freed == 4 * kMiB);
    }
    REQUIRE(tm_buffer_evict(shelf.store, buffers[1], TM_TIER_HOST, &freed) == TM_OK);
    CHECK(freed == 0);  // it is used
    tm_access_release(held);
    REQUIRE(tm_store_pressure(shelf.store, TM_TIER_HOST, 0.5, 0.25, &pressure) == TM_OK);
    CHECK(pressure.should_spill == 0);
    CHECK(pressure.excess == 0);
    CHECK(tm_store_pressure(shelf.store, TM_TIER_HOST, 1.5, 0, &pressure) == TM_BAD_OPTION);
    CHECK(tm_buffer_evict(shelf.store, 99, TM_TIER_HOST, &freed) == TM_NOT_FOUND);
    tm_access* const access = shelf.acquire(buffers[2], TM_READ);
    CHECK(holds(access, 3));
    tm_access_release(access);
}

TEST_CASE("reservations keep room for who pays with them", "[c_api]") {
    Shelf shelf;
    std::uint64_t reservation = 0;
    REQUIRE(tm_reserve(shelf.store, TM_TIER_HOST, 12 * kMiB, 0, &reservation) == TM_OK);
    std::uint64_t more = 0;
    CHECK(tm_reserve(shelf.store, TM_TIER_HOST, 8 * kMiB, 0, &more) == TM_NO_SPACE);
    std::uint64_t buffer = 0;
    CHECK(tm_buffer_create(shelf.store, 8 * kMiB, TM_TIER_HOST, 0, 0, &buffer) == TM_NO_SPACE);
    REQUIRE(tm_buffer_create(shelf.store, 8 * kMiB, TM_TIER_HOST, 0, reservation, &buffer) ==
            TM_OK);
    CHECK(shelf.counters(TM_TIER_HOST).reserved == 4 * kMiB);
    CHECK(tm_reservation_end(shelf.store, reservation) == TM_OK);
    CHECK(tm_reservation_end(shelf.store, reservation) == TM_NOT_FOUND);
    CHECK(tm_buffer_destroy(shelf.store, buffer) == TM_OK);
}

TEST_CASE("what cannot be is told", "[c_api]") {
    Shelf shelf;
    std::uint64_t buffer = 0;
    CHECK(tm_buffer_create(shelf.store, 1, TM_TIER_GPU, 0, 0, &buffer) == TM_BAD_OPTION);
    CHECK(tm_buffer_create(shelf.store, 0, TM_TIER_HOST, 0, 0, &buffer) == TM_BAD_OPTION);
    CHECK(tm_buffer_create(shelf.store, 1, TM_TIER_HOST, 0, 77, &buffer) == TM_NOT_FOUND);
    CHECK(tm_buffer_destroy(shelf.store, 12345) == TM_NOT_FOUND);
    tm_store* other = nullptr;
    CHECK(tm_store_open(nullptr, &other) == TM_BAD_OPTION);
    TM_INIT(tm_store_options, options);
    options.host_bytes = kMiB;
    options.victims = "lur";
    CHECK(tm_store_open(&options, &other) != TM_OK);
    options.victims = nullptr;
    options.directory = "/no/such/directory";
    CHECK(tm_store_open(&options, &other) == TM_IO);
    CHECK(tm_store_close(nullptr) == TM_OK);

    buffer = shelf.buffer(kMiB);
    tm_access* const access = shelf.acquire(buffer, TM_READ);
    CHECK(tm_buffer_destroy(shelf.store, buffer) == TM_BAD_INPUT);
    tm_access_release(access);
    tm_access_release(nullptr);
    CHECK(tm_buffer_destroy(shelf.store, buffer) == TM_OK);
}

TEST_CASE("an access outlives its store, and the store its handle", "[c_api]") {
    Shelf shelf;
    const std::uint64_t buffer = shelf.buffer(4 * kMiB);
    shelf.buffer(kMiB);  // lives when the store ends
    tm_access* const written = shelf.acquire(buffer, TM_OVERWRITE);
    std::uint64_t reservation = 0;
    REQUIRE(tm_reserve(shelf.store, TM_TIER_HOST, kMiB, 0, &reservation) == TM_OK);
    CHECK(tm_store_close(std::exchange(shelf.store, nullptr)) == TM_OK);
    fill(written, 7);
    CHECK(holds(written, 7));
    tm_access_release(written);
}

TEST_CASE("accesses of several threads end after their store is closed", "[c_api]") {
    Shelf shelf;
    std::vector<tm_access*> accesses;
    for (int i = 0; i < 4; ++i)
        accesses.push_back(shelf.acquire(shelf.buffer(kMiB), TM_OVERWRITE));
    tm_store_close(std::exchange(shelf.store, nullptr));
    std::vector<std::thread> threads;
    for (tm_access* const access : accesses)
        threads.emplace_back([access, pieces = pieces_of(access)] {
            fill(pieces, 3);
            tm_access_release(access);
        });
    for (std::thread& thread : threads)
        thread.join();
}

namespace {

std::string last_hint() {
    TM_INIT(tm_error, error);
    tm_last_error(&error);
    return error.hint;
}

// Waits of this thread end in some way, until the end of the scope.
class Waits {
  public:
    explicit Waits(std::uint64_t timeout, int (*interrupted)(void*) = nullptr) {
        TM_INIT(tm_wait_options, options);
        options.timeout = timeout;
        options.interrupted = interrupted;
        REQUIRE(tm_set_waits(&options) == TM_OK);
    }

    Waits(const Waits&) = delete;
    Waits& operator=(const Waits&) = delete;

    ~Waits() { tm_set_waits(nullptr); }
};

}  // namespace

TEST_CASE("a store that is full refuses who waits for room, and says what holds it", "[c_api]") {
    Shelf shelf(4 * kMiB);
    std::uint64_t made = 0;
    tm_status status = TM_OK;
    int buffers = 0;
    while (status == TM_OK && buffers < 100) {
        status = tm_buffer_create(shelf.store, kMiB, TM_TIER_HOST, TM_PATIENT, 0, &made);
        buffers += status == TM_OK ? 1 : 0;
    }
    CHECK(status == TM_NO_SPACE);
    CHECK(buffers >= 16);
    CHECK_THAT(last_hint(), Catch::Contains("host:0: 16.0 MiB of 16.0 MiB used"));
    CHECK_THAT(last_hint(), Catch::Contains("disk:0: "));
}

TEST_CASE("a wait has a limit of time, and ends when its caller wants it to", "[c_api]") {
    Shelf shelf;
    const std::uint64_t buffer = shelf.buffer(16 * kMiB);
    tm_access* const access = shelf.acquire(buffer, TM_WRITE);
    std::uint64_t made = 0;
    tm_access* another = nullptr;
    const auto wait_for_all = [&] {
        CHECK(tm_buffer_create(shelf.store, kMiB, TM_TIER_HOST, TM_PATIENT | TM_STAYS, 0, &made) ==
              TM_CANCELLED);
        CHECK(tm_buffer_acquire(shelf.store, buffer, TM_TIER_HOST, TM_WRITE, 0, TM_PATIENT,
                                &another) == TM_CANCELLED);
        CHECK(tm_reserve(shelf.store, TM_TIER_HOST, kMiB, TM_PATIENT, &made) == TM_CANCELLED);
        CHECK_THAT(last_hint(), Catch::Contains("1 open access"));
    };
    {
        const Waits waits(1'000'000);
        wait_for_all();
    }
    {
        const Waits waits(0, [](void*) { return 1; });
        wait_for_all();
    }
    tm_access_release(access);
    CHECK(tm_buffer_create(shelf.store, kMiB, TM_TIER_HOST, TM_PATIENT, 0, &made) == TM_OK);
}
