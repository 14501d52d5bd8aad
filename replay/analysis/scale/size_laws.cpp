// Steps are aligned with one of them, positions with the same ratios are collected, and the axes
// are what explains most bytes of them.
#include "replay/analysis/scale/size_laws.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include "replay/analysis/scale/align_steps.h"
#include "replay/analysis/scale/one_size_laws.h"

namespace tidemark {
namespace {

constexpr double kWellAligned = 0.6;       // of a step's requests
constexpr std::size_t kMostLearnt = 12;    // steps of different sizes that laws are learned from
constexpr double kFewBytes = 0.01;         // of a step: fewer that grow are chance
constexpr double kMostOff = 0.03;          // of a size that is rounded up
constexpr Bytes kRoundedUp = 512;          // bytes, the same
constexpr double kOtherAxis = 0.1;         // of a logarithm: nearer is the same axis
constexpr std::size_t kMostClusters = 16;  // that may be axes
constexpr std::size_t kSureClusters = 4;   // that two axes explain: this many are not chance

std::int64_t key_of(double ratio) {
    return std::llround(std::log(ratio) * 1e9);
}

using Powers = AxisPowers;

// The usual ones first.
constexpr Powers kPowers[] = {{1, 1}, {1, 0}, {0, 1}, {1, 2}, {0, 2}, {2, 0}, {2, 2}, {2, 1}};

double value_at(const StepAxes& step, Powers powers) {
    return std::pow(step.batch, powers.batch) * std::pow(step.length, powers.length);
}

// A reference position's size in one of the steps that laws are learned from.
struct Sample {
    std::size_t step = 0;
    Bytes size = 0;
};

// The ratios to the reference that several positions share, one for each step that laws are learned
// from.
struct Cluster {
    std::vector<double> ratios;
    Bytes bytes = 0;
    Bytes smallest = 0, largest = 0;  // in the reference

    bool grows() const {
        return std::ranges::any_of(ratios, [](double ratio) { return !same_ratio(ratio, 1); });
    }
};

class LawFinder {
  public:
    LawFinder(const StepRequests& requests, std::optional<std::size_t> kept_back)
        : requests_(requests), kept_back_(kept_back) {}

    Result<SizeLaws> find() {
        if (requests_.steps.size() < 2)
            return fail(ErrorCode::unsupported, "there are no two steps to compare", "",
                        "record several steps, of different sizes, with tidemark.torch.record, "
                        "which notes those of optimizers, or name them with record_function");
        choose_reference();
        one_size_.emplace(requests_, found_.reference);
        found_.reference_shape = one_size_->shape();
        align_all();
        choose_learnt();
        collect_clusters();
        found_.has_sizes = !clusters_.empty();
        if (found_.has_sizes) {
            find_axes();
            found_.by_chance = differs_by_chance();
            if (found_.by_chance)
                found_.guessed = one_size_->guessed();
        } else {
            found_.has_length = found_.reference_shape.length > 0;
            found_.guessed = one_size_->guessed();
            found_.steps.resize(requests_.steps.size());
        }
        learn_positions();
        for (std::size_t i = 0; i < found_.steps.size(); ++i) {
            if (found_.has_sizes && !learnt_as_.contains(sizes_of(i)))
                found_.steps[i] = axes_of(i);
            found_.steps[i].alike = aligned_share(i) >= kWellAligned && !makes_more(i);
        }
        apply();
        return std::move(found_);
    }

  private:
    std::span<const StepRequest> step(std::size_t index) const { return requests_.of(index); }

    static Bytes bytes_of(std::span<const StepRequest> requests) {
        Bytes sum = 0;
        for (const StepRequest& request : requests)
            sum += request.size;
        return sum;
    }

    // The largest that isn't the first, which makes what all others use.
    void choose_reference() {
        std::size_t best = kept_back_ == 1 && requests_.steps.size() > 2 ? 2 : 1;
        for (std::size_t i = best + 1; i < requests_.steps.size(); ++i)
            if (i != kept_back_ && bytes_of(step(i)) > bytes_of(step(best)))
                best = i;
        found_.reference = best;
    }

    // The ratio to the reference that most bytes share, of the requests that `counts` takes.
    struct Ratio {
        double value = 1;
        Bytes bytes = 0;  // in the reference
    };

