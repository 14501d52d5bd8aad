// Contexts through the C interface, on simulated devices.
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "replay/c_api/tidemark.h"

namespace {

class Opened {
  public:
    explicit Opened(const char* policy = "best-fit", std::uint64_t memory = std::uint64_t{1} << 30,
                    std::uint64_t thread_cache = TM_CACHE_NONE) {
        TM_INIT(tm_context_options, options);
        options.machine = "sim:h200";
        options.policy = policy;
        options.memory = memory;
        options.thread_cache = thread_cache;
        REQUIRE(tm_context_open(&options, &context) == TM_OK);
    }

    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;

    ~Opened() { tm_context_close(context, nullptr); }

    std::uint64_t alloc(std::uint64_t bytes, tm_stream stream = 0, std::uint32_t flags = 0) {
        TM_INIT(tm_request, request);
        request.bytes = bytes;
        request.stream = stream;
        request.flags = flags;
        request.tag = 7;
        std::uint64_t address = 0;
        REQUIRE(tm_alloc(context, &request, &address, nullptr) == TM_OK);
        return address;
    }

    tm_statistics statistics() {
        TM_INIT(tm_statistics, all);
        REQUIRE(tm_statistics_of(context, &all) == TM_OK);
        return all;
    }

    tm_context* context = nullptr;
};

std::string last_failure() {
    TM_INIT(tm_error, error);
    tm_last_error(&error);
    return std::string(error.where) + ": " + error.what + "; " + error.hint;
}

}  // namespace

TEST_CASE("memory is granted and freed, and counted", "[c_api]") {
    Opened opened;
    const std::uint64_t a = opened.alloc(1000);
    const std::uint64_t b = opened.alloc(5000, 1234);

    CHECK(a % 512 == 0);
    CHECK(opened.statistics().live == 2);
    CHECK(opened.statistics().requested == 6000);
    TM_INIT(tm_block, block);
    REQUIRE(tm_base_of(opened.context, b + 4999, &block) == TM_OK);
    CHECK(block.address == b);
    CHECK(block.requested == 5000);
    CHECK(block.stream == 1234);
    CHECK(block.tag == 7);
    CHECK(tm_free(opened.context, a, 0, 0) == TM_OK);
    CHECK(tm_free(opened.context, b, 5000, 1234) == TM_OK);
    CHECK(tm_free(opened.context, 0, 0, 0) == TM_OK);
    CHECK(opened.statistics().live == 0);
    CHECK(opened.statistics().freed == 2);
    CHECK(tm_trim(opened.context, 1) == TM_OK);
    CHECK(opened.statistics().reserved == 0);
}

TEST_CASE("what a caller gets wrong is told, and changes nothing", "[c_api]") {
    Opened opened;
    const std::uint64_t a = opened.alloc(1000);

    CHECK(tm_free(opened.context, a, 999, 0) == TM_BAD_ADDRESS);
    CHECK(last_failure().find("another size") != std::string::npos);
    CHECK(tm_free(opened.context, a + 4, 0, 0) == TM_BAD_ADDRESS);
    CHECK(tm_free(opened.context, 0x1000, 0, 0) == TM_BAD_ADDRESS);
    CHECK(tm_free(opened.context, a, 0, 0) == TM_OK);
    CHECK(tm_free(opened.context, a, 0, 0) == TM_BAD_ADDRESS);
    CHECK(last_failure().find("freed already") != std::string::npos);
    CHECK(tm_record_use(opened.context, a, 5) == TM_BAD_ADDRESS);
    CHECK(tm_record_use(opened.context, a, TM_STREAM_UNKNOWN) == TM_BAD_OPTION);
    CHECK(tm_free(nullptr, a, 0, 0) == TM_BAD_OPTION);
    CHECK(tm_pool_begin(opened.context, 0) == TM_BAD_OPTION);
    std::uint64_t address = 0;
    TM_INIT(tm_request, request);
    request.bytes = 10;
    request.alignment = 24;
    CHECK(tm_alloc(opened.context, &request, &address, nullptr) == TM_BAD_OPTION);
    request.struct_size = 0;
    CHECK(tm_alloc(opened.context, &request, &address, nullptr) == TM_BAD_OPTION);
    CHECK(opened.statistics().live == 0);
}

