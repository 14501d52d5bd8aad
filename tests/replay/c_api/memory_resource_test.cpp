// MemoryResource on simulated devices, without CCCL: under each of its names, with a stream type of
// our own in the place of CUDA's. What CCCL and RMM make of it: cuda_mr/.
#include "replay/c_api/memory_resource.h"

#include <cstring>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

namespace {

using tidemark::MemoryResource;

// As cuda::stream_ref.
class Stream {
  public:
    explicit Stream(std::uintptr_t number) : number_(number) {}

    CUstream_st* get() const { return reinterpret_cast<CUstream_st*>(number_); }

  private:
    std::uintptr_t number_;
};

constexpr std::uint64_t kMemory = std::uint64_t{1} << 30;

tm_context_options options(const char* policy = "torch") {
    TM_INIT(tm_context_options, all);
    all.machine = "sim:h200";
    all.policy = policy;
    all.memory = kMemory;
    all.thread_cache = TM_CACHE_NONE;
    return all;
}

tm_statistics statistics_of(const MemoryResource& resource) {
    TM_INIT(tm_statistics, all);
    REQUIRE(tm_statistics_of(resource.context(), &all) == TM_OK);
    return all;
}

tm_block block_of(const MemoryResource& resource, void* address) {
    TM_INIT(tm_block, block);
    REQUIRE(tm_base_of(resource.context(), reinterpret_cast<std::uintptr_t>(address), &block) ==
            TM_OK);
    return block;
}

// rmm::out_of_memory is made of a text as well.
class OutOfMemoryOfOthers : public std::bad_alloc {
  public:
    explicit OutOfMemoryOfOthers(const std::string&) {}
};

}  // namespace

TEST_CASE("memory is requested and freed on a stream", "[c_api][memory_resource]") {
    MemoryResource resource(options());
    const Stream stream(5);
    void* const by_name_of_today = resource.allocate(stream, 1000, 1024);
    void* const by_name_of_before = resource.allocate_async(2000, 1024, stream);

    CHECK(block_of(resource, by_name_of_today).stream == 5);
    CHECK(block_of(resource, by_name_of_before).stream == 5);
    CHECK(block_of(resource, by_name_of_before).requested == 2000);
    CHECK(reinterpret_cast<std::uintptr_t>(by_name_of_today) % 1024 == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(by_name_of_before) % 1024 == 0);
    resource.deallocate_async(by_name_of_today, 1000, 1024, stream);
    resource.deallocate(stream, by_name_of_before, 2000, 1024);
    CHECK(statistics_of(resource).freed == 2);
    CHECK(statistics_of(resource).live == 0);
}

TEST_CASE("freed on a stream, memory is that stream's next; another's is not given away",
          "[c_api][memory_resource]") {
    MemoryResource resource(options());
    void* const first = resource.allocate(Stream(5), 1000);
    resource.deallocate(Stream(5), first, 1000);

    CHECK(resource.allocate(Stream(6), 1000) != first);
    CHECK(resource.allocate(Stream(5), 1000) == first);
}

TEST_CASE("memory without a stream waits for all streams", "[c_api][memory_resource]") {
    MemoryResource resource(options());
    void* const by_name_of_today = resource.allocate_sync(1000);
    void* const by_name_of_before = resource.allocate(1000, 256);

    CHECK(block_of(resource, by_name_of_today).stream == TM_STREAM_UNKNOWN);
    CHECK(block_of(resource, by_name_of_before).stream == TM_STREAM_UNKNOWN);
    resource.deallocate_sync(by_name_of_today, 1000);
    resource.deallocate(by_name_of_before, 1000, 256);
    CHECK(statistics_of(resource).live == 0);
    // A device-wide wait has not come yet.
    CHECK(statistics_of(resource).active > statistics_of(resource).allocated);
    tm_trim(resource.context(), 1);
    CHECK(statistics_of(resource).active == 0);
}