    Ratio most_common(
        std::size_t index,
        const std::function<bool(std::uint32_t position, double ratio)>& counts) const {
        std::map<std::int64_t, Ratio> ratios;
        for (std::size_t i = 0; i < step(index).size(); ++i) {
            const std::uint32_t position = alignments_[index][i];
            if (position == kUnaligned)
                continue;
            const Bytes size = step(index)[i].size, before = step(found_.reference)[position].size;
            const double value = static_cast<double>(size) / static_cast<double>(before);
            if (size == 0 || before == 0 || !counts(position, value))
                continue;
            Ratio& ratio = ratios[key_of(value)];
            ratio = {value, ratio.bytes + before};
        }
        Ratio most;
        for (const auto& [key, ratio] : ratios)
            if (ratio.bytes > most.bytes)
                most = ratio;
        return most;
    }

    // How much those bytes of a step have grown that have the same growth; 1 if few have.
    double growth_of(std::size_t index) const {
        Bytes all = 0;
        for (const std::uint32_t position : alignments_[index])
            if (position != kUnaligned)
                all += step(found_.reference)[position].size;
        const Ratio most =
            most_common(index, [](std::uint32_t, double ratio) { return ratio != 1; });
        return static_cast<double>(most.bytes) >= kFewBytes * static_cast<double>(all) ? most.value
                                                                                       : 1;
    }

    static std::vector<std::uint32_t> order_of(std::span<const StepRequest> requests) {
        std::vector<std::uint32_t> order;
        for (const StepRequest& request : requests)
            order.push_back(request.symbol);
        return order;
    }

    static Bytes largest_of(std::span<const StepRequest> requests) {
        Bytes largest = 1;
        for (const StepRequest& request : requests)
            largest = std::max(largest, request.size);
        return largest;
    }

    // Once more, by the growth that the first alignment shows, or that of the largest sizes:
    // whichever explains more bytes.
    void align_by_growth(std::size_t index) {
        const auto reference = step(found_.reference);
        const double by_largest = static_cast<double>(largest_of(step(index))) /
                                  static_cast<double>(largest_of(reference));
        std::vector<std::uint32_t> best;
        Bytes most = 0;
        const double by_bytes = growth_of(index);
        for (const double growth : {by_bytes, by_largest}) {
            if (!best.empty() && same_ratio(growth, by_bytes))
                continue;
            alignments_[index] = align_steps(reference, step(index), growth);
            const Bytes explained =
                most_common(index, [](std::uint32_t, double ratio) { return ratio != 1; }).bytes +
                most_common(index, [](std::uint32_t, double ratio) { return ratio == 1; }).bytes;
            if (best.empty() || explained > most) {
                best = alignments_[index];
                most = explained;
            }
        }
        alignments_[index] = std::move(best);
    }

    // Steps of one order are aligned once.
    void align_all() {
        std::map<std::vector<std::uint32_t>, std::size_t> known;
        alignments_.resize(requests_.steps.size());
        growths_.assign(requests_.steps.size(), 1);
        const auto reference = step(found_.reference);
        for (std::size_t i = 0; i < requests_.steps.size(); ++i) {
            const auto [entry, fresh] = known.try_emplace(order_of(step(i)), i);
            if (!fresh) {
                alignments_[i] = alignments_[entry->second];
            } else {
                alignments_[i] = align_steps(reference, step(i), 1);
                align_by_growth(i);
            }
            growths_[i] = growth_of(i);
        }
    }

    double aligned_share(std::size_t index) const {
        const auto& alignment = alignments_[index];
        const auto missing = std::ranges::count(alignment, kUnaligned);
        return alignment.empty()
                   ? 0
                   : 1 - static_cast<double>(missing) / static_cast<double>(alignment.size());
    }

    std::vector<Bytes> sizes_of(std::size_t index) const {
        std::vector<Bytes> sizes;
        for (const StepRequest& request : step(index))
            sizes.push_back(request.size);
        return sizes;
    }

    // Of steps of the same sizes one; the first step last: it makes more than others.
    void choose_learnt() {
        learnt_ = {found_.reference};
        learnt_as_[sizes_of(found_.reference)] = 0;
        const auto offer = [&](std::size_t i) {
            if (i != kept_back_ && aligned_share(i) >= kWellAligned &&
                learnt_.size() < kMostLearnt &&
                learnt_as_.try_emplace(sizes_of(i), learnt_.size()).second)
                learnt_.push_back(i);
        };
        for (std::size_t i = 1; i < requests_.steps.size(); ++i)
            offer(i);
        if (learnt_.size() < 2)
            offer(0);
        samples_.resize(step(found_.reference).size());
        for (const std::size_t index : learnt_)
            for (std::size_t i = 0; i < step(index).size(); ++i)
                if (alignments_[index][i] != kUnaligned)
                    samples_[alignments_[index][i]].push_back({index, step(index)[i].size});
    }

