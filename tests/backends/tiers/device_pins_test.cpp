// Buffers at addresses that they keep, on a simulated GPU: memory comes and goes behind them, and
// whatever call of the driver fails, the bytes are still there.
#include <cstddef>
#include <memory>
#include <vector>

#include <catch2/catch.hpp>

#include "core/tiers/store/pin_desk.h"
#include "tests/backends/tiers/device_fixture.h"

namespace tidemark {
namespace {

using namespace support;

constexpr Bytes kProbe = 4_KiB;  // at the end of a buffer

struct KeptBuffer {
    BufferRef buffer;
    std::shared_ptr<Gate> gate;
    std::shared_ptr<const AddressRange> range;

    Address address() const { return range->range().begin; }

    Address probe() const { return address() + (range->range().size - kProbe); }
};

// Or why there is none.
Result<KeptBuffer> create(DeviceFixture& f, Bytes size) {
    KeptBuffer made;
    made.gate = std::make_shared<Gate>();
    TM_ASSIGN(made.range, AddressRange::reserve(f.device, size));
    BufferSpec spec;
    spec.size = made.range->range().size;
    spec.space = kGpu;
    spec.range = made.range;
    spec.gate = made.gate;
    TM_ASSIGN(made.buffer, f.wait(f.store->create(spec)));
    return made;
}

Result<BufferPin> pin(DeviceFixture& f, const KeptBuffer& one, bool write) {
    const PinUse use{one.buffer, one.gate.get(), write};
    TM_ASSIGN(std::vector<BufferPin> pins,
              f.wait(PinDesk(*f.store).pin_all({&use, 1}, kGpu, false).pins));
    return std::move(pins.front());
}

std::vector<std::byte> content(std::uint64_t seed) {
    std::vector<std::byte> bytes(kProbe);
    fill_content(bytes, seed);
    return bytes;
}

// Nothing else is where it is.
bool holds(DeviceFixture& f, const KeptBuffer& one, std::uint64_t seed) {
    std::vector<std::byte> bytes(kProbe);
    return f.sim.read(one.probe(), bytes) && has_content(bytes, seed);
}

void end(DeviceFixture& f, KeptBuffer& one) {
    REQUIRE(f.store->destroy(one.buffer));
    f.store->drain();
    one.range.reset();
}

TEST_CASE("a buffer that was away is where it was, with its bytes", "[tiers][pins]") {
    DeviceFixture f;
    KeptBuffer one = *create(f, 2_MiB);
    {
        Result<BufferPin> writing = pin(f, one, true);
        REQUIRE(writing);
        REQUIRE(f.sim.write(one.probe(), content(5)));
        writing->release(StreamId{7});
    }
    const Bytes free = f.sim.memory().free;
    for (int i = 0; i < 3; ++i) {
        REQUIRE(f.wait(PinDesk(*f.store).defer(one.buffer, kGpu)).end == FreeEnd::enough);
        CHECK(f.sim.memory().free == free + 2_MiB);
        CHECK(!holds(f, one, 5));
        REQUIRE(pin(f, one, i % 2 == 0));
        CHECK(f.sim.memory().free == free);
        CHECK(holds(f, one, 5));
    }
    end(f, one);
    CHECK(f.sim.memory().free == f.sim.memory().total);
}

TEST_CASE("memory that is away is missed by who uses it unpinned", "[tiers][pins]") {
    DeviceFixture f;
    KeptBuffer one = *create(f, 2_MiB);
    REQUIRE(pin(f, one, true));
    CHECK(f.device.fill(one.address(), 1, 512, StreamId::default_stream));
    REQUIRE(f.wait(PinDesk(*f.store).defer(one.buffer, kGpu)).end == FreeEnd::enough);
    CHECK(!f.device.fill(one.address(), 1, 512, StreamId::default_stream));
    end(f, one);
}

// Twice the GPU: each has its turn, and its address.
TEST_CASE("more buffers than memory take turns", "[tiers][pins]") {
    DeviceFixture f({.gpu = 4_MiB, .host = 16_MiB});
    std::vector<KeptBuffer> all;
    for (std::uint64_t i = 0; i < 4; ++i) {
        all.push_back(*create(f, 2_MiB));
        REQUIRE(pin(f, all.back(), true));
        REQUIRE(f.sim.write(all.back().probe(), content(i)));
    }
    for (std::uint64_t turn = 0; turn < 12; ++turn) {
        const KeptBuffer& one = all[turn % 4];
        REQUIRE(pin(f, one, turn % 3 == 0));
        CHECK(holds(f, one, turn % 4));
    }
    for (KeptBuffer& one : all)
        end(f, one);
    CHECK(f.transfers->given_up() == 0);
}

// The nth of these calls fails. True: there were fewer.
bool survives_failure(DeviceCall call, std::uint64_t nth) {
    DeviceFixture f;
    KeptBuffer one = *create(f, 2_MiB);
    REQUIRE(pin(f, one, true));
    REQUIRE(f.sim.write(one.probe(), content(nth)));
    pin(f, one, true)->release(StreamId{3});
    f.device.set_plan({.nth = nth, .call = call});
    for (int i = 0; i < 2; ++i) {
        (void)f.wait(PinDesk(*f.store).defer(one.buffer, kGpu));
        Result<BufferPin> held = pin(f, one, true);
        if (held)
            held->release(StreamId{3});
    }
    const bool through = f.device.failures() == 0;
    f.device.set_plan({});
    REQUIRE(pin(f, one, false));
    CHECK(holds(f, one, nth));
    f.store->check();
    Result<KeptBuffer> other = create(f, 2_MiB);  // what was refused is tried again
    REQUIRE(other);
    CHECK(f.transfers->given_up() == 0);
    f.store->close();
    f.store.reset();
    f.transfers.reset();
    CHECK(f.sim.memory().free == f.sim.memory().total);
    return through;
}

TEST_CASE("any call may fail while buffers come and go", "[tiers][pins]") {
    for (const DeviceCall call :
         {DeviceCall::create, DeviceCall::map, DeviceCall::set_access, DeviceCall::unmap,
          DeviceCall::release, DeviceCall::copy, DeviceCall::record, DeviceCall::complete}) {
        INFO(to_text(call));
        std::uint64_t nth = 1;
        while (nth < 8 && !survives_failure(call, nth))
            ++nth;
        CHECK(nth > 1);
    }
}

}  // namespace
}  // namespace tidemark
