// Searching. Steps propose choices; Trials replays those that it has not seen.
#include "replay/analysis/advise/search.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "backends/sim/sim_device.h"
#include "replay/analysis/advise/axes.h"
#include "replay/analysis/spread/worthwhile.h"

namespace tidemark {
namespace {

constexpr double kKeyPrice = 0.005;  // what a key, or an entry of a list, must earn
constexpr double kSamePeak = 0.01;   // peaks this near are equal
constexpr double kAdviseSearchAcceptableDelay = 0.01;  // of the run
constexpr double kTimeForMemory = 0.25;                // share of the run for a share of the peak
constexpr double kSmallDriverShare = 0.05;  // of the run: below it, driver time may double
constexpr std::size_t kStarts = 3;
constexpr std::size_t kSweeps = 3;
constexpr std::size_t kOthers = 3;
constexpr std::size_t kKept = 24;  // of the budget, for simplifying what was found

using Choices = std::vector<TorchChoice>;

bool is_allowed(const PolicySpec& spec) {
    SimDevice device({.capacity = 1_GiB});
    return spec.make(device).has_value();
}

// Replays choices, each once, as far as the budget goes.
class Trials {
  public:
    Trials(const Trace& trace, const SearchSetup& setup)
        : trace_(trace), setup_(setup), budget_(setup.budget - std::min(kKept, setup.budget / 4)) {}

    // The first trial: what the others are compared with.
    Result<void> begin() {
        TM_ASSIGN(Tried before, start());
        TM_ASSIGN(before.result, run_trial(trace_, setup_.base));
        report_progress(1);
        index_.emplace(before.choice.text(), 0);
        tried_.push_back(std::move(before));
        return {};
    }

    // Tries those of `choices` that are new; later ones are left out when the budget is spent, and
    // invalid ones always.
    Result<void> evaluate(const Choices& choices) {
        std::vector<TrialSetup> setups;
        const std::size_t first = tried_.size();
        for (const TorchChoice& choice : choices) {
            if (exhausted())
                break;
            const auto [entry, fresh] = index_.try_emplace(choice.text(), tried_.size());
            if (!fresh)
                continue;
            if (!is_known(choice)) {
                entry->second = kRefused;
                continue;
            }
            const Result<PolicySpec> spec = with_choice(setup_.base.policy, choice);
            if (!spec || !is_allowed(*spec)) {
                entry->second = kRefused;
                continue;
            }
            setups.push_back(setup_.base);
            setups.back().policy = *spec;
            tried_.push_back({.choice = choice, .policy = *spec, .result = {}});
        }
        TrialOptions options{.threads = setup_.threads, .progress = {}, .stop = setup_.stop};
        options.progress = [&](std::size_t done, std::size_t) { report_progress(first + done); };
        TM_ASSIGN(std::vector<TrialResult> results, run_trials(trace_, setups, options));
        for (std::size_t i = 0; i < results.size(); ++i)
            tried_[first + i].result = std::move(results[i]);
        if (results.size() < setups.size())
            end_early(first + results.size());
        return {};
    }

    // The trial of a choice; null if it was left out.
    const Tried* find(const TorchChoice& choice) const {
        const auto found = index_.find(choice.text());
        return found == index_.end() || found->second == kRefused ? nullptr
                                                                  : &tried_[found->second];
    }

    // Whether `a` is better than `b` while searching: by peak to the byte.
    bool better(const Tried& a, const Tried& b) const {
        const auto rank = [this](const Tried& tried) {
            return std::tuple(
                tried.result.refusals(), !acceptable_price(tried, before(), setup_.timed),
                tried.result.peak.reserved, tried.steady_time(), tried.choice.complexity());
        };
        return rank(a) < rank(b);
    }

    const Tried& before() const { return tried_.front(); }

    const std::vector<Tried>& all() const { return tried_; }

    Choices choices() const {
        Choices list;
        for (const Tried& tried : tried_)
            list.push_back(tried.choice);
        return list;
    }

