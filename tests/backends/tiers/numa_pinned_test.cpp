// Pinned memory on a node: registered while it is out, and the kernel's again afterwards, whatever
// the device says.
#include "backends/tiers/numa_pinned.h"

#include <cerrno>
#include <set>

#include <catch2/catch.hpp>
#include <sys/mman.h>

#include "backends/sim/sim_device.h"
#include "backends/wrap/device_call.h"
#include "core/tiers/host/host_blocks.h"
#include "tests/support/fake_root.h"

namespace tidemark {
namespace {

// A simulated device that also registers memory, or refuses to.
class RegisteringDevice final : public WrappedDevice<RegisteringDevice> {
  public:
    explicit RegisteringDevice(Device& inner) : WrappedDevice(inner) {}

    template <class Make>
    auto around(const CallArguments& /*arguments*/, Make make) -> decltype(make()) {
        return make();
    }

    DeviceResult<void> host_register(Range range) override {
        last = range;
        if (refuses)
            return tl::make_unexpected(
                DeviceError{DeviceStatus::out_of_memory, DeviceCall::host_register, 2});
        registered.insert(to_integer(range.begin));
        return {};
    }

    DeviceResult<void> host_unregister(Address address) override {
        if (lost)
            return tl::make_unexpected(
                DeviceError{DeviceStatus::lost, DeviceCall::host_unregister, 999});
        unknown += registered.erase(to_integer(address)) == 0;
        return {};
    }

    std::set<Bytes> registered;
    Range last;
    int unknown = 0;
    bool refuses = false;
    bool lost = false;
};

// Whether the kernel has pages for the whole range.
bool mapped(Range range) {
    return msync(pointer_of(range.begin), range.size, MS_ASYNC) == 0;
}

// A computer of one node, as far as its files say.
struct OneNode {
    OneNode() {
        root.put("/sys/devices/system/node/online", "0");
        root.put_node(0, 256, "0", "10");
    }

    NumaHost host() const { return NumaHost(root.path(), load_numa("/no/such/libnuma.so")); }

    support::FakeRoot root;
};

}  // namespace

TEST_CASE("pinned memory of a node is registered as long as it is out", "[tiers][numa_pinned]") {
    const OneNode computer;
    const NumaHost host = computer.host();
    SimDevice sim({.capacity = 1_GiB});
    RegisteringDevice device(sim);
    NumaPinnedSource source(device, host, 0);
    const Result<Range> first = source.allocate(1_MiB);
    const Result<Range> second = source.allocate(100);
    REQUIRE(first);
    REQUIRE(second);
    CHECK(source.pieces() == 2);
    CHECK(source.size() == 1_MiB + 100);
    CHECK(device.registered.size() == 2);
    CHECK(to_integer(first->begin) % PinnedSource::kAlignment == 0);
    *pointer_of(first->begin + (1_MiB - 1)) = std::byte{7};
    CHECK(mapped(*first));
    source.free(*first);
    CHECK_FALSE(mapped(*first));
    source.free(*second);
    CHECK(device.registered.empty());
    CHECK(device.unknown == 0);
    CHECK(source.pieces() == 0);
}

TEST_CASE("a registration that fails leaves no page behind (defect 16)", "[tiers][numa_pinned]") {
    const OneNode computer;
    const NumaHost host = computer.host();
    SimDevice sim({.capacity = 1_GiB});
    RegisteringDevice device(sim);
    NumaPinnedSource source(device, host, 0);
    device.refuses = true;
    const Result<Range> range = source.allocate(8_MiB);
    REQUIRE_FALSE(range);
    CHECK(range.error().code == ErrorCode::driver);
    CHECK(device.last.size == 8_MiB);
    CHECK_FALSE(mapped(device.last));
    CHECK(source.pieces() == 0);

    device.refuses = false;
    const Result<Range> again = source.allocate(8_MiB);
    REQUIRE(again);
    CHECK(mapped(*again));
    source.free(*again);
}

TEST_CASE("a device that cannot register memory, and a node that is not there, are refusals",
          "[tiers][numa_pinned]") {
    const OneNode computer;
    const NumaHost host = computer.host();
    SimDevice sim({.capacity = 1_GiB});
    NumaPinnedSource plain(sim, host, 0);
    CHECK_FALSE(plain.allocate(1_MiB));  // the simulator registers nothing
    RegisteringDevice device(sim);
    NumaPinnedSource elsewhere(device, host, 3);
    const Result<Range> range = elsewhere.allocate(1_MiB);
    REQUIRE_FALSE(range);
    CHECK(range.error().code == ErrorCode::not_found);
    NumaPinnedSource source(device, host, 0);
    CHECK(source.allocate(0).error().code == ErrorCode::bad_option);
    CHECK(source.allocate(1_GiB).error().code == ErrorCode::driver);  // more than is free
    CHECK(device.registered.empty());
}

TEST_CASE("a lost device does not keep the pages", "[tiers][numa_pinned]") {
    const OneNode computer;
    const NumaHost host = computer.host();
    SimDevice sim({.capacity = 1_GiB});
    RegisteringDevice device(sim);
    NumaPinnedSource source(device, host, 0);
    const Result<Range> range = source.allocate(1_MiB);
    REQUIRE(range);
    device.lost = true;
    source.free(*range);
    CHECK_FALSE(mapped(*range));
    CHECK(source.pieces() == 0);
}

TEST_CASE("blocks on a node go back to the kernel with their pool", "[tiers][numa_pinned]") {
    const OneNode computer;
    const NumaHost host = computer.host();
    SimDevice sim({.capacity = 1_GiB});
    RegisteringDevice device(sim);
    NumaPinnedSource source(device, host, 0);
    {
        const auto blocks = HostBlocks::create(
            source, {.block = 64_KiB, .blocks_per_pool = 4, .initial_pools = 1, .capacity = 1_MiB});
        REQUIRE(blocks);
        CHECK((*blocks)->allocate(512_KiB));
        CHECK(source.pieces() == 2);
        device.refuses = true;
        CHECK((*blocks)->allocate(1_MiB).error() == BlockRefusal::source);
        CHECK(source.size() == 512_KiB);
        CHECK((*blocks)->trim() == 512_KiB);
        CHECK(source.pieces() == 0);
        device.refuses = false;
        CHECK((*blocks)->allocate(1));
    }
    CHECK(source.pieces() == 0);
    CHECK(device.registered.empty());
}

TEST_CASE("this computer's first node gives pinned memory", "[tiers][numa_pinned]") {
    const NumaHost host = NumaHost::open();
    SimDevice sim({.capacity = 1_GiB});
    RegisteringDevice device(sim);
    NumaPinnedSource source(device, host, host.nodes().nodes.front().id);
    const Result<Range> range = source.allocate(64_KiB);
    if (!range) {
        WARN("pages cannot be placed here: " << to_text(range.error()));
        return;
    }
    const Result<unsigned> where = host.where_is(pointer_of(range->begin));
    if (where)
        CHECK(*where == host.nodes().nodes.front().id);
    source.free(*range);
}

}  // namespace tidemark
