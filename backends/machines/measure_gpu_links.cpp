// Copies on two streams, one for each direction.
#include "backends/machines/measure_gpu_links.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/base/text.h"

namespace tidemark {
namespace {

constexpr Bytes kLeastCopy = 2_MiB;    // the larger of two large copies
constexpr Bytes kPartsOfCopy = 16;     // the other one is this fraction of it
constexpr Bytes kSmallCopy = 64_KiB;   // small enough to show a copy's fixed cost
constexpr unsigned kFewCopies = 128;   // of them in a row,
constexpr unsigned kManyCopies = 512;  // and the others; fewer than a driver queues
constexpr unsigned kSingleCopies = 9;  // of which the median is one run's sample
constexpr Bytes kShareOfMemory = 4;    // both buffers together
constexpr StreamId kCopyStreams[] = {StreamId{61}, StreamId{62}};
constexpr unsigned kToHost = 0;  // index: to the host
constexpr unsigned kFromHost = 1;

// A buffer on the GPU and one on the host for each direction, freed at the end.
class CopyBuffers {
  public:
    explicit CopyBuffers(Device& device) : device_(device) {}

    CopyBuffers(const CopyBuffers&) = delete;
    CopyBuffers& operator=(const CopyBuffers&) = delete;

    ~CopyBuffers() { give_back(); }

    // CopyBuffers of `size` bytes each, or smaller ones if there is no memory for them.
    Result<void> take(Bytes size);

    Bytes size() const { return size_; }

    Address source(unsigned direction) const { return pair(direction)[direction]; }

    Address target(unsigned direction) const { return pair(direction)[1 - direction]; }

  private:
    using Pair = std::array<Address, 2>;  // on the GPU, on the host

    const Pair& pair(unsigned direction) const { return pairs_[direction]; }

    DeviceResult<void> try_take(Bytes size);
    void give_back();

    Device& device_;
    Bytes size_ = 0;
    std::array<Pair, 2> pairs_{};
};

Result<void> CopyBuffers::take(Bytes size) {
    for (; size >= kLeastCopy; size /= 2) {
        const DeviceResult<void> taken = try_take(size);
        if (taken) {
            size_ = size;
            return {};
        }
        give_back();
        if (taken.error().status != DeviceStatus::out_of_memory)
            return tl::make_unexpected(device_.explain(taken.error()));
    }
    return fail(ErrorCode::no_space,
                fmt::format("no memory for buffers of {}", format_bytes(kLeastCopy)), "",
                "free some memory of the GPU, or pinnable memory of the host");
}

DeviceResult<void> CopyBuffers::try_take(Bytes size) {
    for (Pair& pair : pairs_) {
        TM_ASSIGN(pair[0], device_.malloc(size));
        TM_ASSIGN(pair[1], device_.host_malloc(size));
    }
    return {};
}

void CopyBuffers::give_back() {
    for (Pair& pair : pairs_) {
        if (pair[0] != Address::null)
            (void)device_.free(pair[0]);
        if (pair[1] != Address::null)
            (void)device_.host_free(pair[1]);
        pair = {};
    }
}

// The samples of all runs, in one direction.
struct LinkSamples {
    std::vector<double> bytes_per_second;
    std::vector<double> overhead;
    std::vector<double> latency;

    LinkFigures figures() const {
        return {figure_of(bytes_per_second), figure_of(overhead), figure_of(latency)};
    }
};

class GpuLinks {
  public:
    GpuLinks(Device& device, const MeasuringLimits& limits)
        : device_(device), limits_(limits), buffers_(device) {}

    Result<GpuLinkFigures> run(Bytes largest);

  private:
    // Large copies of these sizes, at once: 0 = none in that direction.
    DeviceResult<Nanoseconds> large(Bytes out, Bytes in);
    // `count` small copies in a row.
    DeviceResult<Nanoseconds> small(unsigned direction, unsigned count);

    Result<LinkSample> sample(unsigned direction);
    Result<double> both(double out, double in);
    Result<void> run_once(bool counts);
    Result<void> attempt(bool counts);

    template <class T>
    Result<T> explained(const DeviceResult<T>& result) const {
        if (!result)
            return tl::make_unexpected(device_.explain(result.error()));
        return *result;
    }

