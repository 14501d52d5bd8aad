// torch: the rules of PyTorch's allocator, one by one. Recorded runs are in tests/truth.
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "backends/wrap/scripted.h"
#include "core/allocator/spec.h"

using namespace tidemark;

namespace {

// torch on a device that puts segments at 1 GiB, 2 GiB, 3 GiB...
struct TorchFixture {
    explicit TorchFixture(const std::string& policy = "torch", Bytes capacity = 64_GiB)
        : device(capacity) {
        std::vector<ScriptedDevice::Call> script;
        for (std::uint64_t i = 1; i <= 60; ++i)
            script.push_back({DeviceCall::malloc, {Address{i * 1_GiB}, 0}});
        device.play(script);
        allocator = *parse_policy(policy)->make(device);
    }

    Allocation allocate(Bytes size, std::uint32_t stream = 0) {
        const auto granted = allocator->allocate({.size = size, .stream = StreamId{stream}});
        REQUIRE(granted);
        return *granted;
    }

    void free(const Allocation& allocation) {
        allocator->deallocate(allocation, StreamId::default_stream);
    }

    std::size_t calls(DeviceCall call) const {
        std::size_t count = 0;
        for (const ScriptedDevice::Call& logged : device.log())
            count += logged.call == call ? 1U : 0U;
        return count;
    }

    ScriptedDevice device;
    std::unique_ptr<Allocator> allocator;
};

}  // namespace

TEST_CASE("torch takes segments of 2 MiB, 20 MiB or the request rounded to 2 MiB", "[torch]") {
    const auto reserved_for = [](Bytes size) {
        TorchFixture torch;
        torch.allocate(size);
        return torch.allocator->usage().reserved;
    };

    CHECK(reserved_for(1) == 2_MiB);
    CHECK(reserved_for(1_MiB) == 2_MiB);
    CHECK(reserved_for(1_MiB + 1) == 20_MiB);
    CHECK(reserved_for(10_MiB - 512) == 20_MiB);
    CHECK(reserved_for(10_MiB) == 10_MiB);  // exactly 10 MiB: a segment of its own
    CHECK(reserved_for(10_MiB + 1) == 12_MiB);
}

TEST_CASE("torch rounds to 512 bytes and splits the low end off", "[torch]") {
    TorchFixture torch;

    const Allocation first = torch.allocate(513);
    const Allocation second = torch.allocate(0);

    CHECK(first.address == Address{1_GiB});
    CHECK(first.size == 1024);
    CHECK(second.address == Address{1_GiB + 1024});
    CHECK(second.size == 512);
}

TEST_CASE("torch keeps a remainder of exactly 1 MiB unsplit in the large pool", "[torch]") {
    TorchFixture torch;

    CHECK(torch.allocate(9_MiB).size == 9_MiB);
    CHECK(torch.allocate(10_MiB).size == 11_MiB);  // the rest of 20 MiB: 1 MiB over, not split
}

TEST_CASE("torch prefers the best fit, then the lowest address", "[torch]") {
    TorchFixture torch;
    std::vector<Allocation> blocks;
    for (const Bytes size : {4096U, 512U, 2048U, 512U, 2048U, 512U, 8192U, 512U})
        blocks.push_back(torch.allocate(size));
    for (const std::size_t i : {0U, 2U, 4U, 6U})
        torch.free(blocks[i]);

    CHECK(torch.allocate(2000).address == blocks[2].address);
    CHECK(torch.allocate(2000).address == blocks[4].address);
    CHECK(torch.allocate(2000).address == blocks[0].address);
}

TEST_CASE("torch never gives a stream what another one freed", "[torch]") {
    TorchFixture torch;
    const Allocation first = torch.allocate(4096, 1);
    torch.free(first);

    CHECK(torch.allocate(4096, 2).address != first.address);
    CHECK(torch.allocate(4096, 1).address == first.address);
}

TEST_CASE("torch keeps a block back until each stream that used it is done", "[torch]") {
    const std::uint32_t other = GENERATE(1U, 62U, 63U, 100'000U);
    TorchFixture torch;
    const Allocation block = torch.allocate(4096);
    torch.allocator->record_use(block, StreamId{other});
    torch.free(block);

    CHECK(torch.allocator->usage().allocated == 0);
    CHECK(torch.allocator->usage().active == 4096);        // an event has been recorded
    CHECK(torch.allocate(4096).address == block.address);  // the next request sees it complete
    CHECK(torch.allocator->usage().active == 4096);
}

TEST_CASE("torch joins free neighbours", "[torch]") {
    TorchFixture torch;
    const Allocation a = torch.allocate(1024);
    const Allocation b = torch.allocate(1024);
    const Allocation c = torch.allocate(1024);
    torch.free(a);
    torch.free(c);
    torch.free(b);

    CHECK(torch.allocator->largest_free() == 2_MiB);
}

TEST_CASE("torch empties its caches and tries again before it refuses", "[torch]") {
    TorchFixture torch("torch:limit=64MiB");
    const Allocation big = torch.allocate(40_MiB);
    torch.free(big);

    torch.allocate(50_MiB);

    CHECK(torch.allocator->stats().retries == 1);
    CHECK(torch.calls(DeviceCall::free) == 1);
    CHECK(torch.allocator->usage().reserved == 50_MiB);
    const auto refused = torch.allocator->allocate({.size = 20_MiB});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().cause == OutOfMemory::Cause::limit);
}