    void collect_clusters() {
        std::map<std::vector<std::int64_t>, Cluster> all;
        for (std::size_t i = 0; i < samples_.size(); ++i) {
            const std::vector<Sample>& samples = samples_[i];
            if (samples.size() != learnt_.size() || samples.front().size == 0 ||
                most_of_reduction(i))
                continue;
            Cluster one;
            std::vector<std::int64_t> key;
            for (const Sample& sample : samples) {
                one.ratios.push_back(static_cast<double>(sample.size) /
                                     static_cast<double>(samples.front().size));
                key.push_back(sample.size == 0 ? 0 : key_of(one.ratios.back()));
            }
            const auto [entry, fresh] = all.try_emplace(std::move(key), std::move(one));
            Cluster& cluster = entry->second;
            cluster.bytes += samples.front().size;
            const Bytes size = samples.front().size;
            cluster.smallest = fresh ? size : std::min(cluster.smallest, size);
            cluster.largest = std::max(cluster.largest, size);
        }
        for (auto& [key, cluster] : all)
            if (cluster.grows())
                clusters_.push_back(std::move(cluster));
        std::ranges::stable_sort(clusters_, std::greater{}, &Cluster::bytes);
        if (clusters_.size() > kMostClusters)
            clusters_.resize(kMostClusters);
    }

    // One axis, or (`batch`) a part of it and the rest.
    static std::vector<StepAxes> axes_by(const Cluster& whole, const Cluster* batch) {
        std::vector<StepAxes> axes;
        for (std::size_t i = 0; i < whole.ratios.size(); ++i) {
            const double part = batch == nullptr ? whole.ratios[i] : batch->ratios[i];
            axes.push_back({part, whole.ratios[i] / part});
        }
        return axes;
    }

    static bool explains(const std::vector<StepAxes>& axes, const Cluster& cluster, Powers powers) {
        for (std::size_t i = 0; i < axes.size(); ++i)
            if (!same_ratio(cluster.ratios[i], value_at(axes[i], powers)))
                return false;
        return true;
    }

    struct Explained {
        Bytes bytes = 0;
        std::size_t clusters = 0;
        int powers = 0;  // of all together: fewer are simpler
    };

    Explained explained(const std::vector<StepAxes>& axes) const {
        Explained sum;
        for (const Cluster& cluster : clusters_) {
            int simplest = 0;  // none
            for (const Powers powers : kPowers)
                if (const int power = powers.batch + powers.length;
                    (simplest == 0 || power < simplest) && explains(axes, cluster, powers))
                    simplest = power;
            if (simplest == 0)
                continue;
            sum.bytes += cluster.bytes;
            ++sum.clusters;
            sum.powers += simplest;
        }
        return sum;
    }

    // Whether each of two axes explains something; sizes that are rounded up are near the first.
    static bool are_two(const std::vector<StepAxes>& axes) {
        const auto varies = [&](double StepAxes::*axis) {
            return std::ranges::any_of(axes, [&](const StepAxes& one) {
                return std::abs(std::log(one.*axis)) > kOtherAxis;
            });
        };
        return varies(&StepAxes::batch) && varies(&StepAxes::length);
    }

    // Whether most bytes grow with both.
    bool grow_together(const std::vector<StepAxes>& axes) const {
        return std::ranges::any_of(
            std::array<Powers, 4>{{{1, 1}, {1, 2}, {2, 1}, {2, 2}}},
            [&](Powers powers) { return explains(axes, clusters_.front(), powers); });
    }