    bool exhausted() const { return interrupted_ || tried_.size() >= budget_; }

    bool interrupted() const { return interrupted_; }

    // Allows the part of the budget that was reserved so far.
    void release_budget() { budget_ = setup_.budget; }

  private:
    static constexpr std::size_t kRefused = ~std::size_t{0};

    // To the program's version of PyTorch, on its machine. With both keys PyTorch maps pages of
    // that size although its limit has no room for them.
    bool is_known(const TorchChoice& choice) const {
        const bool large = choice.large_segment_mb != TorchChoice().large_segment_mb;
        return (setup_.expandable || !choice.expandable) && (setup_.large_segments || !large) &&
               !(choice.expandable && large);
    }

    Result<Tried> start() const {
        Tried before;
        before.policy = setup_.base.policy;
        TM_ASSIGN(before.choice, choice_of(before.policy));
        return before;
    }

    // Forgets choices that were no longer tried.
    void end_early(std::size_t done) {
        for (std::size_t i = done; i < tried_.size(); ++i)
            index_.erase(tried_[i].choice.text());
        tried_.resize(done);
        interrupted_ = true;
    }

    void report_progress(std::size_t done) const {
        if (setup_.progress)
            setup_.progress(done, setup_.budget);
    }

    const Trace& trace_;
    const SearchSetup& setup_;
    std::size_t budget_;
    bool interrupted_ = false;
    std::vector<Tried> tried_;
    std::map<std::string, std::size_t> index_;  // text of a choice -> its index in tried_
};

class Search {
  public:
    Search(const Trace& trace, const SearchSetup& setup)
        : setup_(setup), axes_(setup.sizes, setup.collects), trials_(trace, setup) {}

    Result<SearchResult> run() {
        TM_TRY(trials_.begin());
        TM_TRY(try_starts());
        for (std::size_t sweep = 0; sweep < kSweeps && !trials_.exhausted(); ++sweep) {
            bool moved = false;
            for (std::size_t axis = 0; axis < SettingAxes::kCount; ++axis)
                TM_TRY(step(moved, [&](const TorchChoice& at) { return axes_.along(axis, at); }));
            if (!moved)
                break;
        }
        bool moved = false;
        for (int round = 0; round < 3; ++round)
            TM_TRY(step(moved, [&](const TorchChoice& at) {
                return at.max_split_mb == 0 ? Choices{}
                                            : SettingAxes::between(at, trials_.choices());
            }));
        for (const std::size_t octave : axes_.octaves())
            TM_TRY(step(moved, [&](const TorchChoice& at) {
                return SettingAxes::along_octave(octave, at);
            }));
        trials_.release_budget();
        TM_TRY(simplify());
        return conclude();
    }

  private:
    // Every key by itself, from the defaults, from expandable segments, and from what was recorded.
    Result<void> try_starts() {
        TorchChoice expandable;
        expandable.expandable = true;
        const std::array<TorchChoice, 3> centres{TorchChoice{}, expandable,
                                                 trials_.before().choice};
        Choices list(centres.begin(), centres.end());
        for (std::size_t axis = 0; axis < SettingAxes::kCount; ++axis)
            for (const TorchChoice& centre : centres)
                for (const TorchChoice& choice : axes_.along(axis, centre))
                    list.push_back(choice);
        TM_TRY(trials_.evaluate(list));
        for (const Tried* tried : best_of_families())
            if (at_.size() < kStarts)
                at_.push_back(tried->choice);
        return {};
    }

    // The best trial of each family, best first.
    std::vector<const Tried*> best_of_families() const {
        std::map<unsigned, const Tried*> best;
        for (const Tried& tried : trials_.all()) {
            const Tried*& entry = best[tried.choice.family()];
            if (entry == nullptr || trials_.better(tried, *entry))
                entry = &tried;
        }
        std::vector<const Tried*> list;
        for (const auto& [family, tried] : best)
            list.push_back(tried);
        std::ranges::stable_sort(
            list, [this](const Tried* a, const Tried* b) { return trials_.better(*a, *b); });
        return list;
    }

