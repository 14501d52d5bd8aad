// From steps to intervals, and from prices to a bound.
#include "replay/analysis/tiers/tier_bound.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace tidemark {
namespace {

// Kernels [begin, end) during which a buffer may stay or be away.
struct Interval {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    bool read_after = false;  // being away costs the way back
    bool must_leave = false;  // some kernel in between has no room for the whole buffer
};

// What one write left, until the next one: its intervals [first, first + count).
struct Epoch {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    double size = 0;
    bool must_leave = false;  // in one of them at least
};

// What one GPU has to hold.
struct Demand {
    std::vector<Interval> intervals;
    std::vector<Epoch> epochs;
    std::vector<double> needed;  // by kernel: bytes that it uses
};

// The maximum over the kernels in a range, in O(log kernels): a tree whose leaves are the kernels.
class RangeMost {
  public:
    explicit RangeMost(const std::vector<double>& values)
        : leaves_(values.size()), most_(2 * values.size()) {
        std::copy(values.begin(), values.end(), most_.begin() + std::ssize(values));
        for (std::size_t node = leaves_; node-- > 1;)
            most_[node] = std::max(most_[2 * node], most_[2 * node + 1]);
    }

    // Of [begin, end); 0 if that is empty.
    double most(std::size_t begin, std::size_t end) const {
        double found = 0;
        for (begin += leaves_, end += leaves_; begin < end; begin /= 2, end /= 2) {
            if (begin % 2 == 1)
                found = std::max(found, most_[begin++]);
            if (end % 2 == 1)
                found = std::max(found, most_[--end]);
        }
        return found;
    }

  private:
    std::size_t leaves_;
    std::vector<double> most_;
};

// Marks what cannot stay even if nothing else did.
void mark_evictions(Demand& demand, double capacity, const Cancelling& cancelled) {
    constexpr std::size_t kEpochsUncancelled = std::size_t{1} << 20U;
    const RangeMost needed(demand.needed);
    for (std::size_t e = 0; e < demand.epochs.size(); ++e) {
        if (e % kEpochsUncancelled == 0 && cancelled && cancelled())
            return;
        Epoch& epoch = demand.epochs[e];
        for (std::uint32_t i = epoch.first; i < epoch.first + epoch.count; ++i) {
            Interval& interval = demand.intervals[i];
            const double most = needed.most(interval.begin, interval.end);
            interval.must_leave = most + epoch.size > capacity;
            epoch.must_leave |= interval.must_leave;
        }
    }
}

class DemandBuilder {
  public:
    DemandBuilder(const TierProgram& program, std::uint32_t device)
        : program_(program), kernel_of_use_(program.uses.size()) {
        number_kernels();
        find_ends();
        for (std::size_t i = 0; i < program.steps.size(); ++i) {
            const TierStep& step = program.steps[i];
            if (step.kind == StepKind::allocate && step.device == device && counts_[i])
                add_life(step, kernels_before_[i], end_of_[i]);
        }
    }

    Demand take() { return std::move(demand_); }

  private:
    void number_kernels() {
        std::uint32_t kernels = 0;
        kernels_before_.reserve(program_.steps.size());
        for (const TierStep& step : program_.steps) {
            kernels_before_.push_back(kernels);
            if (step.kind != StepKind::kernel)
                continue;
            for (std::uint32_t i = 0; i < step.count; ++i)
                kernel_of_use_[step.first + i] = kernels;
            ++kernels;
        }
        demand_.needed.resize(kernels);
    }

    // Of each allocation: before which kernel its buffer is freed, and whether it is of interest.
    void find_ends() {
        std::vector<std::size_t> born(program_.buffers);
        const auto kernels = static_cast<std::uint32_t>(demand_.needed.size());
        end_of_.assign(program_.steps.size(), kernels);
        counts_.assign(program_.steps.size(), false);
        for (std::size_t i = 0; i < program_.steps.size(); ++i) {
            const TierStep& step = program_.steps[i];
            if (step.kind == StepKind::allocate) {
                born[step.value] = i;
                counts_[i] = step.tier == Tier::gpu;
            } else if (step.kind == StepKind::free) {
                end_of_[born[step.value]] = kernels_before_[i];
            } else if (step.kind == StepKind::move) {
                counts_[born[step.value]] = false;
            }
        }
    }

    void add_life(const TierStep& allocate, std::uint32_t begin, std::uint32_t end) {
        bool has_content = allocate.has_content;
        begin_epoch(allocate.size);
        for (std::uint32_t use = allocate.use; use != kNoUse; use = program_.uses[use].next) {
            const std::uint32_t kernel = kernel_of_use_[use];
            demand_.needed[kernel] += static_cast<double>(allocate.size);
            if (has_content)
                add_interval({begin, kernel, program_.uses[use].reads});
            if (program_.uses[use].writes) {
                has_content = true;
                begin_epoch(allocate.size);
            }
            begin = kernel + 1;
        }
        if (has_content)
            add_interval({begin, end, false});
    }

    // An epoch without intervals makes room for the next one.
    void begin_epoch(Bytes size) {
        if (!demand_.epochs.empty() && demand_.epochs.back().count == 0)
            demand_.epochs.pop_back();
        demand_.epochs.push_back({.first = static_cast<std::uint32_t>(demand_.intervals.size()),
                                  .count = 0,
                                  .size = static_cast<double>(size)});
    }

    void add_interval(const Interval& interval) {
        if (interval.begin >= interval.end)
            return;  // no kernel in between: it may as well stay
        demand_.intervals.push_back(interval);
        ++demand_.epochs.back().count;
    }

