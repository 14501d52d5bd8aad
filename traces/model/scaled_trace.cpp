// Rewrites two columns of each batch; all others pass unchanged.
#include "traces/model/scaled_trace.h"

#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace tidemark {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr double kLargestFactor = 1000;

class ScaledCursor final : public TraceCursor {
  public:
    ScaledCursor(std::unique_ptr<TraceCursor> inner, Scale scale)
        : inner_(std::move(inner)), scale_(scale) {}

    Result<EventBatch> next() override {
        TM_ASSIGN(EventBatch batch, inner_->next());
        size_.resize(batch.count);
        addresses_.resize(batch.count, 0);
        for (std::size_t i = 0; i < batch.count; ++i)
            size_[i] = scale_(batch.size[i]);
        batch.size = size_.data();
        batch.address = addresses_.data();
        return batch;
    }

  private:
    std::unique_ptr<TraceCursor> inner_;
    Scale scale_;
    std::vector<Bytes> size_;
    std::vector<std::uint64_t> addresses_;  // zeros
};

}  // namespace

Result<Scale> Scale::of(double factor) {
    const double billionths = std::round(factor * static_cast<double>(kOne));
    if (!(factor > 0 && factor <= kLargestFactor && billionths >= 1))
        return fail(ErrorCode::bad_option,
                    fmt::format("{} is not above 0 and at most {}", factor, kLargestFactor),
                    "--scale", "0.5 makes every size half as large");
    return Scale(static_cast<std::uint64_t>(billionths));
}

Bytes Scale::operator()(Bytes size) const {
    if (size >= kLargestRequest)
        return size;
    const Wide scaled = (Wide{size} * billionths_ + (kOne - 1)) / kOne;
    return scaled < kLargestRequest ? static_cast<Bytes>(scaled) : kLargestRequest;
}

ScaledTrace::ScaledTrace(const Trace& trace, Scale scale)
    : trace_(trace), scale_(scale), info_(trace.info()) {
    info_.warnings.push_back(
        fmt::format("every size is multiplied by {}; the recorded system's addresses are left out",
                    static_cast<double>(scale.billionths()) / 1e9));
}

std::unique_ptr<TraceCursor> ScaledTrace::cursor() const {
    return std::make_unique<ScaledCursor>(trace_.cursor(), scale_);
}

// The content differs from the original's; even a factor of 1 leaves the addresses out.
std::uint64_t ScaledTrace::scaled(std::uint64_t hash) const {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15U;
    return (hash ^ scale_.billionths()) * kOdd;
}

}  // namespace tidemark
