// Every driver call of a program that uses all groups fails once: the program gets an error value,
// the device's own tables stay whole, and in the end nothing is left over. The fake driver fails
// the n-th call, for each n.
#include <cstring>
#include <vector>

#include "backends/cuda/errors.h"
#include "tests/backends/cuda/machines.h"
#include "tests/support/device.h"

namespace tidemark {
namespace {

using namespace support;

// A program of all groups that goes on after errors, as far as it can, and gives back all it got.
class Program {
  public:
    explicit Program(CudaDevice& device) : device_(device) {}

    void run() {
        plain();
        pooled();
        captured();
        mapped();
    }

    const std::vector<DeviceError>& errors() const { return errors_; }

  private:
    template <class T>
    const DeviceResult<T>& note(const DeviceResult<T>& result) {
        if (!result)
            errors_.push_back(result.error());
        return result;
    }

    // A failed call has changed nothing: made again, it succeeds, unless the device is lost.
    template <class Call>
    void give_back(Call call) {
        if (note(call()))
            return;
        note(call());
    }

    void plain() {
        const auto memory = note(device_.malloc(64_KiB));
        const auto host = note(device_.host_malloc(64_KiB));
        std::vector<char> own(4096);
        const Address begin{reinterpret_cast<std::uintptr_t>(own.data())};
        const auto registered = note(device_.host_register({begin, own.size()}));
        if (memory) {
            note(device_.write_pattern(*memory, 5, 64_KiB, kStream));
            note(device_.check_pattern(*memory, 5, 64_KiB, kStream));
            note(device_.address_range(*memory));
            note(device_.ipc_export(*memory));
            const CopyRange both[] = {{*memory, *memory + 1_KiB, 64},
                                      {*memory + 64, *memory + 2_KiB, 64}};
            note(device_.copy_batch(both, kStream));
            if (host)
                note(device_.copy(*host, *memory, 64_KiB, kStream));
        }
        const auto point = note(device_.record(kStream));
        if (point) {
            note(device_.wait(kOther, *point));
            note(device_.complete(*point));
        }
        give_back([&] { return device_.synchronize_device(); });
        if (registered)
            give_back([&] { return device_.host_unregister(begin); });
        if (host)
            give_back([&] { return device_.host_free(*host); });
        if (memory)
            give_back([&] { return device_.free(*memory); });
    }

    void pooled() {
        note(device_.set_pool_threshold(64_KiB));
        const auto memory = note(device_.malloc_async(64_KiB, kOther));
        if (memory) {
            note(device_.fill(*memory, 1, 64_KiB, kOther));
            give_back([&] { return device_.free_async(*memory, kOther); });
        }
        note(device_.synchronize(kOther));
        note(device_.trim_pool(0));
    }

    void mapped() {
        const Bytes page = device_.granularity();
        const auto range = note(device_.reserve(2 * page));
        const auto first = note(device_.create({}, page));
        const auto second = note(device_.create({}, page));
        if (range && first && second) {
            const Range low{range->begin, page};
            const Range high{range->begin + page, page};
            const bool has_low = note(device_.map(low, *first)).has_value();
            const bool has_high = note(device_.map(high, *second)).has_value();
            if (has_low && has_high && note(device_.set_access(*range, true)))
                note(device_.fill(range->begin, 1, 2 * page, kStream));
            note(device_.synchronize(kStream));
            if (has_low)
                give_back([&] { return device_.unmap(low); });
            if (has_high)
                give_back([&] { return device_.unmap(high); });
        }
        if (first)
            give_back([&] { return device_.release(*first); });
        if (second)
            give_back([&] { return device_.release(*second); });
        if (range)
            give_back([&] { return device_.unreserve(*range); });
    }

    void captured() {
        const auto memory = note(device_.malloc(4_KiB));
        if (memory && note(device_.begin_capture(kStream))) {
            note(device_.fill(*memory, 3, 4_KiB, kStream));
            note(device_.record(kStream));
            auto graph = note(device_.end_capture(kStream));
            if (!graph && device_.capturing())
                graph = note(device_.end_capture(kStream));
            if (graph) {
                note(device_.launch(*graph, kOther));
                note(device_.synchronize(kOther));
                give_back([&] { return device_.destroy_graph(*graph); });
            }
        }
        if (memory)
            give_back([&] { return device_.free(*memory); });
    }

