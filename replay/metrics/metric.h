// Metric: an observer that ends in numbers. One file each and one line in metrics.inc:
// TIDEMARK_METRIC(name). Formulas are in docs/metrics.md.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
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

std::span<const MetricInfo> all_metrics();

}  // namespace tidemark
