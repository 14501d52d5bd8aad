// Records figures at the ends of steps, and judges them.
#include "replay/analysis/trace/step_growth.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/base/text.h"
#include "replay/facts/slope.h"

namespace tidemark {
namespace {

constexpr std::size_t kStepGrowthSteps = 256;  // this many ends are examined; of more, every n-th
constexpr std::size_t kWarmUp = 5;             // one step in so many
constexpr double kOutnumber = 0.7;             // rising pairs less falling ones, of all
constexpr double kRises = 0.5;                 // of all steps
constexpr std::size_t kManySteps = 10;         // of fewer, all must rise, and evenly
constexpr double kEvenly = 3;                  // the largest rise, of the smallest
constexpr double kStillGrows = 1.0 / 3;        // the last third's slope, of the whole's
constexpr double kSettled = 0.1;               // of the growth may come in the second half
constexpr Bytes kLeastGrowth = 1_MiB;
constexpr Bytes kStepGrowthWorthTelling = 100;  // of the peak, one part in so many
constexpr double kDriftIsNotLive = 0.25;        // of the growth of reserved memory may be live
constexpr Bytes kReused = 4;         // times the peak that a run without steps allocates in total
constexpr double kMostOfLeak = 0.5;  // sites that grow by less of it don't explain a leak

double rise(const std::vector<Bytes>& x, std::size_t i, std::size_t j) {
    return static_cast<double>(x[j]) - static_cast<double>(x[i]);
}

// Of the ends from `begin` on.
facts::Slope slope_from(const std::vector<Bytes>& x, std::size_t begin) {
    std::vector<facts::Sample> samples;
    for (std::size_t i = begin; i < x.size(); ++i)
        samples.push_back({static_cast<double>(i), static_cast<double>(x[i])});
    return facts::slope_of(samples);
}

}  // namespace

GrowthFigures judge_growth(const std::vector<Bytes>& at_ends, Bytes worth_telling) {
    GrowthFigures figures;
    if (at_ends.size() < kLeastSteps)
        return figures;
    const std::size_t begin = std::max<std::size_t>(1, at_ends.size() / kWarmUp);
    const std::size_t last = at_ends.size() - 1;
    const std::size_t steps = last - begin;
    const std::size_t third = last - std::max<std::size_t>(steps / 3, 1);
    const facts::Slope slope = slope_from(at_ends, begin);
    figures.slope = slope.middle;
    std::size_t rises = 0;
    double smallest = rise(at_ends, begin, begin + 1);
    double largest = smallest;
    for (std::size_t i = begin; i < last; ++i) {
        rises += at_ends[i + 1] > at_ends[i] ? 1U : 0U;
        smallest = std::min(smallest, rise(at_ends, i, i + 1));
        largest = std::max(largest, rise(at_ends, i, i + 1));
    }
    const bool enough =
        at_ends.size() >= kManySteps || (rises == steps && largest <= kEvenly * smallest);
    const double grown = rise(at_ends, begin, last);
    const double late = rise(at_ends, third, last) / static_cast<double>(last - third);
    figures.grows = enough && grown >= static_cast<double>(worth_telling) &&
                    slope.rising >= kOutnumber &&
                    static_cast<double>(rises) >= kRises * static_cast<double>(steps) &&
                    late >= kStillGrows * grown / static_cast<double>(steps);
    const std::size_t half = last / 2;
    const double early = rise(at_ends, 0, half);
    const auto [least, most] =
        std::minmax_element(at_ends.begin() + static_cast<std::ptrdiff_t>(half), at_ends.end());
    // Memory that exists after the first step is not growth over steps: an optimizer's state.
    figures.settled =
        rise(at_ends, std::min<std::size_t>(1, half), half) >= static_cast<double>(worth_telling) &&
        static_cast<double>(*most - *least) <= kSettled * early;
    return figures;
}

const StepGrowth* StepReport::worst() const {
    const StepGrowth* found = nullptr;
    for (const StepGrowth& each : growths)
        if (each.kind != StepGrowthKind::cache &&
            (found == nullptr || each.bytes_per_step > found->bytes_per_step))
            found = &each;
    return found;
}

class StepWatcher::Books {
  public:
    Books(const TraceInfo& info, ProgramSteps steps)
        : info_(info), sites_(info), live_(info.slot_count), by_stack_(has_stacks(info)) {
        if (steps.ends.empty() && info.event_count >= kRunParts) {
            report_.parts = true;
            for (std::size_t i = 1; i <= kRunParts; ++i)
                steps.ends.push_back(info.event_count / kRunParts * i - 1);
        }
        every_ =
            std::max<std::size_t>(1, (steps.ends.size() + kStepGrowthSteps - 1) / kStepGrowthSteps);
        for (std::size_t i = every_ - 1; i < steps.ends.size(); i += every_)
            ends_.push_back(steps.ends[i]);
        report_.steps = std::move(steps);
    }