    // Whether one is a multiple of the other and a constant: then it isn't a separate axis. Steps
    // of two sizes don't show that; but sizes with a constant hardly share their ratio with
    // different ones.
    static bool on_a_line(const Cluster& one, const Cluster& other) {
        std::set<std::int64_t> sizes;
        for (const double ratio : other.ratios)
            sizes.insert(key_of(ratio));
        if (sizes.size() < 3)
            return one.smallest == one.largest;
        const auto [low, high] = std::ranges::minmax_element(other.ratios);
        const auto least = static_cast<std::size_t>(low - other.ratios.begin());
        const auto most = static_cast<std::size_t>(high - other.ratios.begin());
        const double slope = (one.ratios[most] - one.ratios[least]) / (*high - *low);
        for (std::size_t i = 0; i < one.ratios.size(); ++i)
            if (!same_ratio(one.ratios[i], one.ratios[least] + slope * (other.ratios[i] - *low)))
                return false;
        return true;
    }

    // What most bytes grow with is one axis; or two, where these explain more.
    void find_axes() {
        std::vector<StepAxes> best = axes_by(clusters_.front(), nullptr);
        Explained most = explained(best);
        Bytes growing = 0;
        for (const Cluster& cluster : clusters_)
            growing += cluster.bytes;
        const auto few = static_cast<Bytes>(kFewBytes * static_cast<double>(growing));
        for (const Cluster& whole : clusters_)
            for (const Cluster& part : clusters_) {
                const std::vector<StepAxes> axes = axes_by(whole, &part);
                if (!are_two(axes) || !grow_together(axes))
                    continue;
                const Explained found = explained(axes);
                if (on_a_line(part, whole) && found.clusters < kSureClusters)
                    continue;
                const bool as_much = found_.has_length && found.bytes + few >= most.bytes;
                const bool more = found.clusters > most.clusters;
                const bool simpler = found.clusters == most.clusters && found.powers < most.powers;
                if (found.bytes > most.bytes + few || (as_much && (more || simpler))) {
                    best = axes;
                    most = found;
                    found_.has_length = true;
                }
            }
        if (found_.has_length)
            name_axes(best, most.clusters >= kSureClusters);
        found_.steps.resize(requests_.steps.size());
        for (std::size_t i = 0; i < found_.steps.size(); ++i) {
            const auto same = learnt_as_.find(sizes_of(i));
            found_.steps[i] =
                same != learnt_as_.end() ? best[same->second] : StepAxes{growths_[i], 1};
        }
    }

    // Length is the one that some size is quadratic in. If that tells nothing (of two steps it may
    // only seem to, unless that is `sure`), they are two axes without names, and what grows with
    // one of them alone may grow or not.
    void name_axes(std::vector<StepAxes>& axes, bool sure) {
        const auto quadratic = [&](std::initializer_list<Powers> all) {
            return std::ranges::any_of(clusters_, [&](const Cluster& cluster) {
                return std::ranges::any_of(
                    all, [&](Powers powers) { return explains(axes, cluster, powers); });
            });
        };
        const bool in_length = quadratic({{1, 2}, {0, 2}}), in_batch = quadratic({{2, 1}, {2, 0}});
        found_.has_length = in_length != in_batch && (learnt_.size() > 2 || sure);
        nameless_ = !found_.has_length;
        if (found_.has_length && in_batch)
            for (StepAxes& one : axes)
                std::swap(one.batch, one.length);
    }

    // What most bytes say that grow with both axes, and with batch alone.
    StepAxes axes_of(std::size_t index) const {
        const auto ratio = [&](Powers powers) -> std::optional<double> {
            const Ratio most = most_common(index, [&](std::uint32_t position, double) {
                const SizeLaw& law = found_.laws[of_position_[position]];
                return law.kind == LawKind::multiple && law.batch == powers.batch &&
                       law.length == powers.length;
            });
            return most.bytes > 0 ? std::optional(most.value) : std::nullopt;
        };
        const double both = ratio({1, 1}).value_or(growths_[index]);
        const double batch = found_.has_length ? ratio({1, 0}).value_or(both) : both;
        return {batch, both / batch};
    }

    std::optional<SizeLaw> exact_multiple(std::span<const Sample> samples) const {
        for (const Powers powers : kPowers) {
            const double first = value_at(found_.steps[samples.front().step], powers);
            const bool all = std::ranges::all_of(samples, [&](const Sample& sample) {
                const double expected = static_cast<double>(samples.front().size) *
                                        value_at(found_.steps[sample.step], powers) / first;
                return std::abs(static_cast<double>(sample.size) - expected) <=
                       0.5 + 1e-9 * expected;
            });
            if (all)
                return SizeLaw{LawKind::multiple, powers.batch, powers.length, 0};
        }
        return std::nullopt;
    }