TEST_CASE("torch releases large segments before small ones", "[torch]") {
    TorchFixture torch;
    const Allocation small = torch.allocate(100);
    const Allocation large = torch.allocate(2_MiB);
    torch.free(small);
    torch.free(large);

    torch.allocator->trim(TrimLevel::all);

    const auto log = torch.device.log();
    REQUIRE(log.size() == 4);
    CHECK(log[2].range.begin == large.address);
    CHECK(log[3].range.begin == small.address);
    CHECK(torch.allocator->usage().reserved == 0);
}

TEST_CASE("torch does not use oversized blocks for small requests under max_split", "[torch]") {
    TorchFixture torch("torch:max_split_size_mb:32");
    const Allocation big = torch.allocate(64_MiB);
    torch.free(big);

    CHECK(torch.allocate(16_MiB).address != big.address);
    CHECK(torch.allocate(40_MiB).address != big.address);  // 24 MiB over: beyond the slack of 20
    CHECK(torch.allocate(50_MiB).address == big.address);
}

TEST_CASE("torch rounds to divisions of powers of two", "[torch]") {
    TorchFixture torch("torch:roundup_power2_divisions:8");

    CHECK(torch.allocate(1'200'000).size >= 1'310'720);
    CHECK(torch.allocate(3'000).size == 3'072);
    CHECK(torch.allocate(5'000).size == 5'120);
    CHECK(torch.allocate(65'536).size == 65'536);
}

TEST_CASE("torch reads a list of divisions by interval", "[torch]") {
    TorchFixture torch("torch:roundup_power2_divisions:[1:2,4:4,>:1]");

    CHECK(torch.allocate(700'000).size == 786'432);  // 2^19, halves: the first key fills below
    CHECK(torch.allocate(2_MiB + 1024).size == 2_MiB + 1024);  // between two keys: off
}

TEST_CASE("torch collects unused segments above the threshold at the next miss", "[torch]") {
    TorchFixture torch("torch:garbage_collection_threshold:0.5,limit=100MiB");
    const Allocation unused = torch.allocate(30_MiB);
    torch.allocate(40_MiB);
    torch.free(unused);
    CHECK(torch.calls(DeviceCall::free) == 0);

    torch.allocate(1);  // a miss, with 70 of 100 MiB reserved

    CHECK(torch.calls(DeviceCall::free) == 1);
    CHECK(torch.allocator->usage().reserved == 42_MiB);
}

TEST_CASE("torch collects nothing below the threshold", "[torch]") {
    TorchFixture torch("torch:garbage_collection_threshold:0.9,limit=100MiB");
    const Allocation unused = torch.allocate(30_MiB);
    torch.allocate(40_MiB);
    torch.free(unused);

    torch.allocate(1);

    CHECK(torch.calls(DeviceCall::free) == 0);
}

TEST_CASE("torch refuses settings that PyTorch refuses", "[torch]") {
    ScriptedDevice device(1_GiB);

    CHECK_FALSE(parse_policy("torch:max_split_size_mb:10")->make(device));
    CHECK_FALSE(parse_policy("torch:roundup_power2_divisions:3")->make(device));
    CHECK_FALSE(parse_policy("torch:no_such_key:1"));
}

TEST_CASE("torch starts from a given state", "[torch]") {
    TorchFixture torch;
    SeedSegment segment{{Address{64_GiB}, 20_MiB}, StreamId::default_stream, {}, false, {}};
    segment.blocks.push_back({Address{64_GiB + 2_MiB}, 2_MiB, 2_MiB, false});
    segment.blocks.push_back({Address{64_GiB + 6_MiB}, 2_MiB, 2_MiB - 100, true});

    const auto live = torch.allocator->restore(std::vector{segment});

    REQUIRE(live);
    REQUIRE(live->size() == 2);
    CHECK(torch.allocator->usage().allocated == 2_MiB);
    CHECK(torch.allocator->usage().active == 4_MiB);
    CHECK(torch.allocate(1_MiB + 512).address == Address{64_GiB});
    torch.free((*live)[1]);
    torch.free((*live)[0]);
    CHECK(torch.allocator->usage().active == torch.allocator->usage().allocated);
}

TEST_CASE("torch rejects a state in which blocks overlap", "[torch]") {
    TorchFixture torch;
    SeedSegment segment{{Address{64_GiB}, 20_MiB}, StreamId::default_stream, {}, false, {}};
    segment.blocks.push_back({Address{64_GiB}, 4_MiB, 4_MiB, false});
    segment.blocks.push_back({Address{64_GiB + 2_MiB}, 4_MiB, 4_MiB, false});

    CHECK_FALSE(torch.allocator->restore(std::vector{segment}));
}

TEST_CASE("a copy of torch goes its own way", "[torch]") {
    TorchFixture torch;
    const Allocation first = torch.allocate(1024);
    ScriptedDevice other(torch.device);
    const std::unique_ptr<Allocator> copy = torch.allocator->clone(other);

    torch.free(first);
    copy->allocate({.size = 4096});

    CHECK(torch.allocator->usage().allocated == 0);
    CHECK(copy->usage().allocated == 5120);
}
