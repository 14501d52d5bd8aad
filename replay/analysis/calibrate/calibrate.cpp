// The schedule of a calibration, and the profile that its samples make.
#include "replay/analysis/calibrate/calibrate.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "core/base/text.h"
#include "core/regions/driver_pool.h"
#include "replay/analysis/calibrate/calibrate_units.h"

namespace tidemark {
namespace {

constexpr Nanoseconds kLongest = 45'000'000'000;
constexpr Nanoseconds kLongestQuick = 10'000'000'000;

bool no_room(const DeviceError& error) {
    return error.status == DeviceStatus::out_of_memory ||
           error.status == DeviceStatus::address_space ||
           error.status == DeviceStatus::not_supported;
}

// The least time between two readings of the clock.
Nanoseconds clock_cost(const Device& device) {
    Nanoseconds least = 1'000'000;
    for (int i = 0; i < 1000; ++i) {
        const Nanoseconds begin = device.now();
        least = std::min(least, device.now() - begin);
    }
    return std::max<Nanoseconds>(least, 0);
}

// Memory that stays live all the time, as in a program: at most a sixteenth of the device's memory.
DeviceResult<void> settle(Probe& probe, Random& random, Bytes memory) {
    constexpr Bytes kLive = 64;  // many small pieces make the driver search for holes
    const Bytes largest = std::min<Bytes>(4_MiB, memory / (16 * kLive));
    for (Bytes i = 0; i < kLive; ++i)
        TM_TRY(probe.hold(512 + random.below(largest)));
    const Bytes page = probe.device().granularity();
    constexpr Bytes kMapped = 64;
    if (!probe.device().has(Feature::virtual_memory) || kMapped * page > memory / 16)
        return {};
    TM_ASSIGN(const Range room, probe.hold_room(kMapped * page));
    for (Bytes i = 0; i < kMapped; ++i) {
        TM_ASSIGN(const PhysicalId handle, probe.create(page));
        const Range range{room.begin + i * page, page};
        TM_TRY(probe.map(range, handle, "fresh"));
        TM_TRY(probe.set_access(range, "fresh"));
    }
    return {};
}

// Where plain memory is put whose size is a multiple of a large page: on a multiple of it?
Bytes find_largest_page(Device& device) {
    constexpr Bytes kLargest = kLargestDriverPage;
    constexpr Bytes kSmallest = 32_MiB;
    Bytes found = kLargest;
    if (8 * kLargest > device.memory().free)
        return found;
    std::vector<Address> held;
    const auto hold = [&](Bytes size) {
        const DeviceResult<Address> address = device.malloc(size);
        if (!address)
            return;
        held.push_back(*address);
        if (size == kLargest && to_integer(*address) % kLargest != 0)
            found = kSmallest;
    };
    // Pieces between them, so that they do not follow one another by chance.
    for (int i = 0; i < 3; ++i) {
        hold(kLargest);
        hold(kSmallest);
    }
    for (const Address address : held)
        static_cast<void>(device.free(address));
    return found;
}

class Schedule {
  public:
    Schedule(Device& device, const CalibrateOptions& options)
        : device_(device),
          options_(options),
          random_(options.seed),
          memory_(device.memory().free / 2),
          background_(device, ignored_),
          probe_(device, samples_),
          begin_(device.now()) {}

    // Errors: of the device, but for a lack of memory.
    Result<void> run();

    Samples& samples() { return samples_; }

    const Samples& first() const { return first_; }

    std::vector<std::string> take_skipped() { return std::move(skipped_); }

    Nanoseconds elapsed() const { return device_.now() - begin_; }

  private:
    struct Planned {
        CalibrationUnit unit;
        bool skipped = false;
    };

    Result<void> attempt(Planned& planned);
    Result<void> round(unsigned number, unsigned rounds);

    Error explained(const DeviceError& error, const std::string& what) const {
        Error explained = device_.explain(error);
        explained.where = explained.where.empty() ? what : what + ": " + explained.where;
        return explained;
    }