    // A line through the least and the largest, and how far the others are from it.
    std::optional<SizeLaw> along_a_line(std::span<const Sample> samples) const {
        std::optional<SizeLaw> best;
        double least = kMostOff;
        for (const Powers powers : kPowers) {
            const auto at = [&](const Sample& sample) {
                return value_at(found_.steps[sample.step], powers);
            };
            const auto [low, high] = std::ranges::minmax_element(samples, {}, at);
            const double span = at(*high) - at(*low);
            if (span <= 0)
                continue;
            const double slope =
                (static_cast<double>(high->size) - static_cast<double>(low->size)) / span;
            if (slope <= 0)
                continue;
            double off = 0;
            std::set<std::int64_t> values;
            for (const Sample& sample : samples) {
                const double expected =
                    static_cast<double>(low->size) + slope * (at(sample) - at(*low));
                const double miss = std::abs(static_cast<double>(sample.size) - expected);
                values.insert(key_of(at(sample)));
                if (miss > static_cast<double>(kRoundedUp))
                    off = std::max(off, miss / std::max(expected, 1.0));
                else
                    off = std::max(off, miss / static_cast<double>(kRoundedUp) * 1e-6);
            }
            if (values.size() < 3)
                continue;  // through two points there always is a line
            const bool certain = off <= 1e-8;
            if (off < least || (certain && (!best || best->kind != LawKind::shifted))) {
                least = off;
                best = SizeLaw{certain ? LawKind::shifted : LawKind::rounded, powers.batch,
                               powers.length, slope};
            }
        }
        return best;
    }

    SizeLaw law_of(std::span<const Sample> samples) const {
        if (samples.size() < 2)
            return {};
        const bool constant = std::ranges::all_of(
            samples, [&](const Sample& one) { return one.size == samples.front().size; });
        if (constant)
            return {LawKind::constant, 0, 0, 0};
        const SizeLaw law = [&] {
            const auto multiple = exact_multiple(samples);
            return multiple ? *multiple : along_a_line(samples).value_or(SizeLaw{});
        }();
        return nameless_ && law.batch != law.length ? SizeLaw{} : law;
    }

    // Steps that are nearly the same, some larger and some smaller than the one before: the
    // difference does not come from the size of the program's input, but from chance, such as a
    // graph's random edges.
    bool differs_by_chance() const {
        constexpr double kNearlyAlike = 1.05;
        std::vector<double> sizes;
        for (const std::size_t index : learnt_)
            sizes.push_back(found_.steps[index].batch * found_.steps[index].length);
        const auto [least, most] = std::ranges::minmax_element(sizes);
        if (*most > kNearlyAlike * *least)
            return false;
        std::vector<std::size_t> order = learnt_;
        std::ranges::sort(order);
        return !std::ranges::is_sorted(order, {}, [&](std::size_t index) {
            return found_.steps[index].batch * found_.steps[index].length;
        });
    }

    // Of one size alone.
    SizeLaw guess(const StepRequest& request) const {
        const Powers powers = one_size_->powers(request);
        return powers == Powers{} ? SizeLaw{LawKind::constant, 0, 0, 0}
                                  : SizeLaw{LawKind::multiple, powers.batch, powers.length, 0};
    }

    void learn_positions() {
        found_.laws.push_back({});                            // 0: unknown
        found_.laws.push_back({LawKind::constant, 0, 0, 0});  // 1
        found_.laws.push_back({LawKind::multiple, 1, 1, 0});  // 2
        of_position_.reserve(samples_.size());
        for (std::size_t i = 0; i < samples_.size(); ++i) {
            SizeLaw law = found_.has_sizes ? law_of(samples_[i]) : guess(step(found_.reference)[i]);
            if (found_.by_chance && law.kind == LawKind::constant)
                law = guess(step(found_.reference)[i]);
            const bool known = law.kind != LawKind::unknown;
            of_position_.push_back(known ? static_cast<std::uint32_t>(found_.laws.size())
                                         : kUnknown);
            if (known)
                found_.laws.push_back(law);
        }
        for (std::size_t i = 0; i + 1 < of_position_.size(); ++i)
            if (const std::optional<Bytes> most = most_of_reduction(i);
                most &&
                (found_.has_sizes ? !is_exact(of_position_[i]) : of_position_[i] != kConstant)) {
                const bool grows = step(found_.reference)[i].size < *most;
                of_position_[i] =
                    grows ? static_cast<std::uint32_t>(found_.laws.size()) : kConstant;
                of_position_[i + 1] = kConstant;
                if (grows)
                    found_.laws.push_back({LawKind::multiple, 1, 1, 0, *most});
            }
    }