    const TierProgram& program_;
    std::vector<std::uint32_t> kernel_of_use_;   // by use
    std::vector<std::uint32_t> kernels_before_;  // by step
    std::vector<std::uint32_t> end_of_;          // by step that allocates
    std::vector<bool> counts_;                   // the same
    Demand demand_;
};

// Prices and what they prove. One round: `evaluate`, then `climb`.
class Prices {
  public:
    Prices(const Demand& demand, double capacity)
        : demand_(demand),
          capacity_(capacity),
          kernels_(demand.needed.size()),
          below_(demand.needed.size() + 1, 0.0),
          excess_(demand.needed.size() + 1, 0.0) {}

    // The bound that the prices prove. Leaves each kernel's excess behind: what it uses and what
    // stays under these prices, beyond the capacity.
    double evaluate() {
        double bound = 0;
        for (std::size_t k = 0; k < kernels_.size(); ++k) {
            below_[k + 1] = below_[k] + kernels_[k].price;
            bound -= kernels_[k].price * (capacity_ - demand_.needed[k]);
        }
        std::fill(excess_.begin(), excess_.end(), 0.0);
        for (const Epoch& epoch : demand_.epochs)
            bound += choose(epoch);
        double kept = 0;
        for (std::size_t k = 0; k < kernels_.size(); ++k) {
            kept += excess_[k];
            excess_[k] = demand_.needed[k] + kept - capacity_;
        }
        return bound;
    }

    // Raises the prices where there is excess and lowers them where there is room. False: there is
    // no excess anywhere, at any price.
    bool climb(double step) {
        bool moves = false;
        for (std::size_t k = 0; k < kernels_.size(); ++k) {
            Kernel& kernel = kernels_[k];
            // Below no price there is no excess to speak of.
            const double excess = kernel.price > 0 ? excess_[k] : std::max(excess_[k], 0.0);
            kernel.mean += kNewest * (excess - kernel.mean);
            kernel.squares += excess * excess;
            if (kernel.squares <= 0)
                continue;
            moves = true;
            kernel.price =
                std::max(0.0, kernel.price + step * kernel.mean / std::sqrt(kernel.squares));
        }
        return moves;
    }

  private:
    static constexpr double kNewest = 0.05;  // weight of the last excess in the mean

    struct Kernel {
        double price = 0;    // per byte
        double mean = 0;     // of the excess
        double squares = 0;  // sum of the excess squared
    };

    // What a write's content costs at least, and where it stays for that.
    double choose(const Epoch& epoch) {
        double stays = 0;
        double leaves = epoch.size;  // out once, then the cheaper in each interval
        const Interval* const intervals = demand_.intervals.data() + epoch.first;
        for (std::uint32_t i = 0; i < epoch.count; ++i) {
            const double rent = epoch.size * rent_per_byte(intervals[i]);
            const double back = intervals[i].read_after ? epoch.size : 0;
            stays += rent;
            leaves += intervals[i].must_leave ? back : std::min(rent, back);
        }
        const bool all = !epoch.must_leave && stays <= leaves;
        for (std::uint32_t i = 0; i < epoch.count; ++i) {
            const Interval& interval = intervals[i];
            const bool pays = interval.read_after && rent_per_byte(interval) < 1;
            if (all || (pays && !interval.must_leave)) {
                excess_[interval.begin] += epoch.size;
                excess_[interval.end] -= epoch.size;
            }
        }
        return all ? stays : leaves;
    }

    double rent_per_byte(const Interval& interval) const {
        return below_[interval.end] - below_[interval.begin];
    }

    const Demand& demand_;
    double capacity_;
    std::vector<Kernel> kernels_;
    std::vector<double> below_;   // sum of the prices before a kernel
    std::vector<double> excess_;  // differences of what stays, then the excess
};

// The best bound of `rounds` rounds.
double ascend(const Demand& demand, double capacity, std::uint32_t rounds,
              const Cancelling& cancelled, std::uint32_t& made) {
    constexpr double kFirstStep = 3;  // prices are around 1: leaving a byte costs 1 or 2
    Prices prices(demand, capacity);
    double best = 0;
    for (std::uint32_t round = 0; round < rounds; ++round) {
        if (cancelled && cancelled())
            break;
        ++made;
        best = std::max(best, prices.evaluate());
        const double left = 1 - static_cast<double>(round) / static_cast<double>(rounds);
        if (!prices.climb(kFirstStep * left * left))
            break;
    }
    return best;
}

// Sums of doubles err by far less than this part of them.
constexpr double kRounding = 1e-9;

}  // namespace

TierBound tier_bound(const TierProgram& program, Bytes capacity, std::uint32_t rounds,
                     const Cancelling& cancelled) {
    TierBound bound;
    const auto room = static_cast<double>(capacity);
    std::vector<Demand> demands;
    for (std::uint32_t device = 0; device < program.devices; ++device) {
        if (cancelled && cancelled())
            return bound;
        demands.push_back(DemandBuilder(program, device).take());
        for (const double needed : demands.back().needed)
            bound.least_capacity = std::max(bound.least_capacity, static_cast<Bytes>(needed));
    }
    bound.runs = bound.least_capacity <= capacity;
    if (!bound.runs)
        return bound;
    double bytes = 0;
    for (Demand& demand : demands) {
        mark_evictions(demand, room, cancelled);
        bytes += ascend(demand, room, rounds, cancelled, bound.rounds);
    }
    bound.bytes = static_cast<Bytes>(bytes * (1 - kRounding));
    return bound;
}

}  // namespace tidemark