TEST_CASE("a context that cannot be says why", "[c_api]") {
    tm_context* context = nullptr;
    TM_INIT(tm_context_options, options);
    options.machine = "sim";
    options.policy = "torhc";
    CHECK(tm_context_open(&options, &context) == TM_BAD_OPTION);
    CHECK(last_failure().find("torch") != std::string::npos);
    CHECK(context == nullptr);
    options.policy = "torch:spilt=1";
    CHECK(tm_context_open(&options, &context) == TM_BAD_OPTION);
    options.policy = nullptr;
    options.machine = "sim:nonesuch";
    CHECK(tm_context_open(&options, &context) != TM_OK);
    options.machine = "abacus";
    CHECK(tm_context_open(&options, &context) == TM_BAD_OPTION);
    options.machine = "sim";
    options.record = "program";
    options.thread_cache = 1 << 20;
    CHECK(tm_context_open(&options, &context) == TM_BAD_OPTION);
    CHECK(tm_context_close(nullptr, nullptr) == TM_OK);
}

TEST_CASE("out of memory is an answer, and a limit is kept", "[c_api]") {
    Opened opened("torch", 64 << 20);
    TM_INIT(tm_request, request);
    request.bytes = 100 << 20;
    std::uint64_t address = 1;
    CHECK(tm_alloc(opened.context, &request, &address, nullptr) == TM_OUT_OF_MEMORY);
    CHECK(last_failure().find("104857600 bytes") != std::string::npos);
    REQUIRE(tm_set_limit(opened.context, 1 << 20) == TM_OK);
    request.bytes = 2 << 20;
    CHECK(tm_alloc(opened.context, &request, &address, nullptr) == TM_OUT_OF_MEMORY);
    CHECK(opened.statistics().refused == 2);
}

TEST_CASE("peaks begin again", "[c_api]") {
    Opened opened("torch", 64 << 20);
    const std::uint64_t big = opened.alloc(30 << 20);
    opened.alloc(1 << 20);
    REQUIRE(tm_free(opened.context, big, 0, 0) == TM_OK);
    REQUIRE(tm_trim(opened.context, 1) == TM_OK);
    CHECK(opened.statistics().peak_requested_most == 31 << 20);
    REQUIRE(tm_reset_peaks(opened.context) == TM_OK);
    const tm_statistics now = opened.statistics();
    CHECK(now.peak_requested_least == 1 << 20);
    CHECK(now.peak_requested_most == 1 << 20);
    CHECK(now.peak_allocated_most == now.allocated);
    CHECK(now.peak_reserved == now.reserved);
    CHECK(now.peak_reserved < 30 << 20);
}

TEST_CASE("requests of nothing are null, or each an address of its own", "[c_api]") {
    Opened opened;
    CHECK(opened.alloc(0) == 0);
    const std::uint64_t a = opened.alloc(0, 0, TM_UNIQUE_EMPTY);
    const std::uint64_t b = opened.alloc(0, 0, TM_UNIQUE_EMPTY);
    CHECK(a != 0);
    CHECK(a != b);
    CHECK(tm_free(opened.context, a, 0, 0) == TM_OK);
    CHECK(tm_free(opened.context, b, 0, 0) == TM_OK);
    CHECK(tm_free(opened.context, b + 2, 0, 0) == TM_BAD_ADDRESS);
    CHECK(opened.statistics().live == 0);
}

TEST_CASE("memory of streams that nobody knows comes back behind the whole device", "[c_api]") {
    Opened opened("torch", 64 << 20);
    const std::uint64_t a = opened.alloc(24 << 20, TM_STREAM_UNKNOWN);
    TM_INIT(tm_block, block);
    REQUIRE(tm_base_of(opened.context, a, &block) == TM_OK);
    CHECK(block.stream == TM_STREAM_UNKNOWN);
    REQUIRE(tm_free(opened.context, a, 0, TM_STREAM_UNKNOWN) == TM_OK);
    CHECK(tm_free(opened.context, a, 0, TM_STREAM_UNKNOWN) == TM_BAD_ADDRESS);
    CHECK(tm_free(opened.context, a, 0, 0) == TM_BAD_ADDRESS);
    CHECK(tm_base_of(opened.context, a, &block) == TM_BAD_ADDRESS);
    CHECK(opened.statistics().live == 0);
    CHECK(opened.statistics().allocated == 0);
    CHECK(opened.statistics().active == 24 << 20);
    CHECK(opened.alloc(24 << 20, TM_STREAM_UNKNOWN) != a);
    opened.alloc(24 << 20, TM_STREAM_UNKNOWN);  // there is no room but for the first one's

    CHECK(opened.statistics().live == 2);
    CHECK(opened.statistics().freed == 1);
    CHECK(opened.statistics().refused == 0);
}

