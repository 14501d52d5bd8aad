// Orders between streams that are known are not made again.
#include "core/regions/known_order.h"

#include <catch2/catch.hpp>

#include "backends/sim/sim_device.h"
#include "backends/wrap/device_call.h"

using namespace tidemark;

namespace {

constexpr StreamId kOneStream{1};
constexpr StreamId kNextStream{2};
constexpr StreamId kThirdStream{3};

// A device whose program destroys streams and makes new ones.
class Replacing final : public WrappedDevice<Replacing> {
  public:
    explicit Replacing(Device& inner) : WrappedDevice(inner) {}

    std::uint64_t replaced_streams() const override { return replaced; }

    template <class Make>
    auto around(const CallArguments& /*arguments*/, Make make) -> decltype(make()) {
        return make();
    }

    std::uint64_t replaced = 0;
};

struct Waits {
    SimDevice simulated{SimConfig{.capacity = 64_MiB}};
    Replacing device{simulated};
    KnownOrder known;

    std::uint64_t calls(DeviceCall call) const {
        return device.counters().calls[static_cast<std::size_t>(call)];
    }

    // How many waits it took.
    std::uint64_t order(StreamSet users, std::uint64_t freed, StreamId stream) {
        const std::uint64_t before = calls(DeviceCall::wait);
        REQUIRE(known.order(users, freed, stream, device));
        return calls(DeviceCall::wait) - before;
    }
};

StreamSet both(StreamId one, StreamId other) {
    StreamSet users(one);
    users.add(other);
    return users;
}

}  // namespace

TEST_CASE("one wait serves all that was let go before it", "[regions]") {
    Waits waits;
    const std::uint64_t first = waits.known.let_go();
    const std::uint64_t second = waits.known.let_go();
    CHECK(waits.order(StreamSet(kOneStream), second, kNextStream) == 1);
    CHECK(waits.order(StreamSet(kOneStream), first, kNextStream) == 0);
    CHECK(waits.order(StreamSet(kOneStream), second, kNextStream) == 0);
    CHECK(waits.order(StreamSet(kOneStream), first, kThirdStream) ==
          1);  // another stream knows nothing of it
    CHECK(waits.order(StreamSet(kNextStream), second, kOneStream) == 1);  // nor the other way
    const std::uint64_t third = waits.known.let_go();
    CHECK(waits.order(both(kOneStream, kNextStream), third, kNextStream) == 1);
    CHECK(waits.order(both(kOneStream, kThirdStream), third, kNextStream) ==
          1);  // of A it is known
    CHECK(waits.order({}, third, kNextStream) == 0);
}

TEST_CASE("of a stream that took another's place nothing is known", "[regions]") {
    Waits waits;
    const std::uint64_t freed = waits.known.let_go();
    CHECK(waits.order(StreamSet(kOneStream), freed, kNextStream) == 1);
    ++waits.device.replaced;
    CHECK(waits.order(StreamSet(kOneStream), freed, kNextStream) == 1);
    CHECK(waits.order(StreamSet(kOneStream), freed, kNextStream) == 0);
}

TEST_CASE("an order within a capture is the graph's alone", "[regions]") {
    Waits waits;
    const std::uint64_t freed = waits.known.let_go();
    REQUIRE(waits.device.begin_capture(kThirdStream));
    REQUIRE(waits.known.order(StreamSet(kOneStream), freed, kNextStream, waits.device));
    REQUIRE(waits.device.end_capture(kThirdStream));
    CHECK(waits.order(StreamSet(kOneStream), freed, kNextStream) == 1);
}

TEST_CASE("streams that are not told apart are awaited as ever", "[regions]") {
    Waits waits;
    const StreamId many{StreamSet::kTracked + 5};
    const std::uint64_t freed = waits.known.let_go();
    CHECK(waits.order(StreamSet(kOneStream), freed, many) == 1);
    CHECK(waits.order(StreamSet(kOneStream), freed, many) == 1);
    REQUIRE(waits.known.order(StreamSet(many), freed, kOneStream, waits.device));
    CHECK(waits.calls(DeviceCall::synchronize_device) == 1);
}
