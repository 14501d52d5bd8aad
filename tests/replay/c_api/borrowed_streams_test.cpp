// Streams that a program destroys once it has given its memory back, under every policy: nothing
// names them afterwards, and streams use each other's memory without a wait for the device.
#include <cstdlib>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "backends/cuda/driver.h"
#include "core/allocator/allocator.h"
#include "replay/c_api/tidemark.h"
#include "tests/backends/cuda/fake/fake_driver.h"

namespace tidemark {
namespace {

using cuda::CUresult;

class Program {
  public:
    explicit Program(const std::string& policy) {
        ::setenv("TIDEMARK_CUDA_DRIVER", TIDEMARK_FAKE_CUDA, 1);
        TM_INIT(tm_context_options, options);
        options.machine = "cuda:0";
        options.policy = policy.c_str();
        options.thread_cache = TM_CACHE_NONE;
        REQUIRE(tm_context_open(&options, &context) == TM_OK);
    }

    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    ~Program() { CHECK(tm_context_close(context, nullptr) == TM_OK); }

    // A pair of each size that the policy serves: one has blocks of one size.
    void pairs(tm_stream stream) const {
        int served = 0;
        for (const std::uint64_t bytes : {1ULL << 10U, 3ULL << 20U, 30ULL << 20U}) {
            TM_INIT(tm_request, request);
            request.bytes = bytes;
            request.stream = stream;
            std::uint64_t address = 0;
            const tm_status status = tm_alloc(context, &request, &address, nullptr);
            TM_INIT(tm_error, why);
            if (status != TM_OK)
                tm_last_error(&why);
            INFO((why.what == nullptr ? "" : why.what));
            REQUIRE((status == TM_OK || status == TM_OUT_OF_MEMORY));
            if (status == TM_OK)
                REQUIRE(tm_free(context, address, bytes, stream) == TM_OK);
            served += status == TM_OK ? 1 : 0;
        }
        REQUIRE(served > 0);
    }

    fake::FakeDriver fake;
    tm_context* context = nullptr;
};

// A stream that lives for a scope.
class BriefStream {
  public:
    explicit BriefStream(const fake::FakeDriver& fake) : fake_(fake) {
        REQUIRE(fake_->cuStreamCreate(&stream_, cuda::kStreamNonBlocking) == CUresult::success);
    }

    BriefStream(const BriefStream&) = delete;
    BriefStream& operator=(const BriefStream&) = delete;

    ~BriefStream() { CHECK(fake_->cuStreamDestroy_v2(stream_) == CUresult::success); }

    tm_stream handle() const { return reinterpret_cast<tm_stream>(stream_); }

