// Rewrites the few batches that facts are about; all others pass as they are.
#include "replay/record/infer_missing_events.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <xxhash.h>

#include "core/base/text.h"
#include "replay/record/explained_record.h"
#include "replay/record/recorded_policy.h"

namespace tidemark {
namespace {

// What becomes of one event.
struct Change {
    std::uint64_t event = 0;
    EventKind kind = EventKind::trim;  // trim: instead of what was there; allocate: only the pool
    std::uint32_t pool = 0;
    std::uint8_t flags = 0;
};

class InferredCursor final : public TraceCursor {
  public:
    InferredCursor(std::unique_ptr<TraceCursor> inner, const std::vector<Change>& changes)
        : inner_(std::move(inner)), changes_(changes) {}

    Result<EventBatch> next() override {
        TM_ASSIGN(EventBatch batch, inner_->next());
        const std::uint64_t end = first_ + batch.count;
        if (next_ == changes_.size() || changes_[next_].event >= end) {
            first_ = end;
            return batch;
        }
        kind_.assign(batch.kind, batch.kind + batch.count);
        aux_.assign(batch.aux, batch.aux + batch.count);
        flags_.assign(batch.flags, batch.flags + batch.count);
        for (; next_ < changes_.size() && changes_[next_].event < end; ++next_) {
            const Change& change = changes_[next_];
            const std::size_t i = change.event - first_;
            aux_[i] = change.pool;
            if (change.kind == EventKind::trim) {
                kind_[i] = EventKind::trim;
                flags_[i] = change.flags;
            }
        }
        batch.kind = kind_.data();
        batch.aux = aux_.data();
        batch.flags = flags_.data();
        first_ = end;
        return batch;
    }

  private:
    std::unique_ptr<TraceCursor> inner_;
    const std::vector<Change>& changes_;
    std::size_t next_ = 0;
    std::uint64_t first_ = 0;  // index of the next batch's first event
    std::vector<EventKind> kind_;
    std::vector<std::uint32_t> aux_;
    std::vector<std::uint8_t> flags_;
};

// The recording's hash if nothing was inserted.
std::uint64_t hash_with(std::uint64_t recorded, const std::vector<Change>& changes) {
    std::uint64_t hash = recorded;
    for (const Change& change : changes) {
        const std::array<std::uint64_t, 4> fields = {
            change.event, static_cast<std::uint64_t>(change.kind), change.pool, change.flags};
        hash = XXH3_64bits_withSeed(fields.data(), sizeof(fields), hash);
    }
    return hash;
}

class InferredTrace final : public Trace {
  public:
    // Without a run: nothing is known of it.
    InferredTrace(std::unique_ptr<Trace> trace, TraceInfo info, std::vector<Change> changes,
                  std::optional<ExplainedRecord> run)
        : trace_(std::move(trace)),
          info_(std::move(info)),
          changes_(std::move(changes)),
          run_(std::move(run)),
          hash_(hash_with(trace_->hash(), changes_)) {
        if (run_)
            run_->record = trace_.get();
    }

    const TraceInfo& info() const override { return info_; }

    std::unique_ptr<TraceCursor> cursor() const override {
        return std::make_unique<InferredCursor>(trace_->cursor(), changes_);
    }

    std::uint64_t hash() const override { return hash_; }

    std::uint64_t recorded_hash() const override { return trace_->recorded_hash(); }

    std::uint64_t file_hash() const override { return trace_->file_hash(); }

    const ExplainedRecord* run() const { return run_ ? &*run_ : nullptr; }

  private:
    std::unique_ptr<Trace> trace_;
    TraceInfo info_;
    std::vector<Change> changes_;
    std::optional<ExplainedRecord> run_;
    std::uint64_t hash_;
};

// The facts as changes: each fact about a release replaces an entry of it, and one entry may be
// both the first of a pool and the last of emptied caches.
std::vector<Change> changes_of(const VerifyReport& report) {
    std::map<std::uint64_t, Change> releases;  // by event
    for (const InferredFact& fact : report.facts) {
        const bool ends = fact.kind == InferredFact::Kind::ended_pool;
        if (!ends && fact.kind != InferredFact::Kind::emptied_caches)
            continue;
        Change& change =
            releases.try_emplace(fact.event, Change{fact.event, EventKind::trim, 0, kTrimsNothing})
                .first->second;
        if (!ends) {
            change.flags &= static_cast<std::uint8_t>(~kTrimsNothing);
            continue;
        }
        change.pool = to_integer(fact.pool);
        change.flags |= static_cast<std::uint8_t>(fact.count != 0 ? kEndsPool : 0);
    }
    std::vector<Change> changes;
    for (const auto& [event, change] : releases)
        changes.push_back(change);
    for (const PoolChange& change : report.pools)
        changes.push_back({change.event, EventKind::allocate, to_integer(change.pool), 0});
    std::stable_sort(changes.begin(), changes.end(),
                     [](const Change& a, const Change& b) { return a.event < b.event; });
    return changes;
}

TraceInfo with_inferred(TraceInfo info, const VerifyReport& report) {
    bool switches = false;
    for (const InferredFact& fact : report.facts) {
        switches = switches || fact.kind == InferredFact::Kind::switched_segments;
        while (to_integer(fact.pool) >= info.pools.size() && to_integer(fact.pool) < 1U << 20U)
            info.pools.push_back(fmt::format("inferred {}", info.pools.size()));
    }
    if (switches)
        info.warnings.emplace_back(
            "the recorded program switched expandable_segments while it ran; replays do not switch "
            "it");
    return info;
}

}  // namespace

Result<std::unique_ptr<Trace>> infer_missing_events(
    std::unique_ptr<Trace> trace, const std::function<void(std::uint64_t)>& progress) {
    const Result<RecordedPolicy> recorded = recorded_policy(trace->info());
    if (!recorded)
        return trace;
    const Result<PolicySpec> policy = parse_policy(recorded->text);
    if (!policy)
        return trace;
    VerifyOptions options;
    options.progress = progress;
    ExplainedRecord run;
    Result<VerifyReport> report = verify(*trace, *policy, options, &run);
    if (!report && report.error().code == ErrorCode::unsupported)
        return trace;
    if (!report)
        return tl::make_unexpected(report.error());
    if (report->decisions == 0 && !trace->info().is_state())
        return trace;  // it says what was requested, not what became of it
    if (report->mismatches > report->decisions / 1000) {
        TraceInfo info = trace->info();
        info.warnings.push_back(fmt::format(
            "the model of {} differs from the recording in {} of {} decisions, so Tidemark "
            "inferred nothing that the recording leaves out (emptied caches, pools, limits); "
            "`tidemark verify` shows where",
            recorded->text, format_count(report->mismatches), format_count(report->decisions)));
        return std::make_unique<InferredTrace>(std::move(trace), std::move(info),
                                               std::vector<Change>{}, std::nullopt);
    }
    std::vector<Change> changes = changes_of(*report);
    TraceInfo info = with_inferred(trace->info(), *report);
    return std::make_unique<InferredTrace>(std::move(trace), std::move(info), std::move(changes),
                                           std::move(run));
}

const ExplainedRecord* explained_record(const Trace& trace) {
    const Trace* at = &trace;
    while (const Trace* const original = at->passes_on())
        at = original;
    const auto* const inferred = dynamic_cast<const InferredTrace*>(at);
    return inferred == nullptr ? nullptr : inferred->run();
}

}  // namespace tidemark