TEST_CASE("a caller of an older or a newer library is served", "[c_api]") {
    Opened opened;
    opened.alloc(1000);

    struct Old {
        std::size_t struct_size;
        std::uint64_t reserved;
        std::uint64_t allocated;
        std::uint64_t mine;
    } old{offsetof(Old, mine), 1, 1, 42};

    REQUIRE(tm_statistics_of(opened.context, reinterpret_cast<tm_statistics*>(&old)) == TM_OK);
    CHECK(old.allocated >= 1000);
    CHECK(old.mine == 42);

    struct Newer {
        tm_request known;
        std::uint64_t more;
    } newer{};

    newer.known.struct_size = sizeof(Newer);
    newer.known.bytes = 1000;
    newer.more = ~std::uint64_t{0};
    std::uint64_t address = 0;
    CHECK(tm_alloc(opened.context, &newer.known, &address, nullptr) == TM_OK);
}

TEST_CASE("a context serves many threads from their caches", "[c_api]") {
    Opened opened("torch", std::uint64_t{4} << 30, 0);
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;
    for (unsigned i = 0; i < 4; ++i)
        threads.emplace_back([&, i] {
            for (int step = 0; step < 2000; ++step) {
                TM_INIT(tm_request, request);
                request.bytes = 4096;
                request.stream = 100 + i;
                std::uint64_t address = 0;
                wrong += tm_alloc(opened.context, &request, &address, nullptr) != TM_OK;
                wrong += tm_free(opened.context, address, 4096, 100 + i) != TM_OK;
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    CHECK(wrong == 0);
    CHECK(opened.statistics().hits > 7000);
}

TEST_CASE("pools and processes", "[c_api]") {
    Opened opened("torch");
    REQUIRE(tm_pool_begin(opened.context, 3) == TM_OK);
    TM_INIT(tm_request, request);
    request.bytes = 1 << 20;
    request.pool = 3;
    std::uint64_t address = 0;
    REQUIRE(tm_alloc(opened.context, &request, &address, nullptr) == TM_OK);
    REQUIRE(tm_pool_end(opened.context, 3) == TM_OK);
    REQUIRE(tm_free(opened.context, address, 0, 0) == TM_OK);
    REQUIRE(tm_pool_close(opened.context, 3) == TM_OK);
    REQUIRE(tm_trim(opened.context, 0) == TM_OK);
    CHECK(opened.statistics().reserved == 0);
    TM_INIT(tm_ipc_handle, handle);
    CHECK(tm_ipc_export(opened.context, opened.alloc(4096), &handle) == TM_UNSUPPORTED);
    CHECK(tm_ipc_close(opened.context, 0x1000) != TM_OK);
}

TEST_CASE("a pool's plan lets its requests share memory", "[c_api]") {
    Opened opened("arena:mode=planned");
    constexpr std::uint64_t kSize = 4 << 20;
    const tm_planned expected[] = {{kSize, 0, 0, 0, 1, 0, 0}, {kSize, 0, 0, 2, 3, 0, 0}};
    REQUIRE(tm_pool_plan(opened.context, 3, expected, 2) == TM_OK);
    CHECK(tm_pool_plan(opened.context, 0, expected, 2) == TM_BAD_OPTION);
    const tm_planned backwards{kSize, 0, 0, 3, 1, 0, 0};
    CHECK(tm_pool_plan(opened.context, 4, &backwards, 1) == TM_BAD_INPUT);
    REQUIRE(tm_pool_begin(opened.context, 3) == TM_OK);
    TM_INIT(tm_request, request);
    request.bytes = kSize;
    request.pool = 3;
    std::uint64_t last = 0;
    for (int turn = 0; turn < 3; ++turn) {
        std::uint64_t address = 0;
        REQUIRE(tm_alloc(opened.context, &request, &address, nullptr) == TM_OK);
        REQUIRE(tm_free(opened.context, address, 0, 0) == TM_OK);
        CHECK((address == last) == (turn == 1));  // the third one was not planned
        last = address;
    }
    REQUIRE(tm_pool_end(opened.context, 3) == TM_OK);
    CHECK(opened.statistics().plan_deviations == 1);
    CHECK(tm_pool_plan(Opened("torch").context, 3, expected, 2) == TM_UNSUPPORTED);
}

namespace {

// Frees what it has, a piece at a time.
struct Reserve {
    tm_context* context = nullptr;
    std::vector<std::uint64_t> pieces = {};
    std::vector<std::uint32_t> attempts = {};

    static int answer(void* user, std::uint64_t bytes, std::uint32_t attempt) {
        auto& self = *static_cast<Reserve*>(user);
        CHECK(bytes == std::uint64_t{600} << 20);
        self.attempts.push_back(attempt);
        TM_INIT(tm_request, request);
        request.bytes = std::uint64_t{2} << 30;
        std::uint64_t address = 0;
        CHECK(tm_alloc(self.context, &request, &address, nullptr) == TM_OUT_OF_MEMORY);
        if (self.pieces.empty())
            return 0;
        CHECK(tm_free(self.context, self.pieces.back(), 0, 0) == TM_OK);
        self.pieces.pop_back();
        return 1;
    }
};

}  // namespace

TEST_CASE("who runs out of memory may make room and try again", "[c_api]") {
    Opened opened("best-fit");
    Reserve reserve{opened.context};
    for (int i = 0; i < 3; ++i)
        reserve.pieces.push_back(opened.alloc(std::uint64_t{300} << 20));
    REQUIRE(tm_set_oom_handler(opened.context, Reserve::answer, &reserve) == TM_OK);
    opened.alloc(std::uint64_t{600} << 20);
    CHECK(reserve.attempts == std::vector<std::uint32_t>{0, 1});
    CHECK(opened.statistics().refused == 2);  // those of the handler
    reserve.attempts.clear();
    TM_INIT(tm_request, request);
    request.bytes = std::uint64_t{600} << 20;
    std::uint64_t address = 0;
    CHECK(tm_alloc(opened.context, &request, &address, nullptr) == TM_OUT_OF_MEMORY);
    CHECK(reserve.attempts == std::vector<std::uint32_t>{0, 1});
    REQUIRE(tm_set_oom_handler(opened.context, nullptr, nullptr) == TM_OK);
    CHECK(tm_alloc(opened.context, &request, &address, nullptr) == TM_OUT_OF_MEMORY);
    CHECK(reserve.attempts.size() == 2);
}

TEST_CASE("streams are each for one user at a time", "[c_api]") {
    TM_INIT(tm_context_options, options);
    options.machine = "sim";
    options.streams = 2;
    tm_context* context = nullptr;
    REQUIRE(tm_context_open(&options, &context) == TM_OK);
    tm_stream first = 0;
    tm_stream second = 0;
    tm_stream third = 0;
    REQUIRE(tm_stream_acquire(context, 0, &first) == TM_OK);
    REQUIRE(tm_stream_acquire(context, 0, &second) == TM_OK);
    TM_INIT(tm_wait_options, waits);
    waits.timeout = 1'000'000;
    REQUIRE(tm_set_waits(&waits) == TM_OK);
    CHECK(tm_stream_acquire(context, 0, &third) == TM_CANCELLED);
    CHECK(last_failure().find("all 2 streams are in use") != std::string::npos);
    REQUIRE(tm_set_waits(nullptr) == TM_OK);
    REQUIRE(tm_stream_acquire(context, TM_GROW, &third) == TM_OK);
    CHECK((first != second && second != third && first != third));
    tm_stream given = 0;
    tm_status acquired = TM_CANCELLED;
    tm_status released = TM_CANCELLED;
    std::thread waiting([&] {
        acquired = tm_stream_acquire(context, 0, &given);
        released = tm_stream_release(context, given);
    });
    const tm_status made_free = tm_stream_release(context, second);
    waiting.join();
    CHECK(made_free == TM_OK);
    CHECK(acquired == TM_OK);
    CHECK(given == second);
    CHECK(released == TM_OK);
    CHECK(tm_stream_release(context, second) == TM_NOT_FOUND);
    CHECK(tm_stream_release(context, 7) == TM_NOT_FOUND);
    CHECK(tm_stream_acquire(context, 0, &second) == TM_OK);
    TM_INIT(tm_request, request);
    request.bytes = 4096;
    request.stream = second;
    std::uint64_t address = 0;
    REQUIRE(tm_alloc(context, &request, &address, nullptr) == TM_OK);
    CHECK(tm_free(context, address, 0, second) == TM_OK);
    CHECK(tm_context_close(context, nullptr) == TM_OK);
}

TEST_CASE("the regions of a context are all that it holds", "[c_api]") {
    for (const char* policy : {"extent", "torch", "best-fit"}) {
        INFO(policy);
        Opened opened(policy);
        const std::uint64_t kept = opened.alloc(3'000'000);
        tm_free(opened.context, opened.alloc(500'000), 0, 0);
        size_t count = 0;
        REQUIRE(tm_context_regions(opened.context, nullptr, 0, &count) == TM_OK);
        std::vector<tm_region> regions(count);
        REQUIRE(tm_context_regions(opened.context, regions.data(), count, &count) == TM_OK);
        std::uint64_t all = 0;
        std::uint64_t allocated = 0;
        for (const tm_region& one : regions) {
            all += one.bytes;
            CHECK(one.address >= one.segment);
            CHECK((one.expandable != 0) == (std::string(policy) == "extent"));
            CHECK(one.address + one.bytes <= one.segment + one.segment_bytes);
            if (one.state == TM_REGION_ALLOCATED) {
                allocated += one.bytes;
                CHECK(one.address == kept);
                CHECK(one.requested == 3'000'000);
            }
        }
        CHECK(all == opened.statistics().reserved);
        CHECK(allocated == opened.statistics().allocated);
    }
}