    // From each point, tries what `neighbours` proposes and goes to the best of it.
    template <class Neighbours>
    Result<void> step(bool& moved, Neighbours neighbours) {
        std::vector<Choices> proposed;
        Choices all;
        for (const TorchChoice& at : at_) {
            proposed.push_back(neighbours(at));
            all.insert(all.end(), proposed.back().begin(), proposed.back().end());
        }
        TM_TRY(trials_.evaluate(all));
        for (std::size_t i = 0; i < at_.size(); ++i) {
            const Tried* best = trials_.find(at_[i]);
            for (const TorchChoice& choice : proposed[i])
                if (const Tried* other = trials_.find(choice);
                    other != nullptr && trials_.better(*other, *best))
                    best = other;
            moved = moved || !(best->choice == at_[i]);
            at_[i] = best->choice;
        }
        return {};
    }

    // Tries the best without each of its keys, until that costs memory.
    Result<void> simplify() {
        for (std::size_t round = 0; round < SettingAxes::kCount; ++round) {
            const TorchChoice best = choose().choice;
            Choices list;
            for (std::size_t axis = 0; axis < SettingAxes::kCount; ++axis)
                list.push_back(SettingAxes::without(axis, best));
            for (const std::size_t octave : axes_.octaves()) {
                TorchChoice choice = best;
                choice.divisions.fill(best.divisions[octave]);
                list.push_back(choice);
            }
            TM_TRY(trials_.evaluate(list));
            if (choose().choice == best)
                break;
        }
        return {};
    }

    // The best setting for a reader: the best, or an equally good and simpler one.
    const Tried& choose() const {
        const auto rank = [this](const Tried& tried) {
            return std::tuple(tried.result.refusals(), !is_acceptable(tried), score(tried),
                              tried.steady_time());
        };
        const std::vector<Tried>& all = trials_.all();
        const auto best = std::ranges::min_element(all, {}, rank);
        return *simplest_like(*best, [](const Tried&) { return true; });
    }

    bool is_acceptable(const Tried& tried) const {
        return acceptable_price(tried, trials_.before(), setup_.timed);
    }

    // The peak, with what its keys must earn.
    static double score(const Tried& tried) {
        return static_cast<double>(tried.result.peak.reserved) *
               (1 + kKeyPrice * static_cast<double>(tried.choice.complexity()));
    }

    const Tried* simplest_of_family(const Tried& best) const {
        const unsigned family = best.choice.family();
        return simplest_like(
            best, [family](const Tried& tried) { return tried.choice.family() == family; });
    }

    // The simplest that `fits` of those that are as good as `best`, and nearly as fast as the
    // fastest of them.
    template <class Fits>
    const Tried* simplest_like(const Tried& best, Fits fits) const {
        std::vector<const Tried*> equals{&best};
        Nanoseconds least = best.steady_time();
        for (const Tried& tried : trials_.all()) {
            if (!fits(tried) || !as_good(tried, best))
                continue;
            equals.push_back(&tried);
            least = std::min(least, tried.steady_time());
        }
        const double delay =
            setup_.timed ? static_cast<double>(trials_.before().result.makespan) * kWorthwhileSaving
                         : static_cast<double>(trials_.before().steady_time());
        const auto rank = [&](const Tried* tried) {
            const bool slow = static_cast<double>(tried->steady_time() - least) > delay;
            return std::tuple(slow, tried->choice.complexity(), tried->steady_time(),
                              tried->result.peak.reserved);
        };
        return *std::ranges::min_element(
            equals, [&rank](const Tried* a, const Tried* b) { return rank(a) < rank(b); });
    }

    bool as_good(const Tried& tried, const Tried& best) const {
        return tried.result.refusals() == best.result.refusals() &&
               is_acceptable(tried) == is_acceptable(best) &&
               score(tried) <= score(best) * (1 + kSamePeak);
    }