TEST_CASE("0 bytes are null, and freed so", "[c_api][memory_resource]") {
    MemoryResource resource(options());
    CHECK(resource.allocate(Stream(5), 0) == nullptr);
    CHECK(resource.allocate_sync(0) == nullptr);
    resource.deallocate(Stream(5), nullptr, 0);
    resource.deallocate_sync(nullptr, 0);
    CHECK(statistics_of(resource).granted == 0);
}

TEST_CASE("a failure is a bad_alloc that says why", "[c_api][memory_resource]") {
    MemoryResource resource(options());
    CHECK_THROWS_AS(resource.allocate(Stream(5), 2 * kMemory), std::bad_alloc);
    CHECK_THROWS_AS(resource.allocate_sync(2 * kMemory), tidemark::OutOfMemoryError);
    try {
        resource.allocate(Stream(5), 2 * kMemory);
        FAIL("granted");
    } catch (const tidemark::OutOfMemoryError& failure) {
        CHECK(std::strstr(failure.what(), "2147483648 bytes") != nullptr);
    }
    try {
        resource.allocate(Stream(5), 1000, 3);
        FAIL("granted");
    } catch (const tidemark::OutOfMemoryError&) {
        FAIL("a wrong alignment is taken for a lack of memory");
    } catch (const tidemark::AllocationError& failure) {
        CHECK(std::strstr(failure.what(), "aligned to 3 bytes") != nullptr);
    }
    CHECK(statistics_of(resource).live == 0);

    tidemark::BasicMemoryResource<OutOfMemoryOfOthers> theirs(options());
    CHECK_THROWS_AS(theirs.allocate(Stream(5), 2 * kMemory), OutOfMemoryOfOthers);
    CHECK_THROWS_AS(theirs.allocate(Stream(5), 1000, 3), tidemark::AllocationError);
}

TEST_CASE("a context that cannot be opened is an error of its own", "[c_api][memory_resource]") {
    CHECK_THROWS_AS(MemoryResource("sim", "no-such-policy"), std::runtime_error);
}

TEST_CASE("a copy is the same resource, and keeps its context", "[c_api][memory_resource]") {
    auto first = std::make_unique<MemoryResource>(options());
    MemoryResource copy = *first;
    const MemoryResource other(options());
    CHECK(copy == *first);
    CHECK(copy != other);

    void* const address = first->allocate(Stream(5), 1000);
    first.reset();
    copy.deallocate(Stream(5), address, 1000);
    CHECK(statistics_of(copy).freed == 1);
}

TEST_CASE("a resource over a shared context leaves its end to who shares it",
          "[c_api][memory_resource]") {
    const tm_context_options chosen = options();
    tm_context* opened = nullptr;
    REQUIRE(tm_context_open(&chosen, &opened) == TM_OK);
    std::uint64_t leaked = 0;
    {
        MemoryResource resource(std::shared_ptr<tm_context>(
            opened, [&](tm_context* context) { tm_context_close(context, &leaked); }));
        CHECK(resource.allocate(Stream(5), 1000) != nullptr);
    }
    CHECK(leaked == 1);
}

#ifdef NDEBUG  // with assertions it ends the program
TEST_CASE("what was not granted, or not so large, is left alone", "[c_api][memory_resource]") {
    MemoryResource resource(options());
    void* const address = resource.allocate(Stream(5), 1000);
    resource.deallocate(Stream(5), address, 2000);
    CHECK(tm_last_error(nullptr) == TM_BAD_ADDRESS);
    CHECK(statistics_of(resource).live == 1);
    resource.deallocate(Stream(5), address, 1000);
    resource.deallocate(Stream(5), address, 1000);
    CHECK(statistics_of(resource).freed == 1);
}
#endif

TEST_CASE("threads share a resource", "[c_api][memory_resource]") {
    MemoryResource resource(options("best-fit"));
    std::vector<std::thread> threads;
    for (std::uintptr_t number = 1; number <= 4; ++number)
        threads.emplace_back([resource, number]() mutable {
            for (std::size_t size = 1; size <= 200; ++size) {
                void* const address = resource.allocate(Stream(number), 100 * size);
                resource.deallocate(Stream(number), address, 100 * size);
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    CHECK(statistics_of(resource).granted == 800);
    CHECK(statistics_of(resource).live == 0);
}
