// Metric: an observer whose result is numbers. Each has its own file and a line in metrics.inc:
// TIDEMARK_METRIC(name). Formulas are in docs/metrics.md. largest_free.cpp is the shortest example.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "replay/engine/engine.h"

namespace tidemark {

enum class Unit : std::uint8_t { bytes, nanoseconds, count, ratio };

// How `compare` ranks without knowing the metric.
enum class Better : std::uint8_t { less, more, neither };

// One figure of a report. Whole units are exact; ratios are `real`.
struct Measurement {
    std::string_view name;     // the JSON key: "peak_reserved_bytes"
    std::string_view summary;  // one sentence
    Unit unit = Unit::count;
    Better better = Better::less;
    std::uint64_t whole = 0;  // bytes, nanoseconds, count
    double real = 0;          // ratio

    double value() const { return unit == Unit::ratio ? real : static_cast<double>(whole); }
};

// Figures of each unit, for the metrics.
namespace metrics {

constexpr Measurement bytes(std::string_view name, std::string_view summary, Bytes value,
                            Better better = Better::less) {
    return {name, summary, Unit::bytes, better, value, 0};
}

constexpr Measurement count(std::string_view name, std::string_view summary, std::uint64_t value,
                            Better better = Better::less) {
    return {name, summary, Unit::count, better, value, 0};
}

// Below 0 counts as 0.
constexpr Measurement time(std::string_view name, std::string_view summary, Nanoseconds value,
                           Better better = Better::less) {
    const auto whole = static_cast<std::uint64_t>(std::max<Nanoseconds>(value, 0));
    return {name, summary, Unit::nanoseconds, better, whole, 0};
}

constexpr Measurement ratio(std::string_view name, std::string_view summary, double value) {
    return {name, summary, Unit::ratio, Better::less, 0, value};
}

// The counters of all allocators, added up. O(devices).
inline AllocatorStats stats_of(std::span<const DeviceContext> contexts) {
    AllocatorStats sum;
    for (const DeviceContext& context : contexts)
        sum += context.allocator->stats();
    return sum;
}

}  // namespace metrics

class Metric : public Observer {
  public:
    // The figures, after on_end. `contexts` gives the counters of devices and allocators.
    virtual std::vector<Measurement> results(std::span<const DeviceContext> contexts) const = 0;
};

struct MetricInfo {
    std::string_view name;  // the file's name
    std::string_view summary;
    std::unique_ptr<Metric> (*make)(const TraceInfo& info);
};

// For MetricInfo::make: a T, made from the trace's info if it takes that.
template <class T>
std::unique_ptr<Metric> make_metric(const TraceInfo& info) {
    if constexpr (std::is_constructible_v<T, const TraceInfo&>)
        return std::make_unique<T>(info);
    else
        return std::make_unique<T>();
}

std::span<const MetricInfo> all_metrics();

}  // namespace tidemark