    bool is_exact(std::uint32_t law) const {
        return found_.laws[law].kind == LawKind::constant ||
               found_.laws[law].kind == LawKind::multiple;
    }

    // The largest buffer, if that position of the reference and the next are what PyTorch's
    // reductions take once they are spread over several blocks: a buffer with a part for each
    // block, then a counter for each group of blocks (ATen's Reduce.cuh). Blocks grow with what is
    // reduced, as long as the device has room for more, and groups with what is put out.
    std::optional<Bytes> most_of_reduction(std::size_t position) const {
        constexpr Bytes kCounter = 4, kMostCounters = 64_KiB, kPart = 64_KiB;
        constexpr Bytes kBlocks = 132 * 16;  // of an H100 or H200, and others are near
        if (position + 1 == samples_.size())
            return std::nullopt;
        const StepRequest& buffer = step(found_.reference)[position];
        const StepRequest& counters = step(found_.reference)[position + 1];
        if (!found_.has_sizes && one_size_->shaped(buffer))
            return std::nullopt;
        if (buffer.outlives || counters.outlives || counters.size == 0 ||
            counters.size > kMostCounters || counters.size % kCounter != 0)
            return std::nullopt;
        const Bytes groups = counters.size / kCounter;
        if (buffer.size == 0 || buffer.size % (groups * kPart) != 0)
            return std::nullopt;
        const Bytes each = groups * kPart;
        return std::max(buffer.size, each * ((kBlocks + groups - 1) / groups));
    }

    // Sizes of one step that are equal are mostly of one law: what isn't aligned has that.
    std::unordered_map<Bytes, std::uint32_t> laws_by_size(std::size_t index) const {
        std::unordered_map<Bytes, std::map<std::uint32_t, std::pair<std::size_t, std::uint32_t>>>
            votes;
        for (std::size_t i = 0; i < step(index).size(); ++i) {
            const std::uint32_t position = alignments_[index][i];
            if (position == kUnaligned || of_position_[position] == kUnknown)
                continue;
            const SizeLaw& law = found_.laws[of_position_[position]];
            const auto form =
                static_cast<std::uint32_t>(law.kind) << 16U | law.batch << 8U | law.length;
            auto& [count, example] = votes[step(index)[i].size][form];
            ++count;
            example = of_position_[position];
        }
        std::unordered_map<Bytes, std::uint32_t> laws;
        for (const auto& [size, forms] : votes)
            laws[size] = std::ranges::max_element(forms, {}, [](const auto& entry) {
                             return entry.second.first;
                         })->second.second;
        return laws;
    }

    // How many requests of the first step came before what all steps do: they make the model, and
    // are as large as that, whatever else has the same size.
    std::size_t count_before_steps() const {
        constexpr std::size_t kAtOnce = 16, kAlike = 12;
        const std::vector<std::uint32_t>& first = alignments_.front();
        std::size_t alike = 0;
        for (std::size_t i = 0; i < first.size(); ++i) {
            alike += first[i] != kUnaligned ? 1U : 0U;
            alike -= i >= kAtOnce && first[i - kAtOnce] != kUnaligned ? 1U : 0U;
            if (alike >= kAlike) {
                const auto begin = first.begin() + static_cast<std::ptrdiff_t>(
                                                       i + 1 < kAtOnce ? 0 : i + 1 - kAtOnce);
                return static_cast<std::size_t>(
                    std::ranges::find_if(begin, first.end(),
                                         [](std::uint32_t one) { return one != kUnaligned; }) -
                    first.begin());
            }
        }
        return 0;
    }