    void on_event(const TraceEvent& event, bool granted, const Usage& usage, std::uint64_t index) {
        if (event.kind == EventKind::allocate && event.slot < live_.size()) {
            leave(event.slot);
            if (granted && (event.flags & kTierMask) == 0)
                enter(event);
        } else if (event.kind == EventKind::free || event.kind == EventKind::retire) {
            leave(event.slot);
        }
        peak_ = std::max(peak_, usage.reserved);
        for (; next_ < ends_.size() && ends_[next_] == index; ++next_)
            write_down(usage, event.time);
    }

    StepReport report(std::size_t top) {
        const bool only_fills = report_.parts && allocated_ / kReused < peak_;
        if (times_.size() < kLeastSteps || only_fills)
            return std::move(report_);
        if (info_.duration > 0)
            report_.step_time = (times_.back() - times_.front()) /
                                static_cast<Nanoseconds>((times_.size() - 1) * every_);
        judge_sites(top);
        judge_whole();
        return std::move(report_);
    }

  private:
    static constexpr std::uint64_t kTagKey = std::uint64_t{1} << 62;  // above all sizes

    struct Block {
        Bytes size = 0;
        std::uint32_t group = 0;
        bool live = false;
    };

    struct Group {
        std::string name;
        std::uint32_t stack = 0;
        Bytes bytes = 0;
        Bytes least = 0;  // since the last end
        std::uint64_t blocks = 0;
        std::size_t from = 0;  // so many ends came before it
        std::vector<Bytes> at_ends;
    };

    std::uint32_t group_of(const TraceEvent& event) {
        const bool by_tag = !by_stack_ && event.tag != 0;
        const std::uint64_t key = by_stack_ ? event.stack
                                  : by_tag  ? kTagKey | event.tag
                                            : std::min(event.size, kTagKey - 1);
        const auto [known, fresh] = by_key_.try_emplace(key, 0U);
        if (!fresh)
            return known->second;
        std::string name = by_stack_ ? sites_.site(event.stack)
                           : by_tag  ? std::string(info_.strings[event.tag])
                                     : size_class(event.size);
        const auto [named, first] =
            by_name_.try_emplace(name, static_cast<std::uint32_t>(groups_.size()));
        if (first) {
            groups_.push_back({.name = std::move(name), .stack = event.stack, .at_ends = {}});
            groups_.back().from = next_;
        }
        return known->second = named->second;
    }

    void enter(const TraceEvent& event) {
        Block& block = live_[event.slot];
        block = {event.size, group_of(event), true};
        groups_[block.group].bytes += event.size;
        ++groups_[block.group].blocks;
        total_ += event.size;
        allocated_ += event.size;
    }

    void leave(std::uint32_t slot) {
        if (slot >= live_.size() || !live_[slot].live)
            return;
        Block& block = live_[slot];
        groups_[block.group].bytes -= block.size;
        --groups_[block.group].blocks;
        total_ -= block.size;
        least_total_ = std::min(least_total_, total_);
        Bytes& least = groups_[block.group].least;
        least = std::min(least, groups_[block.group].bytes);
        block.live = false;
    }

    void write_down(const Usage& usage, Nanoseconds time) {
        for (Group& group : groups_) {
            group.at_ends.push_back(report_.parts ? group.least : group.bytes);
            group.least = group.bytes;
        }
        total_at_ends_.push_back(report_.parts ? least_total_ : total_);
        least_total_ = total_;
        reserved_at_ends_.push_back(usage.reserved);
        times_.push_back(time);
    }

    Bytes worth_telling() const { return std::max(kLeastGrowth, peak_ / kStepGrowthWorthTelling); }

