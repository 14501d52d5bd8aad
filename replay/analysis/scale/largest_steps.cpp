// What scale() finds, where it can.
#include "replay/analysis/scale/largest_steps.h"

#include "replay/analysis/scale/scale.h"

namespace tidemark {
namespace {

constexpr std::uint64_t kMostEventsBeside = 300'000;  // a search takes a few seconds then

}  // namespace

Result<std::vector<LargestStep>> largest_steps(const Trace& trace,
                                               const LargestStepsQuestion& question) {
    std::vector<LargestStep> found;
    if (question.memory == 0 || trace.info().event_count > kMostEventsBeside)
        return found;
    const Result<ScaleModel> model = find_scale(trace);
    if (!model && model.error().code != ErrorCode::unsupported)
        return tl::make_unexpected(model.error());
    if (!model || (!model->laws.has_sizes && model->laws.reference_shape.batch == 0))
        return found;
    const Result<ScaleReport> report = scale(trace, *model,
                                             {.memory = question.memory,
                                              .overhead = question.overhead,
                                              .policies = question.policies,
                                              .profile = question.profile,
                                              .threads = question.threads,
                                              .stop = question.stop});
    if (!report && report.error().code == ErrorCode::cancelled)
        return found;
    if (!report)
        return tl::make_unexpected(report.error());
    for (const ScaleRow& row : report->rows)
        found.push_back({row.policy, row.recorded, row.fits.surely, row.fits.perhaps,
                         model->laws.reference_shape.batch});
    return found;
}

}  // namespace tidemark
