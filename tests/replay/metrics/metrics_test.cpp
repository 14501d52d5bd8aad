// Metrics against figures worked out by hand, in batches of every size: a result may not depend on
// where a batch ends.
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "backends/sim/sim_device.h"
#include "core/allocator/spec.h"
#include "tests/replay/metrics/batches.h"

namespace tidemark {
namespace {

using support::figure;
using support::make_metric;
using support::show;
using support::Step;

TraceInfo timed_info() {
    TraceInfo info;
    info.duration = 1;
    info.devices.resize(1);
    return info;
}

// Five events: the peak of reserved is at the third, that of allocated at the second.
const std::vector<Step> kSteps{
    {.time = 10, .reserved = 100, .allocated = 40, .active = 50, .requested = 30},
    {.time = 20, .reserved = 100, .allocated = 90, .active = 90, .requested = 60},
    {.time = 20, .reserved = 400, .allocated = 80, .active = 100, .requested = 70},
    {.time = 50, .reserved = 400, .allocated = 80, .active = 80, .requested = 75},
    {.time = 60, .reserved = 200, .allocated = 10, .active = 10, .requested = 5},
};

TEST_CASE("peaks are the largest values and where they were first reached", "[metrics]") {
    for (std::size_t batch = 1; batch <= kSteps.size(); ++batch) {
        const auto peaks = make_metric("peaks", timed_info());
        show(*peaks, kSteps, batch);
        CHECK(figure(*peaks, "peak_reserved_bytes").whole == 400);
        CHECK(figure(*peaks, "peak_allocated_bytes").whole == 90);
        CHECK(figure(*peaks, "peak_active_bytes").whole == 100);
        CHECK(figure(*peaks, "peak_requested_bytes").whole == 75);
        CHECK(figure(*peaks, "peak_reserved_event").whole == 2);
        CHECK(figure(*peaks, "peak_reserved_time_ns").whole == 20);
        CHECK(figure(*peaks, "peak_allocated_event").whole == 1);
        CHECK(figure(*peaks, "peak_allocated_time_ns").whole == 20);
    }
}

TEST_CASE("fragmentation at the peak is that of the peak's event", "[metrics]") {
    const auto peaks = make_metric("peaks", timed_info());
    show(*peaks, kSteps, 2);
    CHECK(figure(*peaks, "external_fragmentation_at_peak").real == Approx(1.0 - 100.0 / 400));
    CHECK(figure(*peaks, "internal_fragmentation_at_peak").real == Approx(1.0 - 60.0 / 90));
    CHECK(figure(*peaks, "overhead_ratio").real == Approx(400.0 / 75));
}

TEST_CASE("fragmentation at the peak is taken where most of it is in use", "[metrics]") {
    std::vector<Step> steps = kSteps;
    steps.insert(steps.begin() + 3,
                 {.time = 30, .reserved = 400, .allocated = 80, .active = 300, .requested = 75});
    for (std::size_t batch = 1; batch <= steps.size(); ++batch) {
        const auto peaks = make_metric("peaks", timed_info());
        show(*peaks, steps, batch);
        CHECK(figure(*peaks, "peak_reserved_event").whole == 2);
        CHECK(figure(*peaks, "peak_fullest_event").whole == 3);
        CHECK(figure(*peaks, "external_fragmentation_at_peak").real == Approx(1.0 - 300.0 / 400));
    }
}

TEST_CASE("a run without events has no fragmentation and no overhead", "[metrics]") {
    const auto peaks = make_metric("peaks", timed_info());
    CHECK(figure(*peaks, "peak_reserved_bytes").whole == 0);
    CHECK(figure(*peaks, "overhead_ratio").real == 1.0);
    CHECK(figure(*peaks, "external_fragmentation_at_peak").real == 0.0);
    const auto means = make_metric("means", timed_info());
    CHECK(figure(*means, "mean_reserved_bytes").whole == 0);
    CHECK(figure(*means, "external_fragmentation_mean").real == 0.0);
}

TEST_CASE("fragmentation is zero when more was asked for than is active", "[metrics]") {
    const auto peaks = make_metric("peaks", timed_info());
    const std::vector<Step> refused{
        {.time = 1, .reserved = 10, .allocated = 10, .active = 10, .requested = 90}};
    show(*peaks, refused, 1);
    CHECK(figure(*peaks, "internal_fragmentation_at_peak").real == 0.0);
}

TEST_CASE("means weigh each value by how long it held", "[metrics]") {
    for (std::size_t batch = 1; batch <= kSteps.size(); ++batch) {
        const auto means = make_metric("means", timed_info());
        show(*means, kSteps, batch);
        means->on_end(70);
        // 0 for 10 ns, then 10 ns of the first, 0 of the second, 30, 10, and 10 of the last: of 70.
        CHECK(figure(*means, "mean_reserved_bytes").whole ==
              (1000 + 12000 + 4000 + 2000 + 35) / 70);
        CHECK(figure(*means, "mean_allocated_bytes").whole == (400 + 2400 + 800 + 100 + 35) / 70);
        CHECK(figure(*means, "mean_active_bytes").whole == (500 + 3000 + 800 + 100 + 35) / 70);
        CHECK(figure(*means, "mean_requested_bytes").whole == (300 + 2100 + 750 + 50 + 35) / 70);
        CHECK(figure(*means, "external_fragmentation_mean").real == Approx(1 - 4400.0 / 19000));
        CHECK(figure(*means, "internal_fragmentation_mean").real == Approx(1 - 3200.0 / 4400));
    }
}

TEST_CASE("a trace without times has means over its events", "[metrics]") {
    TraceInfo info = timed_info();
    info.duration = 0;
    const auto means = make_metric("means", info);
    show(*means, kSteps, 3);
    means->on_end(1'000'000);
    CHECK(figure(*means, "mean_reserved_bytes").whole == 1200 / 5);
    CHECK(figure(*means, "mean_allocated_bytes").whole == 300 / 5);
}

TEST_CASE("means do not overflow on the largest values for the longest times", "[metrics]") {
    const auto means = make_metric("means", timed_info());
    const Bytes most = Bytes{1} << 62;
    const std::vector<Step> steps{{.time = 0, .reserved = most, .allocated = most, .active = most},
                                  {.time = Nanoseconds{1} << 62, .reserved = most}};
    show(*means, steps, 1);
    means->on_end(INT64_MAX);
    CHECK(figure(*means, "mean_reserved_bytes").whole == most);
}

TEST_CASE("a clock that runs backwards adds nothing to the means", "[metrics]") {
    const auto means = make_metric("means", timed_info());
    const std::vector<Step> steps{{.time = 100, .reserved = 10},
                                  {.time = 40, .reserved = 1000},
                                  {.time = 100, .reserved = 30}};
    for (std::size_t batch = 1; batch <= 3; ++batch) {
        const auto metric = make_metric("means", timed_info());
        show(*metric, steps, batch);
        metric->on_end(200);
        CHECK(figure(*metric, "mean_reserved_bytes").whole == 15);
    }
}

TEST_CASE("the largest free block is the smallest sample, and the last", "[metrics]") {
    const auto metric = make_metric("largest_free", timed_info());
    for (const Bytes size : {500U, 200U, 900U})
        metric->on_sample({.event = 0, .usage = {}, .largest_free = size});
    CHECK(figure(*metric, "largest_free_min_bytes").whole == 200);
    CHECK(figure(*metric, "largest_free_end_bytes").whole == 900);
}

TEST_CASE("refusals are counted one by one", "[metrics]") {
    const auto metric = make_metric("outcomes", timed_info());
    metric->on_refusal({});
    metric->on_refusal({});
    CHECK(figure(*metric, "out_of_memory").whole == 2);
}

TEST_CASE("counters of devices and allocators are summed over the contexts", "[metrics]") {
    SimDevice first({.capacity = 1_GiB});
    SimDevice second({.capacity = 1_GiB});
    auto a = parse_policy("cuda-malloc")->make(first);
    auto b = parse_policy("cuda-malloc")->make(second);
    REQUIRE((a && b));
    const auto one = (*a)->allocate({.size = 1000});
    REQUIRE((one && (*b)->allocate({.size = 1000}) && (*b)->allocate({.size = 3000})));
    (*a)->deallocate(*one, StreamId::default_stream);
    const std::vector<DeviceContext> contexts{{&first, a->get(), nullptr},
                                              {&second, b->get(), nullptr}};

    const auto calls = make_metric("device_calls", timed_info());
    CHECK(figure(*calls, "calls_malloc", contexts).whole == 3);
    CHECK(figure(*calls, "calls_free", contexts).whole == 1);
    CHECK(figure(*calls, "device_calls", contexts).whole ==
          first.counters().total_calls() + second.counters().total_calls());
    const auto outcomes = make_metric("outcomes", timed_info());
    CHECK(figure(*outcomes, "segments_created", contexts).whole == 3);
    CHECK(figure(*outcomes, "segments_released", contexts).whole == 1);
}

TEST_CASE("driver time and stalls are those of the devices' clocks", "[metrics]") {
    const auto profile = load_profile("h200");
    REQUIRE(profile);
    SimDevice device({.capacity = 1_GiB, .profile = &*profile});
    auto allocator = parse_policy("cuda-malloc")->make(device);
    REQUIRE(allocator);
    REQUIRE((*allocator)->allocate({.size = 1000}));
    const std::vector<DeviceContext> contexts{{&device, allocator->get(), nullptr}};

    const auto calls = make_metric("device_calls", timed_info());
    CHECK(figure(*calls, "driver_ns", contexts).whole ==
          static_cast<std::uint64_t>(profile->cost(DeviceCall::malloc, 1024)));
    CHECK(figure(*calls, "stall_ns", contexts).whole == 0);
}

TEST_CASE("bytes copied off the device are spilled, those copied to it fetched", "[metrics]") {
    SimDevice device({.capacity = 1_GiB});
    auto allocator = parse_policy("cuda-malloc")->make(device);
    REQUIRE(allocator);
    const auto memory = device.malloc(4096);
    const auto host = device.host_malloc(4096);
    REQUIRE((memory && host));
    REQUIRE(device.copy(*host, *memory, 3000, StreamId::default_stream));
    REQUIRE(device.copy(*memory, *host, 1000, StreamId::default_stream));
    const std::vector<DeviceContext> contexts{{&device, allocator->get(), nullptr}};

    const auto metric = make_metric("movement", timed_info());
    CHECK(figure(*metric, "spilled_bytes", contexts).whole == 3000);
    CHECK(figure(*metric, "fetched_bytes", contexts).whole == 1000);
}

TEST_CASE("the ending tells the makespan and what is still held", "[metrics]") {
    const auto metric = make_metric("ending", timed_info());
    show(*metric, kSteps, 2);
    metric->on_end(77);
    CHECK(figure(*metric, "makespan_ns").whole == 77);
    CHECK(figure(*metric, "end_reserved_bytes").whole == 200);
    CHECK(figure(*metric, "end_requested_bytes").whole == 5);
}

// `recorded` and `time` of events of which every reserve takes (index % 4) * 10 ns longer.
std::vector<Step> reserves(int count) {
    std::vector<Step> steps;
    Nanoseconds delay = 0;
    for (int i = 0; i < count; ++i) {
        const Nanoseconds recorded = 100 * i;
        steps.push_back({.time = recorded + delay, .kind = EventKind::use, .recorded = recorded});
        delay += 10 * (i % 4);
        steps.push_back(
            {.time = recorded + 50 + delay, .kind = EventKind::reserve, .recorded = recorded + 50});
        delay += 7;  // spent by the next event, which is no reservation
    }
    return steps;
}

TEST_CASE("a reservation's wait is the delay that its event added", "[metrics]") {
    const std::vector<Step> steps = reserves(8);  // waits 0, 10, 20, 30, 0, 10, 20, 30
    for (const std::size_t batch : {1U, 2U, 3U, 5U, 16U}) {
        const auto metric = make_metric("reservations", timed_info());
        show(*metric, steps, batch);
        CHECK(figure(*metric, "reservations").whole == 8);
        CHECK(figure(*metric, "reservation_wait_p50_ns").whole == 10);
        CHECK(figure(*metric, "reservation_wait_p99_ns").whole == 30);
        CHECK(figure(*metric, "reservation_wait_max_ns").whole == 30);
    }
}

TEST_CASE("a reservation's wait is measured on the clock of its own device", "[metrics]") {
    TraceInfo info = timed_info();
    info.devices.resize(2);
    const std::vector<Step> steps{
        {.time = 1000, .kind = EventKind::use, .recorded = 0, .device = 0},
        {.time = 10, .kind = EventKind::reserve, .recorded = 10, .device = 1},
        {.time = 1025, .kind = EventKind::reserve, .recorded = 20, .device = 0},
    };
    for (std::size_t batch = 1; batch <= 3; ++batch) {
        const auto metric = make_metric("reservations", info);
        show(*metric, steps, batch);
        CHECK(figure(*metric, "reservations").whole == 2);
        CHECK(figure(*metric, "reservation_wait_p50_ns").whole == 0);
        CHECK(figure(*metric, "reservation_wait_max_ns").whole == 5);
    }
}

TEST_CASE("a trace without reservations waits for none", "[metrics]") {
    const auto metric = make_metric("reservations", timed_info());
    show(*metric, kSteps, 2);
    CHECK(figure(*metric, "reservations").whole == 0);
    CHECK(figure(*metric, "reservation_wait_max_ns").whole == 0);
}

TEST_CASE("every figure has a name of its own, a sentence and a row in docs/metrics.md",
          "[metrics]") {
    std::FILE* const file = std::fopen(TIDEMARK_SOURCE_DIR "/docs/metrics.md", "r");
    REQUIRE(file != nullptr);
    std::string docs(1 << 16, '\0');
    docs.resize(std::fread(docs.data(), 1, docs.size(), file));
    std::fclose(file);

    std::set<std::string> names;
    for (const MetricInfo& metric : all_metrics()) {
        const auto made = metric.make(timed_info());
        for (const Measurement& measurement : made->results({})) {
            const std::string name(measurement.name);
            INFO(name);
            CHECK(names.insert(name).second);
            CHECK_FALSE(measurement.summary.empty());
            const bool call = name.starts_with("calls_");
            CHECK(docs.find(call ? "`calls_" : "`" + name + "`") != std::string::npos);
        }
    }
    CHECK(names.count("peak_reserved_bytes") == 1);
}

}  // namespace
}  // namespace tidemark