    SearchResult conclude() const {
        SearchResult result;
        result.before = trials_.before();
        result.best = choose();
        result.trials = trials_.all().size();
        result.interrupted = trials_.interrupted();
        result.improves = is_improvement(result.best, result.before, setup_.timed);
        if (!result.improves)
            result.best = result.before;
        find_others(result);
        find_extremes(result);
        return result;
    }

    // Other ways, not variations: a family that adds keys to one that is listed and does not come
    // to 1 % less is left out.
    void find_others(SearchResult& result) const {
        std::vector<const Tried*> listed{&result.best};
        for (const Tried* family : best_of_families()) {
            const Tried* const tried = simplest_of_family(*family);
            if (listed.size() > kOthers || !is_improvement(*tried, result.before, setup_.timed))
                continue;
            const bool variation = std::ranges::any_of(listed, [tried](const Tried* known) {
                const unsigned keys = known->choice.family();
                return tried->choice.family() == keys ||
                       (keys != 0 && (tried->choice.family() & keys) == keys &&
                        !is_below(*tried, *known));
            });
            if (!variation)
                listed.push_back(tried);
        }
        for (std::size_t i = 1; i < listed.size(); ++i)
            result.others.push_back(*listed[i]);
    }

    // Its peak is 1 % or more lower.
    static bool is_below(const Tried& tried, const Tried& other) {
        return static_cast<double>(tried.result.peak.reserved) <=
               static_cast<double>(other.result.peak.reserved) * (1 - kWorthwhileSaving);
    }

    // The floor, and what has a lower peak than the best at a higher price.
    void find_extremes(SearchResult& result) const {
        const Tried* lowest = &result.best;
        result.floor = result.best.result.peak.active;
        for (const Tried& tried : trials_.all()) {
            if (tried.result.refusals() != result.best.result.refusals())
                continue;
            result.floor = std::min(result.floor, tried.result.peak.active);
            if (tried.result.peak.reserved < lowest->result.peak.reserved)
                lowest = &tried;
        }
        if (result.best.result.refused == 0 && is_below(*lowest, result.best) &&
            !acceptable_price(*lowest, result.before, setup_.timed))
            result.dear = *lowest;
    }

    const SearchSetup& setup_;
    SettingAxes axes_;
    Trials trials_;
    Choices at_;  // where the descents are
};

}  // namespace

bool acceptable_price(const Tried& tried, const Tried& before, bool timed) {
    const Nanoseconds added = tried.steady_time() - before.steady_time();
    if (added <= 0 || before.result.refusals() > 0)
        return true;
    if (!timed)
        return added <= before.device_time();
    const auto run = static_cast<double>(before.result.makespan - before.result.growth_time);
    const auto own = static_cast<double>(before.steady_time());
    const auto peak = static_cast<double>(tried.result.peak.reserved);
    const double saved = 1 - peak / static_cast<double>(before.result.peak.reserved);
    const double most = std::max({run * kAdviseSearchAcceptableDelay, run * saved * kTimeForMemory,
                                  own <= run * kSmallDriverShare ? own : 0});
    return static_cast<double>(added) <= most;
}

bool is_improvement(const Tried& tried, const Tried& before, bool timed) {
    // For a run that fails, only a setting under which it doesn't is an improvement.
    if (tried.result.refused > 0)
        return false;
    if (tried.result.refusals() != before.result.refusals())
        return tried.result.refusals() < before.result.refusals();
    const auto peak = static_cast<double>(tried.result.peak.reserved);
    const auto peak_before = static_cast<double>(before.result.peak.reserved);
    if (peak < peak_before && peak <= peak_before * (1 - kWorthwhileSaving))
        return acceptable_price(tried, before, timed);
    const auto saved = static_cast<double>(before.steady_time() - tried.steady_time());
    return timed && saved > 0 && peak <= peak_before &&
           saved >= static_cast<double>(before.result.makespan) * kWorthwhileSaving;
}

Result<SearchResult> search_settings(const Trace& trace, const SearchSetup& setup) {
    return Search(trace, setup).run();
}

}  // namespace tidemark
