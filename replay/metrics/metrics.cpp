// The catalogue of metrics. A new metric is a new file here and one line in metrics.inc.
#include <array>

#include "replay/metrics/metric.h"

namespace tidemark {
namespace metrics {

#define TIDEMARK_METRIC(name) MetricInfo name();
#include "replay/metrics/metrics.inc"
#undef TIDEMARK_METRIC

}  // namespace metrics

std::span<const MetricInfo> all_metrics() {
    static const std::array catalogue{
#define TIDEMARK_METRIC(name) metrics::name(),
#include "replay/metrics/metrics.inc"
#undef TIDEMARK_METRIC
    };
    return catalogue;
}

}  // namespace tidemark
