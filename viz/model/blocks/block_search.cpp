// A pass over all blocks on a thread of its own, a bit for each.
#include "viz/model/blocks/block_search.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/shares.h"
#include "core/base/text.h"
#include "viz/model/blocks/site_index.h"

namespace tidemark::viz {
namespace {

// A text has nothing to be in.
bool nothing_said(const History& history) {
    if (history.stacks().size() > 1)
        return false;
    const std::size_t sites = history.counts().sites;
    for (std::uint32_t i = 0; i < sites; ++i)
        if (history.site(i).tag != 0)
            return false;
    return true;
}

}  // namespace

void BlockSearch::update(const std::shared_ptr<const History>& history, const Filter& filter) {
    if (job_.take())
        adopt();
    const bool same = history == history_ && filter == filter_;
    if (same && (hits_ == nullptr || job_.running() ||
                 !hits_->outgrown(history->counts().blocks, history->complete())))
        return;
    job_.cancel();
    next_hits_.reset();
    ++revision_;
    history_ = history;
    filter_ = filter;
    if (history == nullptr || !hides_something(filter)) {
        hits_.reset();
        return;
    }
    begin(same);
}

void BlockSearch::begin(bool grows) {
    const auto found = std::make_shared<RankedBits>(history_->counts().blocks);
    (grows ? next_hits_ : hits_) = found;
    job_.start([history = history_, filter = filter_, found](const Cancelled& cancelled) {
        const BlockFilter blocks(*history, filter, cancelled);
        for (std::size_t i = 0; i < found->size() && !cancelled;) {
            const std::size_t end = std::min(found->size(), i + RankedBits::kStride);
            for (; i < end; ++i)
                if (blocks.lets_through(history->block(static_cast<BlockIndex>(i))))
                    found->add(i);
            found->publish(end);
        }
        return true;
    });
}

void BlockSearch::adopt() {
    if (!next_hits_)
        return;
    hits_ = std::move(next_hits_);
    ++revision_;
}

void BlockSearch::finish() {
    if (job_.wait())
        adopt();
}

double BlockSearch::share() const {
    const RankedBits* const searched = next_hits_ ? next_hits_.get() : hits_.get();
    return searched == nullptr ? 1 : searched->share();
}

std::optional<Hit> BlockSearch::next(BlockIndex from, bool forward) const {
    const std::size_t count = hits_ ? hits_->count() : 0;
    if (count == 0)
        return std::nullopt;
    const std::size_t before = hits_->rank(from);
    const bool wraps = forward ? before >= count : before == 0;
    const std::size_t rank = forward ? (wraps ? 0 : before) : (wraps ? count : before) - 1;
    return Hit{static_cast<BlockIndex>(hits_->select(rank)), wraps};
}

std::vector<std::uint32_t> BlockSearch::ticks(AxisUnit unit, Position begin, Position end,
                                              std::size_t columns) const {
    std::vector<std::uint32_t> found(columns);
    if (hits_ == nullptr || columns == 0)
        return found;
    const auto rank_at = [&](std::size_t column) {
        const auto share = static_cast<long double>(column) / static_cast<long double>(columns);
        const auto at = static_cast<Position>(share * static_cast<long double>(end - begin));
        return hits_->rank(history_->born_before(history_->event_from(unit, begin + at)));
    };
    std::size_t before = rank_at(0);
    for (std::size_t column = 0; column < columns; ++column) {
        const std::size_t after = std::max(before, rank_at(column + 1));
        found[column] = static_cast<std::uint32_t>(after - before);
        before = after;
    }
    return found;
}

std::string BlockSearch::text(std::optional<BlockIndex> selected) const {
    if (hits_ == nullptr)
        return {};
    const std::size_t count = hits_->count();
    const bool is_partial = running() && !next_hits_;
    if (is_partial) {
        const std::string searching = fmt::format("searching {:.0f} %", std::floor(100 * share()));
        return count == 0 ? searching
                          : fmt::format("{} so far, {}", format_count(count), searching);
    }
    if (count == 0 && filter_.pool && history_)
        return fmt::format("no match: this run has {}",
                           history_->pools().size() <= 1
                               ? std::string("only pool 0")
                               : fmt::format("pools 0 to {}", history_->pools().size() - 1));
    if (count == 0 && !filter_.text.empty() && history_)
        return nothing_said(*history_) ? "no tags and no call stacks were recorded"
                                       : "no match in any tag or call stack";
    if (count == 0)
        return "no match";
    if (selected && hits_->contains(*selected))
        return fmt::format("hit {} of {}", format_count(hits_->rank(*selected) + 1),
                           format_count(count));
    return fmt::format("{} of {}, {}", format_count(count), format_counted(hits_->size(), "block"),
                       format_brief_share(count, hits_->size()));
}

}  // namespace tidemark::viz
