// Peaks, their median, and the sentence about them.
#include "viz/model/ranks/rank_table.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/timeline/first_above.h"

namespace tidemark::viz {
namespace {

constexpr Bytes kSegment = 2 << 20;  // what PyTorch requests from a device, at least
constexpr Bytes kThresholdParts = 50;

Bytes reserved_of(const RankFigures& row) {
    return row.peak[Series::reserved];
}

std::string time_text(const ViewedRun& run, EventIndex event) {
    return format_duration(run.history->time(event));
}

// "Rank 5 was", "Ranks 2 and 5 were", "12 ranks were".
std::string ranks_were(const std::vector<const RankFigures*>& ranks) {
    constexpr std::size_t kMostNamed = 2;
    if (ranks.size() > kMostNamed)
        return fmt::format("{} ranks were", ranks.size());
    return ranks.size() == 1
               ? fmt::format("Rank {} was", ranks[0]->number)
               : fmt::format("Ranks {} and {} were", ranks[0]->number, ranks[1]->number);
}

// Who was out of memory, and when first.
std::string refusals_text(const Session& session, const std::vector<RankFigures>& rows) {
    std::vector<const RankFigures*> refused;
    for (const RankFigures& row : rows)
        if (row.refusals > 0)
            refused.push_back(&row);
    if (refused.empty())
        return {};
    const auto time = [&session](const RankFigures* row) {
        return session.runs[row->run].history->time(row->refused_at);
    };
    const RankFigures* const first = *std::ranges::min_element(refused, {}, time);
    return fmt::format(" {} out of memory{} at {}.", ranks_were(refused),
                       refused.size() == 1 && first->refusals == 1 ? "" : ", first",
                       time_text(session.runs[first->run], first->refused_at));
}

// What is missing so far, or failed to load.
std::string missing_text(const Session& session, const std::vector<RankFigures>& rows) {
    std::vector<const RankFigures*> failed;
    std::size_t loading = 0;
    for (const RankFigures& row : rows) {
        const LoadState::Phase phase = session.runs[row.run].state.phase;
        if (phase == LoadState::Phase::failed)
            failed.push_back(&row);
        else if (phase != LoadState::Phase::ready)
            ++loading;
    }
    std::string text;
    if (!failed.empty())
        text += fmt::format(" {} not loaded.", ranks_were(failed));
    if (loading > 0)
        text += fmt::format(" {} of {} are being loaded.", loading, rows.size());
    return text;
}

}  // namespace

Bytes rank_threshold(Bytes median_peak) {
    return std::max(median_peak / kThresholdParts, kSegment);
}

bool RankTable::find(const Session& session, const Selection& selection) {
    const ViewedRun* const shown = session.shown(selection.run);
    if (shown == nullptr)
        return false;
    const bool is_known = std::ranges::any_of(
        rows_, [&](const RankFigures& row) { return row.run == selection.run; });
    if (is_known && path_ == shown->path && policy_ == shown->policy &&
        runs_ == session.runs.size())
        return false;
    path_ = shown->path;
    policy_ = shown->policy;
    runs_ = session.runs.size();
    rows_.clear();
    seen_.clear();
    for (NamedRank& rank : find_ranks(session, selection)) {
        RankFigures row;
        row.run = rank.run;
        row.number = std::move(rank.number);
        rows_.push_back(std::move(row));
    }
    seen_.resize(rows_.size());
    return true;
}

bool RankTable::take_in(const ViewedRun& run, RankFigures& row, Seen& seen) const {
    const HistoryCounts counts = run.history ? run.history->counts() : HistoryCounts{};
    const bool same_history = seen.history == run.history;
    if (same_history && seen.events == counts.events && seen.marks == counts.marks &&
        seen.phase == run.state.phase)
        return false;
    if (!same_history) {
        row.refusals = 0;
        row.refused_at = kNever;
        seen.marks = 0;
    }
    EventIndex last = kNever;  // refusals in the recording and in the replay are one
    for (; seen.marks < counts.marks; ++seen.marks) {
        const Mark mark = run.history->mark(seen.marks);
        if ((mark.kind != MarkKind::out_of_memory &&
             mark.kind != MarkKind::recorded_out_of_memory) ||
            mark.event == last)
            continue;
        last = mark.event;
        ++row.refusals;
        row.refused_at = std::min(row.refused_at, mark.event);
    }
    row.is_known = counts.events > 0;
    if (row.is_known) {
        row.peak_event = run.peak.of(run.history);
        row.peak = run.history->values(row.peak_event);
    }
    seen.history = run.history;
    seen.events = counts.events;
    seen.phase = run.state.phase;
    return true;
}

bool RankTable::look(const Session& session, const Selection& selection) {
    bool is_new = find(session, selection);
    for (std::size_t i = 0; i < rows_.size(); ++i)
        is_new = take_in(session.runs[rows_[i].run], rows_[i], seen_[i]) || is_new;
    if (is_new)
        conclude(session);
    return !rows_.empty();
}

Bytes RankTable::largest_peak() const {
    return largest_ ? reserved_of(rows_[*largest_]) : 0;
}

Bytes RankTable::median_peak() const {
    return median_ ? reserved_of(rows_[*median_]) : 0;
}

void RankTable::conclude(const Session& session) {
    std::vector<std::size_t> known;
    capacity_ = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (!rows_[i].is_known)
            continue;
        known.push_back(i);
        capacity_ = std::max(capacity_, session.runs[rows_[i].run].history->capacity());
    }
    known_ = known.size();
    median_.reset();
    largest_.reset();
    headline_ = "The ranks are being loaded.";
    if (known.empty())
        return;
    const auto peak = [this](std::size_t row) { return reserved_of(rows_[row]); };
    std::ranges::stable_sort(known, {}, peak);
    median_ = known[(known.size() - 1) / 2];
    largest_ = *std::ranges::lower_bound(known, peak(known.back()), {}, peak);
    const Bytes middle = median_peak();
    for (RankFigures& row : rows_)
        row.over_median = row.is_known ? static_cast<std::int64_t>(reserved_of(row)) -
                                             static_cast<std::int64_t>(middle)
                                       : 0;
    const RankFigures& most = rows_[*largest_];
    const ViewedRun& run = session.runs[most.run];
    const Bytes more = largest_peak() - middle;
    if (known.size() == 1)
        headline_ = fmt::format("Rank {} reserves {}.", most.number, format_bytes(largest_peak()));
    else if (more <= rank_threshold(middle))
        headline_ = fmt::format(
            "All ranks reserve about the same: at most {} (rank {}), at least {}.",
            format_bytes(largest_peak()), most.number, format_bytes(peak(known.front())));
    else
        headline_ =
            fmt::format("Rank {} reserves {}, {} more than {}, which it passes at {}.", most.number,
                        format_bytes(largest_peak()), format_bytes(more),
                        known.size() == 2 ? "rank " + rows_[*median_].number : "the median",
                        time_text(run, first_above(*run.history, Series::reserved, middle)));
    headline_ += refusals_text(session, rows_) + missing_text(session, rows_);
}

}  // namespace tidemark::viz