    Device& device_;
    const CalibrateOptions& options_;
    Random random_;
    Bytes memory_;
    Samples ignored_;
    Samples first_;
    Samples samples_;
    Probe background_;
    Probe probe_;
    Nanoseconds begin_;
    std::vector<Planned> plan_;
    std::vector<std::string> skipped_;
};

Result<void> Schedule::attempt(Planned& planned) {
    if (planned.skipped)
        return {};
    const DeviceResult<void> done = planned.unit.run(probe_, random_);
    if (done)
        return {};
    if (!no_room(done.error()))
        return tl::make_unexpected(explained(done.error(), planned.unit.name));
    probe_.clean();
    planned.skipped = true;
    skipped_.push_back(
        fmt::format("{}: {}", planned.unit.name, to_text(explained(done.error(), {}))));
    return {};
}

// Every unit whose turn it is, in random order: `runs` turns of each are spread over the rounds.
Result<void> Schedule::round(unsigned number, unsigned rounds) {
    std::vector<std::size_t> turns;
    for (std::size_t i = 0; i < plan_.size(); ++i) {
        const std::uint64_t runs = plan_[i].unit.runs;
        if (number * runs / rounds != (number + 1) * runs / rounds)
            turns.push_back(i);
    }
    for (std::size_t i = turns.size(); i > 0; --i) {
        std::swap(turns[i - 1], turns[random_.below(i)]);
        TM_TRY(attempt(plan_[turns[i - 1]]));
    }
    return {};
}

Result<void> Schedule::run() {
    if (device_.has(Feature::async_pool)) {
        Probe probe(device_, first_);
        if (const auto done = measure_pool_creation(probe); !done)
            return tl::make_unexpected(explained(done.error(), "malloc_async"));
    }
    if (const auto done = settle(background_, random_, memory_); !done && !no_room(done.error()))
        return tl::make_unexpected(explained(done.error(), "malloc"));
    for (CalibrationUnit& unit : calibration_units(device_, memory_, options_.quick))
        plan_.push_back({std::move(unit)});
    for (Planned& planned : plan_)  // a first time, which is not like the others
        TM_TRY(attempt(planned));
    samples_.clear();
    unsigned rounds = 1;
    for (const Planned& planned : plan_)
        rounds = std::max(rounds, planned.unit.runs);
    const Nanoseconds longest = options_.quick ? kLongestQuick : kLongest;
    for (unsigned i = 0; i < rounds; ++i) {
        TM_TRY(round(i, rounds));
        if (options_.progress)
            options_.progress(static_cast<double>(i + 1) / rounds);
        if (elapsed() > longest) {
            skipped_.push_back(
                fmt::format("{} of {} rounds: the device is slow", rounds - i - 1, rounds));
            break;
        }
    }
    return {};
}

using Rows = std::vector<MeasuredCost>;

// States with a separate cost: a call on a piece of a page that took a new page, or freed one; one
// that made the pool grow.
constexpr std::string_view kNewPage = "page";
constexpr std::string_view kGrows = "grows";

// The mean over the states in which `operation` was measured at each size ("" = all states but
// those).
std::vector<CostPoint> points_of(const Rows& rows, std::string_view operation,
                                 std::string_view state = {}) {
    struct Sum {
        Nanoseconds cost = 0;
        Nanoseconds states = 0;
    };

    std::map<Bytes, Sum> sums;
    for (const MeasuredCost& row : rows) {
        const bool apart = row.state == kNewPage || row.state == kGrows;
        if (row.operation != operation || (state.empty() ? apart : row.state != state))
            continue;
        sums[row.bytes].cost += row.mean;
        ++sums[row.bytes].states;
    }
    std::vector<CostPoint> points;
    for (const auto& [bytes, sum] : sums)
        points.push_back({bytes, (sum.cost + sum.states / 2) / sum.states});
    return points;
}

// What each mapping of a range but the first costs.
std::optional<CostCurve> further(const Rows& rows, std::string_view operation,
                                 const CostCurve& single) {
    std::vector<CostPoint> points = points_of(rows, operation);
    if (points.empty())
        return std::nullopt;
    for (CostPoint& point : points) {
        const auto more = static_cast<Nanoseconds>(mappings_in_range(point.bytes) - 1);
        point.cost =
            std::max<Nanoseconds>((point.cost - single.at(point.bytes) + more / 2) / more, 0);
    }
    return CostCurve(points);
}

// Expensive calls for small plain memory are separated: more than half the way to a page's own
// cost.
void set_pages_apart(Samples& samples) {
    const Rows rows = samples.summary();
    for (const std::string_view operation : {"malloc", "free"}) {
        const CostCurve all(points_of(rows, operation));
        samples.set_apart(operation, kDriverPage, all.at(kDriverPage) / 2, kNewPage);
    }
}

// Splits the cost of small plain memory into that of a piece, and that of a page.
Nanoseconds price_pages(CostProfile& profile, const Rows& rows, DeviceCall call) {
    CostCurve& curve = profile.calls[static_cast<std::size_t>(call)];
    std::vector<CostPoint> points(curve.points().begin(), curve.points().end());
    const auto pages = std::ranges::find(points, kDriverPage, &CostPoint::bytes);
    const std::vector<CostPoint> dear = points_of(rows, to_text(call), kNewPage);
    if (dear.empty() || pages == points.begin() || pages == points.end())
        return 0;
    const Nanoseconds piece = std::prev(pages)->cost;
    if (std::prev(pages)->bytes != kDriverPage - 1)
        points.insert(pages, {kDriverPage - 1, piece});
    curve = CostCurve(points);
    Nanoseconds sum = 0;
    for (const CostPoint& point : dear)
        sum += point.cost - curve.at(point.bytes);
    return std::max<Nanoseconds>(sum / static_cast<Nanoseconds>(dear.size()), 0);
}

void price_pool(CostProfile& profile, const Rows& rows, const Samples& first) {
    const CostCurve& held = profile.calls[static_cast<std::size_t>(DeviceCall::malloc_async)];
    std::vector<CostPoint> growth;
    for (const CostPoint& point : points_of(rows, "malloc_async", kGrows)) {
        if (point.bytes % DriverPool::kChunk == 0)
            growth.push_back(
                {point.bytes, std::max<Nanoseconds>(point.cost - held.at(point.bytes), 0)});
    }
    profile.pool_growth = CostCurve(growth);
    for (const MeasuredCost& row : first.summary())
        profile.pool_creation = std::max<Nanoseconds>(row.median - held.at(row.bytes), 0);
    // Only whole segments are released.
    auto trims = points_of(rows, "trim_pool");
    if (trims.size() > 1 && trims.front().bytes == 0)
        trims.insert(trims.begin() + 1, {DriverPool::kChunk - 1, trims.front().cost});
    profile.calls[static_cast<std::size_t>(DeviceCall::trim_pool)] = CostCurve(trims);
}

void price(Calibration& calibration, const Samples& first) {
    CostProfile& profile = calibration.profile;
    const Rows& rows = calibration.notes.measured;
    for (std::size_t i = 0; i <= static_cast<std::size_t>(DeviceCall::host_free); ++i) {
        const auto call = static_cast<DeviceCall>(i);
        profile.calls[i] = CostCurve(points_of(rows, to_text(call)));
        if (profile.calls[i].points().empty())
            calibration.notes.derived.emplace_back(to_text(call), "not measured; costs nothing");
    }
    for (std::size_t i = 0; i < profile.transfers.size(); ++i)
        profile.transfers[i] =
            CostCurve(points_of(rows, kTransfer, to_text(static_cast<Transfer>(i))));
    const auto range = [&](DeviceCall call, std::string_view operation) {
        const auto number = static_cast<std::size_t>(call);
        profile.further[number] = further(rows, operation, profile.calls[number]);
    };
    range(DeviceCall::set_access, kSetAccessOfRange);
    range(DeviceCall::unmap, kUnmapOfRange);
    profile.page_open = price_pages(profile, rows, DeviceCall::malloc);
    profile.page_close = price_pages(profile, rows, DeviceCall::free);
    price_pool(profile, rows, first);
}

}  // namespace

Result<Calibration> calibrate(Device& device, const CalibrateOptions& options) {
    Calibration calibration;
    calibration.clock_cost = clock_cost(device);
    calibration.profile.name = options.name;
    calibration.profile.device =
        options.device.empty() ? std::string(device.name()) : options.device;
    calibration.profile.memory = device.memory().total;
    calibration.profile.granularity = device.granularity();
    Schedule schedule(device, options);
    TM_TRY(schedule.run());
    calibration.elapsed = schedule.elapsed();
    calibration.skipped = schedule.take_skipped();
    set_pages_apart(schedule.samples());
    calibration.notes.measured = schedule.samples().summary();
    calibration.profile.largest_page = find_largest_page(device);
    price(calibration, schedule.first());
    return calibration;
}

}  // namespace tidemark
