// A replay of each setting before and after, and a bisection where a card is given.
#include "replay/analysis/scale/scale.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "backends/sim/costs.h"
#include "core/base/text.h"
#include "core/base/threads.h"
#include "replay/analysis/trace/candidates.h"
#include "replay/scenario/card_overhead.h"
#include "replay/scenario/trial.h"

namespace tidemark {
namespace {

constexpr double kFinest = 1.0 / 64;  // of a growth that is searched, relative
constexpr std::size_t kReplays = 3, kReplaysOfCard = 30;

class ScaleSearch {
  public:
    ScaleSearch(const Trace& trace, const ScaleModel& model, const ScaleQuestion& question,
                const CostProfile& profile, std::function<void()> replayed)
        : trace_(trace),
          model_(model),
          question_(question),
          profile_(profile),
          replayed_(std::move(replayed)) {}

    Result<ScaleRow> run(const Candidate& candidate) {
        ScaleRow row{.policy = candidate.policy.text(), .recorded = candidate.recorded};
        TM_ASSIGN(row.before, peak(candidate.policy, {}, UnknownSizes::growing));
        TM_ASSIGN(row.peak, peak(candidate.policy, question_.growth, UnknownSizes::growing));
        row.least = row.most = row.peak;
        if (model_.laws.counts[static_cast<std::size_t>(LawKind::unknown)] > 0) {
            TM_ASSIGN(const Bytes other,
                      peak(candidate.policy, question_.growth, UnknownSizes::as_recorded));
            row.least = std::min(row.least, other);
            row.most = std::max(row.most, other);
        }
        if (question_.memory > 0) {
            TM_ASSIGN(row.fits_perhaps, largest(candidate.policy, UnknownSizes::as_recorded));
            TM_ASSIGN(row.fits_surely, largest(candidate.policy, UnknownSizes::growing));
            row.fits_surely = std::min(row.fits_surely, row.fits_perhaps);
        }
        return row;
    }

  private:
    Result<TrialResult> replay(const PolicySpec& policy, const ScaleFactors& growth,
                               UnknownSizes unknown, bool on_card) {
        if (question_.stop && question_.stop())
            return fail(ErrorCode::cancelled, "interrupted");
        const GrownTrace grown(trace_, model_.requests, model_.laws, growth, unknown);
        TrialSetup setup{.policy = policy, .profile = &profile_, .simulated = true};
        setup.limit = 0;
        if (on_card) {
            setup.memory = question_.memory;
            setup.overhead = question_.overhead.value_or(0);
            setup.stop_at_refusal = true;
        }
        Result<TrialResult> found = run_trial(grown, setup);
        replayed_();
        return found;
    }

    Result<Bytes> peak(const PolicySpec& policy, const ScaleFactors& growth, UnknownSizes unknown) {
        TM_ASSIGN(const TrialResult found, replay(policy, growth, unknown, false));
        return found.device_peaks.empty() ? found.peak.reserved
                                          : *std::ranges::max_element(found.device_peaks);
    }

    Result<bool> survives(const PolicySpec& policy, double factor, UnknownSizes unknown) {
        ScaleFactors growth = question_.growth;
        (question_.along == Axis::batch ? growth.batch : growth.length) = factor;
        TM_ASSIGN(const TrialResult found, replay(policy, growth, unknown, true));
        return found.survived();
    }

    // The largest that survives, where all smaller ones do as far as was tried; 0: none.
    Result<double> largest(const PolicySpec& policy, UnknownSizes unknown) {
        double low = 0, high = 1;
        for (;;) {
            TM_ASSIGN(const bool alive, survives(policy, high, unknown));
            if (!alive)
                break;
            low = high;
            if (high >= kLargestGrowth)
                return high;
            high *= 2;
        }
        if (low == 0)
            low = kFinest;
        while (high - low > kFinest * low) {
            const double middle = (low + high) / 2;
            TM_ASSIGN(const bool alive, survives(policy, middle, unknown));
            (alive ? low : high) = middle;
        }
        return low > kFinest ? low : 0;
    }

    const Trace& trace_;
    const ScaleModel& model_;
    const ScaleQuestion& question_;
    const CostProfile& profile_;
    std::function<void()> replayed_;
};

Result<void> check(const ScaleModel& model, const ScaleQuestion& question) {
    for (const double factor : {question.growth.batch, question.growth.length})
        if (!(factor > 0 && factor <= kLargestGrowth))
            return fail(ErrorCode::bad_option,
                        fmt::format("{:g} is not above 0 and at most {:g}", factor, kLargestGrowth),
                        "a growth");
    const bool by_length =
        question.growth.length != 1 || (question.memory > 0 && question.along == Axis::length);
    if (by_length && !model.laws.has_length)
        return fail(ErrorCode::bad_option, "the recording does not tell length from batch",
                    "--length",
                    "its steps differ in one way: grow that with --tokens, or record steps that "
                    "differ in both");
    return {};
}

std::vector<std::string> policies_of(const Trace& trace, const ScaleQuestion& question) {
    if (!question.policies.empty() || !trace.info().from_torch())
        return question.policies;
    return {"torch:expandable_segments=true", "extent"};
}

}  // namespace

Result<ScaleModel> find_scale(const Trace& trace) {
    ScaleModel model;
    TM_ASSIGN(model.requests, read_step_requests(trace));
    TM_ASSIGN(model.laws, find_size_laws(model.requests));
    return model;
}

Result<ScaleReport> scale(const Trace& trace, const ScaleModel& model,
                          const ScaleQuestion& question) {
    TM_TRY(check(model, question));
    ScaleReport report{.question = question, .rows = {}, .notes = {}};
    if (question.memory > 0 && !question.overhead)
        report.question.overhead = card_overhead(trace, question.memory);
    TM_ASSIGN(const CostProfile profile, load_profile(question.profile));
    TM_ASSIGN(const std::vector<Candidate> chosen,
              beside_recorded(trace.info(), policies_of(trace, question), report.notes));
    std::mutex guard;
    std::size_t done = 0;
    const std::size_t total = chosen.size() * (question.memory > 0 ? kReplaysOfCard : kReplays);
    const auto replayed = [&] {
        const std::scoped_lock lock(guard);
        if (question.progress)
            question.progress(std::min(++done, total), total);
    };
    std::vector<std::optional<Result<ScaleRow>>> rows(chosen.size());
    parallel_for(chosen.size(), question.threads, [&](std::size_t i, unsigned) {
        rows[i] = ScaleSearch(trace, model, report.question, profile, replayed).run(chosen[i]);
        return rows[i]->has_value();
    });
    for (auto& row : rows) {
        if (!row)
            continue;
        TM_ASSIGN(ScaleRow found, std::move(*row));
        report.rows.push_back(std::move(found));
    }
    report.question.progress = {};
    report.question.stop = {};
    return report;
}

}  // namespace tidemark