    StepGrowth growth(StepGrowthKind kind, const std::vector<Bytes>& x, double slope) const {
        StepGrowth found;
        found.kind = kind;
        found.bytes_per_step = slope / static_cast<double>(every_);
        const std::size_t begin = std::max<std::size_t>(1, x.size() / kWarmUp);
        found.first_bytes = x[kind == StepGrowthKind::cache ? 0 : begin];
        found.last_bytes = x.back();
        found.first_event = ends_[begin];
        found.last_event = ends_[x.size() - 1];
        return found;
    }

    void judge_sites(std::size_t top) {
        std::vector<StepGrowth> leaks;
        std::vector<StepGrowth> caches;
        for (const Group& group : groups_) {
            std::vector<Bytes> x(group.from, 0);
            x.insert(x.end(), group.at_ends.begin(), group.at_ends.end());
            const GrowthFigures figures = judge_growth(x, worth_telling());
            if (!figures.grows && !figures.settled)
                continue;
            auto& list = figures.grows ? leaks : caches;
            list.push_back(growth(figures.grows ? StepGrowthKind::leak : StepGrowthKind::cache, x,
                                  figures.slope));
            list.back().site = group.name;
            list.back().stack = group.stack;
            list.back().blocks = group.blocks;
        }
        const auto keep = [&](std::vector<StepGrowth>& list) {
            std::ranges::sort(list, [](const StepGrowth& a, const StepGrowth& b) {
                return std::tuple(b.last_bytes - b.first_bytes, std::string_view(a.site)) <
                       std::tuple(a.last_bytes - a.first_bytes, std::string_view(b.site));
            });
            list.resize(std::min(list.size(), top));
            report_.growths.insert(report_.growths.end(), list.begin(), list.end());
        };
        keep(leaks);
        judge_total();
        keep(caches);
    }

    // A leak that no site shows by itself, or not most of it.
    void judge_total() {
        const GrowthFigures figures = judge_growth(total_at_ends_, worth_telling());
        double explained = 0;
        for (const StepGrowth& each : report_.growths)
            explained += each.bytes_per_step * static_cast<double>(every_);
        if (figures.grows && explained < kMostOfLeak * figures.slope)
            report_.growths.push_back(growth(StepGrowthKind::leak, total_at_ends_, figures.slope));
    }

    void judge_whole() {
        const GrowthFigures reserved = judge_growth(reserved_at_ends_, worth_telling());
        if (!reserved.grows || times_.size() < kManySteps)
            return;
        const GrowthFigures live = judge_growth(total_at_ends_, 0);
        if (live.slope > kDriftIsNotLive * reserved.slope)
            return;
        StepGrowth drift = growth(StepGrowthKind::drift, reserved_at_ends_, reserved.slope);
        const auto caches = std::ranges::find_if(report_.growths, [](const StepGrowth& each) {
            return each.kind == StepGrowthKind::cache;
        });
        report_.growths.insert(caches, std::move(drift));
    }

    const TraceInfo& info_;
    Sites sites_;
    std::vector<Block> live_;  // by slot
    const bool by_stack_;
    std::size_t every_ = 1;
    std::vector<std::uint64_t> ends_;
    std::size_t next_ = 0;  // of ends_
    std::vector<Group> groups_;
    std::unordered_map<std::uint64_t, std::uint32_t> by_key_;  // a stack or size -> its group
    std::map<std::string, std::uint32_t> by_name_;
    Bytes total_ = 0;
    Bytes least_total_ = 0;  // since the last end
    Bytes allocated_ = 0;    // in total
    Bytes peak_ = 0;
    std::vector<Bytes> total_at_ends_;
    std::vector<Bytes> reserved_at_ends_;
    std::vector<Nanoseconds> times_;
    StepReport report_;
};

StepWatcher::StepWatcher(const TraceInfo& info, ProgramSteps steps)
    : books_(std::make_unique<Books>(info, std::move(steps))) {}

StepWatcher::~StepWatcher() = default;

void StepWatcher::on_events(const EventBatch& events, const OutcomeBatch& outcomes) {
    for (std::size_t i = 0; i < events.count; ++i)
        books_->on_event(events[i], outcomes.granted[i] != Address::null, outcomes.usage[i],
                         outcomes.first_event + i);
}

StepReport StepWatcher::report(std::size_t top) {
    return books_->report(top);
}

}  // namespace tidemark