    Device& device_;
    const MeasuringLimits& limits_;
    CopyBuffers buffers_;
    std::array<LinkSamples, 2> samples_;
    std::vector<double> both_;
    std::optional<Error> lost_;  // of the last run that was
};

DeviceResult<Nanoseconds> GpuLinks::large(Bytes out, Bytes in) {
    const std::array sizes{out, in};
    TM_TRY(device_.synchronize_device());
    const Nanoseconds begin = device_.now();
    for (const unsigned direction : {kToHost, kFromHost}) {
        if (sizes[direction] > 0)
            TM_TRY(device_.copy(buffers_.target(direction), buffers_.source(direction),
                                sizes[direction], kCopyStreams[direction]));
    }
    for (const unsigned direction : {kToHost, kFromHost}) {
        if (sizes[direction] > 0)
            TM_TRY(device_.synchronize(kCopyStreams[direction]));
    }
    return device_.now() - begin;
}

DeviceResult<Nanoseconds> GpuLinks::small(unsigned direction, unsigned count) {
    TM_TRY(device_.synchronize_device());
    const Nanoseconds begin = device_.now();
    for (unsigned i = 0; i < count; ++i) {
        const Bytes offset = i * kSmallCopy % buffers_.size();
        TM_TRY(device_.copy(buffers_.target(direction) + offset,
                            buffers_.source(direction) + offset, kSmallCopy,
                            kCopyStreams[direction]));
    }
    TM_TRY(device_.synchronize(kCopyStreams[direction]));
    return device_.now() - begin;
}

Result<LinkSample> GpuLinks::sample(unsigned direction) {
    const auto alone = [&](Bytes size) {
        return explained(direction == kToHost ? large(size, 0) : large(0, size));
    };
    CopyTimes times{
        .less = buffers_.size() / kPartsOfCopy, .more = buffers_.size(), .small = kSmallCopy};
    TM_TRY(limits_.go_on());
    TM_ASSIGN(times.less_time, alone(times.less));
    TM_ASSIGN(times.more_time, alone(times.more));
    TM_ASSIGN(const Nanoseconds few, explained(small(direction, kFewCopies)));
    TM_ASSIGN(const Nanoseconds many, explained(small(direction, kManyCopies)));
    times.each = static_cast<double>(many - few) / (kManyCopies - kFewCopies);
    std::vector<double> singles;
    for (unsigned i = 0; i < kSingleCopies; ++i) {
        TM_ASSIGN(const Nanoseconds single, explained(small(direction, 1)));
        singles.push_back(static_cast<double>(single));
    }
    times.single = static_cast<Nanoseconds>(figure_of(std::move(singles)).median);
    const std::optional<LinkSample> sample = link_sample(times);
    if (!sample)
        return fail(ErrorCode::bad_input,
                    fmt::format("{} took no longer than {}", format_bytes(times.more),
                                format_bytes(times.less)),
                    "copies");
    return *sample;
}

// Bytes per second of both directions at once, which get `out` and `in` alone.
Result<double> GpuLinks::both(double out, double in) {
    const double fastest = std::max(out, in);
    const auto share = [&](double bandwidth, Bytes size) {
        return std::max<Bytes>(1,
                               static_cast<Bytes>(static_cast<double>(size) * bandwidth / fastest));
    };
    const Bytes less = buffers_.size() / kPartsOfCopy;
    const Bytes more = buffers_.size();
    TM_TRY(limits_.go_on());
    TM_ASSIGN(const Nanoseconds less_time, explained(large(share(out, less), share(in, less))));
    TM_ASSIGN(const Nanoseconds more_time, explained(large(share(out, more), share(in, more))));
    if (more_time <= less_time)
        return fail(ErrorCode::bad_input, "more bytes took no longer", "copies in both directions");
    const Bytes bytes = share(out, more) + share(in, more) - share(out, less) - share(in, less);
    return static_cast<double>(bytes) * 1e9 / static_cast<double>(more_time - less_time);
}

Result<void> GpuLinks::run_once(bool counts) {
    std::array<LinkSample, 2> found;
    for (const unsigned direction : {kToHost, kFromHost}) {
        TM_ASSIGN(found[direction], sample(direction));
    }
    TM_ASSIGN(const double together,
              both(found[kToHost].bytes_per_second, found[kFromHost].bytes_per_second));
    if (!counts)
        return {};
    for (const unsigned direction : {kToHost, kFromHost}) {
        samples_[direction].bytes_per_second.push_back(found[direction].bytes_per_second);
        samples_[direction].overhead.push_back(found[direction].overhead);
        samples_[direction].latency.push_back(found[direction].latency);
    }
    both_.push_back(together);
    return {};
}

// A run whose times contradict each other is discarded, but nothing else.
Result<void> GpuLinks::attempt(bool counts) {
    Result<void> run = run_once(counts);
    if (run || run.error().code != ErrorCode::bad_input)
        return run;
    lost_ = std::move(run).error();
    return {};
}

Result<GpuLinkFigures> GpuLinks::run(Bytes largest) {
    if (!device_.has(Feature::copies) || !device_.has(Feature::host_memory))
        return fail(ErrorCode::unsupported, "it cannot copy from and to pinned host memory");
    TM_TRY(buffers_.take(
        std::min(align_up(largest, kLeastCopy),
                 device_.memory().free / kShareOfMemory / 2 / kLeastCopy * kLeastCopy)));
    const Nanoseconds begin = device_.now();
    TM_TRY(attempt(false));
    for (unsigned i = 0; i < limits_.runs; ++i) {
        if (i > 0 && device_.now() - begin > limits_.budget)
            break;
        TM_TRY(attempt(true));
        limits_.show(i + 1);
    }
    if (both_.empty())
        return tl::make_unexpected(lost_.value_or(Error{}));
    return GpuLinkFigures{.to_host = samples_[kToHost].figures(),
                          .from_host = samples_[kFromHost].figures(),
                          .both = figure_of(both_),
                          .less = buffers_.size() / kPartsOfCopy,
                          .more = buffers_.size()};
}

}  // namespace

Result<GpuLinkFigures> measure_gpu_links(Device& device, const MeasuringLimits& limits,
                                         Bytes largest) {
    return GpuLinks(device, limits).run(largest);
}

}  // namespace tidemark
