// The largest amount that succeeded and the smallest that failed.
#include "replay/record/inferred_limit.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/policies/torch_settings.h"

namespace tidemark {
namespace {

constexpr Bytes kInferredLimitNone = ~Bytes{0};

constexpr std::size_t kMostThresholds = 6;

// The number in [least, most] with the most trailing zero bits.
Bytes roundest(Bytes least, Bytes most) {
    for (Bytes unit = Bytes{1} << 62U; unit > 1; unit /= 2) {
        const Bytes rounded = (least + unit - 1) / unit * unit;
        if (rounded >= least && rounded <= most)
            return rounded;
    }
    return least;
}

// How an allocator's requests become segments, for the walk.
struct SegmentRule {
    std::function<Bytes(Bytes)> segment_for;
    bool says_device_free = true;  // refusals say how much the device had free
};

// The walk over the record.
class Bounds {
  public:
    explicit Bounds(SegmentRule rule) : rule_(std::move(rule)) {}

    void walk(const DeviceRecord& record) {
        for (const SeedSegment& seed : record.seeds)
            reserved_ += seed.range.size;
        granted_ = reserved_;
        for (const RecordedStep& step : record.steps)
            take(step.event);
        for (const Bytes amount : retried_)
            refused_ = amount > granted_ ? std::min(refused_, amount) : refused_;
    }

    Bytes granted() const { return granted_; }

    // The likeliest limit, if the record points to one.
    std::vector<Bytes> limits() const {
        if (!is_plausible() || refused_ == kInferredLimitNone || refused_ <= granted_)
            return {};
        return {roundest(granted_, refused_ - 1)};
    }

    // Growth of reserved memory, and whether something was released just before.
    struct Growth {
        Bytes reserved = 0;  // before all of it
        bool released = false;
    };

    const std::vector<Growth>& growths() const { return growths_; }

  private:
    // Refusals, and releases just before a new segment: a single one of these may be chance.
    bool is_plausible() const { return refusals_ > 0 || retried_.size() > 1; }

    void take(const TraceEvent& event) {
        switch (event.kind) {
            case EventKind::segment_free:
            case EventKind::segment_unmap:
                if (!released_)
                    before_release_ = reserved_;
                released_ = true;
                reserved_ -= std::min(reserved_, event.size);
                return;
            case EventKind::segment_alloc:
            case EventKind::segment_map:
                if (!grown_)
                    before_growth_ = reserved_;
                grown_ = true;
                reserved_ += event.size;
                return;
            case EventKind::finish:
                return;
            case EventKind::allocate:
                granted(event.size);
                break;
            case EventKind::out_of_memory:
                refused(event.size, event.address);
                break;
            default:
                break;
        }
        released_ = false;
        grown_ = false;
    }

    Bytes segment_for(Bytes size) const { return rule_.segment_for(std::max<Bytes>(size, 1)); }

    void granted(Bytes size) {
        if (!grown_ || size >= kLargestRequest)
            return;
        const Bytes segment = segment_for(size);
        granted_ = std::max(granted_, before_growth_ + segment);
        if (released_)
            retried_.push_back(before_release_ + segment);
        growths_.push_back({released_ ? before_release_ : before_growth_, released_});
    }

    void refused(Bytes size, Bytes device_free) {
        if (size >= kLargestRequest || (rule_.says_device_free && device_free < segment_for(size)))
            return;  // the device was full
        ++refusals_;
        refused_ = std::min(refused_, reserved_ + segment_for(size));
    }

    SegmentRule rule_;
    Bytes reserved_ = 0;
    Bytes before_release_ = 0;
    Bytes before_growth_ = 0;
    bool released_ = false;
    bool grown_ = false;
    Bytes granted_ = 0;
    Bytes refused_ = kInferredLimitNone;
    std::vector<Bytes> retried_;
    std::vector<Growth> growths_;
    std::size_t refusals_ = 0;
};

// The intervals of reserved bytes in which garbage collection is likeliest to begin: above, growth
// comes with releases, below without. Best first.
std::vector<std::pair<Bytes, Bytes>> likely_thresholds(std::vector<Bounds::Growth> growths) {
    std::sort(growths.begin(), growths.end(), [](const auto& a, const auto& b) {
        return std::pair(a.reserved, a.released) < std::pair(b.reserved, b.released);
    });

    // The threshold is between two successive growths; `wrong` counts those on the wrong side of
    // it.
    struct Gap {
        std::ptrdiff_t wrong;
        std::size_t above;
    };

    std::vector<Gap> gaps;
    auto wrong = std::count_if(growths.begin(), growths.end(),
                               [](const Bounds::Growth& growth) { return !growth.released; });
    for (std::size_t i = 0; i < growths.size(); ++i) {
        if (i > 0 && growths[i].released && growths[i - 1].reserved < growths[i].reserved)
            gaps.push_back({wrong, i});
        wrong += growths[i].released ? 1 : -1;
    }
    std::stable_sort(gaps.begin(), gaps.end(),
                     [](const Gap& a, const Gap& b) { return a.wrong < b.wrong; });
    gaps.resize(std::min(gaps.size(), kMostThresholds));
    std::vector<std::pair<Bytes, Bytes>> likely;
    for (const Gap& gap : gaps)
        likely.emplace_back(growths[gap.above - 1].reserved, growths[gap.above].reserved - 1);
    return likely;
}

std::vector<Bytes> torch_limits(const DeviceRecord& record, const PolicySpec& policy) {
    const auto settings = policies::TorchSettings::from(policy.options);
    if (!settings)
        return {};
    Bounds bounds({.segment_for = [&settings](Bytes size) {
        return settings->segment_size(settings->round_size(size));
    }});
    bounds.walk(record);
    std::vector<Bytes> limits = bounds.limits();
    const Bytes least = bounds.granted();
    if (settings->gc_threshold > 0) {
        for (const auto& [low, high] : likely_thresholds(bounds.growths())) {
            const auto from = static_cast<Bytes>(static_cast<double>(low) / settings->gc_threshold);
            const auto to = static_cast<Bytes>(static_cast<double>(high) / settings->gc_threshold);
            if (to >= least)
                limits.push_back(roundest(std::max(from, least), to));
        }
    }
    return limits;
}

// CuPy allocates from CUDA just what a request needs.
std::vector<Bytes> cupy_limits(const DeviceRecord& record) {
    constexpr Bytes kChunk = 512;
    Bounds bounds({.segment_for = [](Bytes size) { return align_up(size, kChunk); },
                   .says_device_free = false});
    bounds.walk(record);
    return bounds.limits();
}

}  // namespace

std::vector<Bytes> infer_limits(const DeviceRecord& record, const PolicySpec& policy) {
    if (policy.policy->name == "cupy")
        return cupy_limits(record);
    return policy.policy->name == "torch" ? torch_limits(record, policy) : std::vector<Bytes>{};
}

}  // namespace tidemark