    CudaDevice& device_;
    std::vector<DeviceError> errors_;
};

// Small pieces, so that thousands of runs touch little memory.
constexpr fake::Config kSmall{.memory = 64_MiB, .granularity = 64_KiB};

// How many driver calls the program makes when all goes well, after the device was opened.
std::uint64_t calls_of_program() {
    const auto device = open_device(fake_driver(kSmall));
    const std::uint64_t before = fake_cuda().calls("");
    Program program{*device};
    program.run();
    CHECK(program.errors().empty());
    return fake_cuda().calls("") - before;
}

TEST_CASE("a failure of any driver call is an error value and leaves everything whole", "[cuda]") {
    const std::uint64_t count = calls_of_program();
    REQUIRE(count > 100);
    for (const int code : {2, 999}) {
        for (std::uint64_t n = 1; n <= count; ++n) {
            INFO("call " << n << " fails with " << code);
            auto device = open_device(fake_driver(kSmall));
            fake_cuda().fail("", n, code);
            Program program{*device};
            program.run();
            REQUIRE(fake_cuda().failures() == 1);
            CHECK_FALSE(device->capturing());
            for (const DeviceError& error : program.errors()) {
                CHECK(error.status != DeviceStatus::lost);
                CHECK_FALSE(device->explain(error).what.empty());
            }
            Program again{*device};
            again.run();
            for (const DeviceError& error : again.errors())
                FAIL_CHECK(to_text(device->explain(error)));
            device.reset();
            // The description of a graph, of which the driver keeps its own, is not asked back
            // twice.
            const std::string left = fake_cuda().leaks_text();
            CHECK((left == "" || left == "1 graphs"));
        }
    }
}

TEST_CASE("a device that is lost at any call refuses all later ones and closes in peace",
          "[cuda]") {
    const std::uint64_t count = calls_of_program();
    for (std::uint64_t n = 1; n < count; ++n) {  // the last one puts the context back
        INFO("lost at call " << n);
        auto device = open_device(fake_driver(kSmall));
        fake_cuda().fail("", n, 719, fake::Failure::lost);
        Program program{*device};
        program.run();
        // Calls without a context go on, and the last that needs one may be one that tells nobody.
        if (!program.errors().empty()) {
            CHECK(program.errors().back().status == DeviceStatus::lost);
            CHECK(program.errors().back().native_code == 719);
        }
        const bool reported = !program.errors().empty() || !device->malloc(64_KiB);
        REQUIRE(reported);
        const std::uint64_t before = fake_cuda().calls("cuMemAlloc_v2");
        const auto refused = device->malloc(64_KiB);
        REQUIRE(!refused);
        CHECK(refused.error().status == DeviceStatus::lost);
        CHECK(fake_cuda().calls("cuMemAlloc_v2") == before);  // the driver was not asked
        device.reset();
        CHECK(fake_cuda().leaks().contexts == 0);
    }
}

TEST_CASE("a device closes in peace whichever call of its end fails", "[cuda]") {
    for (const auto how : {fake::Failure::one, fake::Failure::all}) {
        for (std::uint64_t n = 1; n <= 20; ++n) {
            auto device = open_device(fake_driver());
            must(*device, device->begin_capture(StreamId{7}));  // and never ended
            must(*device, device->record(kStream));
            must(*device, device->set_pool_threshold(0));
            fake_cuda().fail("", n, 4, how);  // the driver is shutting down
            device.reset();
        }
    }
}

TEST_CASE("opening fails as a value at each call", "[cuda]") {
    const auto driver = fake_driver();
    for (const char* name :
         {"cuDeviceGet", "cuDeviceGetName", "cuDeviceTotalMem_v2", "cuDevicePrimaryCtxRetain"}) {
        fake_cuda().fail(name, 1, 46, fake::Failure::all);
        const auto device = CudaDevice::open(driver, {});
        REQUIRE(!device);
        CHECK(device.error().code == ErrorCode::driver);
        CHECK(device.error().what.find(name) == 0);
        CHECK(device.error().where == "cuda:0");
        CHECK(fake_cuda().leaks_text() == "");
    }
}

TEST_CASE("a capture left open ends with its device", "[cuda]") {
    auto device = open_device(fake_driver());
    must(*device, device->begin_capture(kStream));
    const EventId fork = must(*device, device->record(kStream));
    must(*device, device->wait(kOther, fork));
    device.reset();
    CHECK(fake_cuda().leaks_text() == "");
}

TEST_CASE("codes of the driver mean what they say", "[cuda]") {
    const auto means = [](int code, DeviceCall call = DeviceCall::map) {
        return to_status(static_cast<cuda::CUresult>(code), call);
    };
    CHECK(means(2) == DeviceStatus::out_of_memory);
    CHECK(means(2, DeviceCall::reserve) == DeviceStatus::address_space);
    CHECK(means(1) == DeviceStatus::invalid_value);
    CHECK(means(801) == DeviceStatus::not_supported);
    for (const int sticky : {4, 214, 700, 709, 710, 714, 715, 716, 717, 718, 719})
        CHECK(means(sticky) == DeviceStatus::lost);
    for (int capture = 900; capture <= 908; ++capture)
        CHECK(means(capture) == DeviceStatus::not_permitted);
    for (const int other : {304, 701, 800, 909, 999, 123456})
        CHECK(means(other) == DeviceStatus::fault);
    CHECK(means(713) == DeviceStatus::invalid_value);  // host memory that is not registered
}

}  // namespace
}  // namespace tidemark
