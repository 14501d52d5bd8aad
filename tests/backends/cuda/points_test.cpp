// Points on streams while their work is not done: on the fake driver work is done by hand, on the
// real one a host function in the stream holds it back.
#include <atomic>
#include <chrono>
#include <thread>

#include "backends/cuda/cuda_stream.h"
#include "tests/backends/cuda/machines.h"
#include "tests/support/device.h"

namespace tidemark {
namespace {

using namespace support;

// Holds a stream of the real driver until it is let go; lets go at the latest at its end.
class Held {
  public:
    Held(CudaDevice& device, StreamId stream) {
        const auto native = must(device, device.native(stream));
        const auto code = device.driver().cuLaunchHostFunc(reinterpret_cast<cuda::CUstream>(native),
                                                           &Held::wait, &go_);
        REQUIRE(code == cuda::CUresult::success);
    }

    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

    ~Held() { let_go(); }

    void let_go() { go_ = true; }

  private:
    static void wait(void* go) {
        while (!static_cast<std::atomic<bool>*>(go)->load())
            std::this_thread::yield();
    }

    std::atomic<bool> go_{false};
};

TEST_CASE("a point is pending until its work is done", "[cuda]") {
    const auto device = open_device(fake_driver({.by_hand = 1}));
    const EventId first = must(*device, device->record(kStream));
    const EventId second = must(*device, device->record(kStream));
    CHECK_FALSE(must(*device, device->complete(first)));
    CHECK_FALSE(must(*device, device->complete(second)));

    fake_cuda().progress(1);

    CHECK(must(*device, device->complete(first)));
    CHECK_FALSE(must(*device, device->complete(second)));
    fake_cuda().progress();
    CHECK(must(*device, device->complete(second)));
}

TEST_CASE("a later point that passed answers for the earlier without the driver", "[cuda]") {
    const auto device = open_device(fake_driver());
    const EventId first = must(*device, device->record(kStream));
    const EventId second = must(*device, device->record(kStream));
    CHECK(must(*device, device->complete(second)));
    const std::uint64_t queries = fake_cuda().calls("cuEventQuery");

    CHECK(must(*device, device->complete(first)));
    CHECK(must(*device, device->complete(second)));
    must(*device, device->wait(kOther, first));

    CHECK(fake_cuda().calls("cuEventQuery") == queries);
    CHECK(fake_cuda().calls("cuStreamWaitEvent") == 0);
}

TEST_CASE("a million points cost a bounded number of native events", "[cuda][one-thread]") {
    SECTION("while the device keeps up") {
        const auto device = open_device(fake_driver());
        for (int i = 0; i < 1'000'000; ++i)
            static_cast<void>(device->record(kStream));
        CHECK(device->native_events() <= 64);
        CHECK(fake_cuda().calls("cuEventCreate") == device->native_events());
        CHECK(fake_cuda().calls("cuEventQuery") <= 1'000'000 / 16);
    }
    SECTION("while it does nothing at all") {
        const auto device = open_device(fake_driver({.by_hand = 1}));
        const EventId first = must(*device, device->record(kStream));
        EventId last{};
        for (int i = 0; i < 20'000; ++i)
            last = must(*device, device->record(kStream));
        CHECK(device->native_events() <= CudaPoints::kPointsMax);
        CHECK_FALSE(must(*device, device->complete(first)));
        CHECK_FALSE(must(*device, device->complete(last)));
        fake_cuda().progress();
        CHECK(must(*device, device->complete(first)));
        CHECK(must(*device, device->complete(last)));
    }
}

TEST_CASE("a merged point never passes before its work", "[cuda]") {
    const auto device = open_device(fake_driver({.by_hand = 1}));
    std::vector<EventId> points;
    for (int i = 0; i < 5000; ++i)
        points.push_back(must(*device, device->record(kStream)));

    for (std::size_t done = 500; done <= points.size(); done += 500) {
        fake_cuda().progress(500);
        std::size_t passed = 0;
        while (passed < points.size() && must(*device, device->complete(points[passed])))
            ++passed;
        CHECK(passed <= done);
        CHECK(passed + CudaPoints::kPointsMax >= done);  // and not long after it
    }
    CHECK(must(*device, device->complete(points.back())));
}

TEST_CASE("asking waits where runs must decide the same", "[cuda]") {
    const auto device = open_device(fake_driver({.by_hand = 1}), {.await_events = true});
    const EventId point = must(*device, device->record(kStream));

    CHECK(must(*device, device->complete(point)));

    CHECK(fake_cuda().calls("cuEventSynchronize") == 1);
    CHECK(device->counters().stall_ns > 0);
}

TEST_CASE("work after a wait runs after the point", "[cuda]") {
    const auto device = open_device(fake_driver({.by_hand = 1}));
    const Address memory = must(*device, device->malloc(4));
    must(*device, device->write_pattern(memory, 1, 4, kStream));
    const EventId point = must(*device, device->record(kStream));
    must(*device, device->wait(kOther, point));
    must(*device, device->write_pattern(memory, 2, 4, kOther));
    must(*device, device->synchronize(kOther));

    CHECK(must(*device, device->complete(point)));
    CHECK(must(*device, device->check_pattern(memory, 2, 4, kOther)) == 0);
    must(*device, device->free(memory));
}

TEST_CASE("a synchronized stream's points have passed without being asked about", "[cuda]") {
    const auto device = open_device(fake_driver({.by_hand = 1}));
    const EventId point = must(*device, device->record(kStream));
    const EventId elsewhere = must(*device, device->record(kOther));

    must(*device, device->synchronize(kStream));
    CHECK(must(*device, device->complete(point)));
    must(*device, device->synchronize_device());
    CHECK(must(*device, device->complete(elsewhere)));

    CHECK(fake_cuda().calls("cuEventQuery") == 0);
}

TEST_CASE("points of held streams are pending on the real driver", "[cuda][gpu]") {
    const auto driver = real_driver();
    if (!driver)
        return;
    const auto device = open_device(driver);
    Held held{*device, kStream};
    const EventId first = must(*device, device->record(kStream));
    for (int i = 0; i < 100; ++i)
        must(*device, device->record(kStream));
    const EventId free_one = must(*device, device->record(kOther));
    must(*device, device->synchronize(kOther));

    CHECK(must(*device, device->complete(free_one)));
    CHECK_FALSE(must(*device, device->complete(first)));
    must(*device, device->wait(kOther, first));
    const EventId behind = must(*device, device->record(kOther));
    CHECK_FALSE(must(*device, device->complete(behind)));

    held.let_go();
    must(*device, device->synchronize(kOther));
    CHECK(must(*device, device->complete(behind)));
    CHECK(must(*device, device->complete(first)));
    CHECK(device->counters().stall_ns > 0);
}

TEST_CASE("a million points are bounded on the real driver", "[cuda][gpu]") {
    const auto driver = real_driver();
    if (!driver)
        return;
    const auto device = open_device(driver);
    for (int i = 0; i < 1'000'000; ++i)
        static_cast<void>(device->record(kStream));
    const auto index = static_cast<std::size_t>(DeviceCall::record);
    WARN("record: " << device->counters().call_ns[index] / 1'000'000
                    << " ns, native events: " << device->native_events());
    CHECK(device->native_events() <= CudaPoints::kPointsMax);
}

}  // namespace
}  // namespace tidemark