    void apply() {
        before_steps_ = count_before_steps();
        found_.of_request.assign(requests_.requests.size(), kUnknown);
        found_.positions.assign(requests_.requests.size(), kUnaligned);
        found_.of_step.assign(requests_.requests.size(),
                              static_cast<std::uint32_t>(requests_.steps.size()));
        for (std::size_t index = 0; index < requests_.steps.size(); ++index) {
            const auto by_size = laws_by_size(index);
            for (std::size_t i = 0; i < step(index).size(); ++i) {
                const std::size_t request = requests_.steps[index].begin + i;
                const std::uint32_t law = law_in(index, i, by_size);
                found_.of_request[request] = law;
                found_.positions[request] = alignments_[index][i];
                found_.of_step[request] = static_cast<std::uint32_t>(index);
                const auto kind = static_cast<std::size_t>(found_.laws[law].kind);
                ++found_.counts[kind];
                found_.bytes[kind] += step(index)[i].size;
            }
        }
        found_.steps.push_back(found_.steps.back());  // of what comes after the last one
        apply_behind();
    }

    // Of what a step allocates that others don't, and that outlives it.
    bool makes_more(std::size_t index) const {
        constexpr double kMatters = 0.002;  // of its bytes
        Bytes more = 0;
        for (std::size_t i = 0; i < step(index).size(); ++i)
            if (alignments_[index][i] == kUnaligned && step(index)[i].outlives)
                more += step(index)[i].size;
        return static_cast<double>(more) > kMatters * static_cast<double>(bytes_of(step(index)));
    }

    void apply_behind() {
        const auto by_size = laws_by_size(requests_.steps.size() - 1);
        for (std::size_t i = requests_.steps.back().end; i < requests_.requests.size(); ++i)
            if (const auto known = by_size.find(requests_.requests[i].size); known != by_size.end())
                found_.of_request[i] = known->second;
    }

    std::uint32_t law_in(std::size_t index, std::size_t i,
                         const std::unordered_map<Bytes, std::uint32_t>& by_size) const {
        const std::uint32_t position = alignments_[index][i];
        if (position != kUnaligned && of_position_[position] != kUnknown)
            return of_position_[position];
        if (index == 0 && i < before_steps_)
            return kConstant;
        // What the first step allocates for all others has the program's own size: weights, states.
        // So does what one other step alone allocates, such as the buckets that DDP rebuilds, and
        // memory derived from weights.
        if (step(index)[i].outlives && (index == 0 || position == kUnaligned))
            return kConstant;
        if (one_size_->is_of_weights(step(index)[i]))
            return kConstant;
        if (!found_.has_sizes)
            return guess(step(index)[i]).kind == LawKind::constant ? kConstant : kProportional;
        const auto known = by_size.find(step(index)[i].size);
        return known == by_size.end() ? kUnknown : known->second;
    }

    static constexpr std::uint32_t kUnknown = 0, kConstant = 1, kProportional = 2;  // laws

    const StepRequests& requests_;
    std::optional<std::size_t> kept_back_;
    std::optional<OneSizeLaws> one_size_;
    SizeLaws found_;
    std::vector<std::vector<std::uint32_t>> alignments_;   // of each step
    std::vector<double> growths_;                          // the same
    std::vector<std::size_t> learnt_;                      // steps, the reference first
    std::map<std::vector<Bytes>, std::size_t> learnt_as_;  // a step's sizes -> learnt_
    std::vector<std::vector<Sample>> samples_;  // of each position, the reference's first
    std::vector<Cluster> clusters_;             // that grow, the largest first
    std::vector<std::uint32_t> of_position_;    // laws
    std::size_t before_steps_ = 0;              // requests of the first step
    bool nameless_ = false;                     // two axes, of which neither is known as length
};

}  // namespace

Bytes SizeLaws::grown(const StepRequest& request, std::size_t index, const ScaleFactors& factors,
                      double unknown) const {
    const SizeLaw& law = laws[of_request[index]];
    if (law.kind == LawKind::constant)
        return request.size;
    const Powers powers{law.batch, law.length};
    double factor = value_at({factors.batch, factors.length}, powers);
    if (law.kind == LawKind::unknown)
        factor = std::pow(factor, unknown);
    const auto size = static_cast<double>(request.size);
    const double part = law.kind == LawKind::shifted || law.kind == LawKind::rounded
                            ? std::min(size, law.slope * value_at(steps[of_step[index]], powers))
                            : size;
    const double grown = std::round(size + part * (factor - 1));
    return grown < static_cast<double>(law.most) ? static_cast<Bytes>(std::max(grown, 1.0))
                                                 : law.most;
}

Result<SizeLaws> find_size_laws(const StepRequests& requests,
                                std::optional<std::size_t> kept_back) {
    return LawFinder(requests, kept_back).find();
}

}  // namespace tidemark