  private:
    const fake::FakeDriver& fake_;
    cuda::CUstream stream_ = nullptr;
};

TEST_CASE("no policy names a stream that the program has destroyed", "[c_api][one-thread]") {
    for (const PolicyInfo& policy : all_policies()) {
        INFO(policy.name);
        const Program program{std::string(policy.name)};
        for (int round = 0; round < 3; ++round) {
            const BriefStream one{program.fake};
            const BriefStream other{program.fake};
            program.pairs(one.handle());
            program.pairs(other.handle());
            program.pairs(0);
        }
        CHECK(tm_trim(program.context, 0) == TM_OK);
        program.pairs(0);
        CHECK(tm_trim(program.context, 1) == TM_OK);
        CHECK(program.fake.control.strays() == 0);
    }
}

TEST_CASE("a stream's own memory is used again without asking the driver", "[c_api][one-thread]") {
    for (const char* policy : {"extent", "best-fit", "torch"}) {
        INFO(policy);
        const Program program{policy};
        const BriefStream only{program.fake};
        program.pairs(only.handle());
        const std::uint64_t waits = program.fake.control.calls("cuCtxSynchronize");
        const std::uint64_t records = program.fake.control.calls("cuEventRecord");
        for (int round = 0; round < 10; ++round)
            program.pairs(only.handle());
        CHECK(program.fake.control.calls("cuCtxSynchronize") == waits);
        CHECK(program.fake.control.calls("cuEventRecord") == records);
    }
}

TEST_CASE("several streams use each other's memory without a wait for the device",
          "[c_api][one-thread]") {
    const Program program{"extent"};
    const BriefStream one{program.fake};
    const BriefStream other{program.fake};
    program.pairs(one.handle());
    program.pairs(other.handle());  // what the first left is known by a wait
    const std::uint64_t waits = program.fake.control.calls("cuCtxSynchronize");
    for (int round = 0; round < 10; ++round) {
        program.pairs(one.handle());
        program.pairs(other.handle());
        program.pairs(0);
    }
    CHECK(program.fake.control.calls("cuCtxSynchronize") == waits);
    CHECK(program.fake.control.calls("cuEventRecord") > 0);
}

TEST_CASE("memory outlives the stream that it was granted on", "[c_api][one-thread]") {
    for (const PolicyInfo& policy : all_policies()) {
        INFO(policy.name);
        const Program program{std::string(policy.name)};
        const BriefStream other{program.fake};
        program.pairs(other.handle());
        std::vector<std::uint64_t> granted;
        {
            const BriefStream brief{program.fake};
            for (const std::uint64_t bytes : {1ULL << 10U, 3ULL << 20U, 30ULL << 20U}) {
                TM_INIT(tm_request, request);
                request.bytes = bytes;
                request.stream = brief.handle();
                std::uint64_t address = 0;
                if (tm_alloc(program.context, &request, &address, nullptr) == TM_OK)
                    granted.push_back(address);
            }
        }
        REQUIRE_FALSE(granted.empty());
        for (const std::uint64_t address : granted) {
            CHECK(tm_free(program.context, address, 0, TM_STREAM_OF_REQUEST) == TM_OK);
            CHECK(tm_free(program.context, address, 0, TM_STREAM_OF_REQUEST) == TM_BAD_ADDRESS);
        }
        program.pairs(other.handle());
        program.pairs(0);
        CHECK(tm_trim(program.context, 1) == TM_OK);
        CHECK(program.fake.control.strays() == 0);
    }
}

TEST_CASE("what a stream that may be gone used last is waited for by others",
          "[c_api][one-thread]") {
    const Program program{"extent:slack=0"};
    const BriefStream one{program.fake};
    const BriefStream other{program.fake};
    TM_INIT(tm_request, request);
    request.bytes = 30ULL << 20U;
    request.stream = one.handle();
    std::uint64_t first = 0;
    REQUIRE(tm_alloc(program.context, &request, &first, nullptr) == TM_OK);
    REQUIRE(tm_free(program.context, first, 0, TM_STREAM_OF_REQUEST) == TM_OK);
    const std::uint64_t waits = program.fake.control.calls("cuCtxSynchronize");
    request.stream = other.handle();
    std::uint64_t second = 0;
    REQUIRE(tm_alloc(program.context, &request, &second, nullptr) == TM_OK);
    CHECK(second == first);
    CHECK(program.fake.control.calls("cuCtxSynchronize") == waits + 1);
    CHECK(tm_free(program.context, second, 0, other.handle()) == TM_OK);
}

TEST_CASE("requests on a stream that is being captured don't spoil the capture",
          "[c_api][one-thread]") {
    for (const PolicyInfo& policy : all_policies()) {
        INFO(policy.name);
        const Program program{std::string(policy.name)};
        program.pairs(0);
        const BriefStream brief{program.fake};
        program.pairs(brief.handle());
        const auto stream = reinterpret_cast<cuda::CUstream>(brief.handle());
        REQUIRE(program.fake->cuStreamBeginCapture_v2(stream, cuda::CUstreamCaptureMode::global) ==
                CUresult::success);
        const std::uint64_t numbers = program.fake.control.calls("cuStreamGetId");
        for (const std::uint64_t bytes : {1ULL << 10U, 1ULL << 20U, 1ULL << 20U}) {
            TM_INIT(tm_request, request);
            request.bytes = bytes;
            request.stream = brief.handle();
            std::uint64_t address = 0;  // a policy may refuse: a graph's memory stays apart
            if (tm_alloc(program.context, &request, &address, nullptr) == TM_OK)
                CHECK(tm_free(program.context, address, bytes, brief.handle()) == TM_OK);
        }
        CHECK(program.fake.control.calls("cuStreamGetId") == numbers);
        cuda::CUgraph graph = nullptr;
        CHECK(program.fake->cuStreamEndCapture(stream, &graph) == CUresult::success);
        CHECK(program.fake->cuGraphDestroy(graph) == CUresult::success);
        program.pairs(brief.handle());
        program.pairs(0);
    }
}

}  // namespace
}  // namespace tidemark
