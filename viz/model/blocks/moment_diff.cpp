// What is live at either moment, by owner.
#include "viz/model/blocks/moment_diff.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/timeline/owner_series.h"
#include "viz/model/blocks/owners.h"
#include "viz/model/blocks/site_index.h"

namespace tidemark::viz {
namespace {

void add(BlockSum& sum, Bytes bytes) {
    sum.bytes += bytes;
    ++sum.blocks;
}

class Differ {
  public:
    Differ(const History& history, const DiffQuestion& question, const Cancelled& cancelled)
        : history_(history),
          span_(question.span),
          cancelled_(cancelled),
          filter_(history, question.filter, cancelled),
          groups_(history, question.trait, cancelled),
          host_(host_device(history)) {}

    void take(BlockIndex index) {
        if (cancelled_)
            return;
        const Block block = history_.block(index);
        const bool before =
            span_.first != kNever && block.born <= span_.first && block.freed > span_.first;
        const bool after = block.born <= span_.last && block.freed > span_.last;
        if ((!before && !after) || history_.site(block.site).device == host_ ||
            !filter_.lets_through(block))
            return;
        const std::uint32_t group = groups_.of(block);
        if (group >= owners_.size())
            owners_.resize(group + 1);
        BlockSum OwnerDiff::*const part = before && after ? &OwnerDiff::stayed
                                          : after         ? &OwnerDiff::came
                                                          : &OwnerDiff::went;
        for (OwnerDiff* const diff : {&owners_[group], &all_})
            add(diff->*part, block.size);
        keep_largest(owners_[group], part, index, block.size);
    }

    MomentDiff answer() && {
        MomentDiff diff;
        for (std::uint32_t i = 0; i < owners_.size(); ++i)
            owners_[i].owner = groups_.group(i);
        diff.owners = std::move(owners_);
        diff.all = std::move(all_);
        return diff;
    }

  private:
    // Users look for what came first, then for what went.
    void keep_largest(OwnerDiff& diff, BlockSum OwnerDiff::*part, BlockIndex index, Bytes size) {
        const int rank = part == &OwnerDiff::came ? 2 : part == &OwnerDiff::went ? 1 : 0;
        ranks_.resize(owners_.size());
        Rank& best = ranks_[static_cast<std::size_t>(&diff - owners_.data())];
        if (diff.largest != kNoBlock &&
            (rank < best.rank || (rank == best.rank && size <= best.size)))
            return;
        best = {rank, size};
        diff.largest = index;
    }

    struct Rank {
        int rank = 0;
        Bytes size = 0;
    };

    const History& history_;
    EventSpan span_;
    const Cancelled& cancelled_;
    BlockFilter filter_;
    OwnerGroups groups_;
    std::optional<std::uint16_t> host_;
    std::vector<OwnerDiff> owners_;  // by group
    std::vector<Rank> ranks_;        // of their largest blocks
    OwnerDiff all_;
};

std::uint64_t weight(const OwnerDiff& owner, DiffOrder order) {
    switch (order) {
        case DiffOrder::came:
            return owner.came.bytes;
        case DiffOrder::went:
            return owner.went.bytes;
        case DiffOrder::stayed:
            return owner.stayed.bytes;
        case DiffOrder::change:
            break;
    }
    return static_cast<std::uint64_t>(std::abs(owner.change()));
}

}  // namespace

MomentDiff moment_diff(const History& history, const DiffQuestion& question,
                       const Cancelled& cancelled) {
    Differ differ(history, question, cancelled);
    const EventSpan& span = question.span;
    if (span.first != kNever)
        history.for_each_live(span.first, [&](BlockIndex block) { differ.take(block); });
    if (span.last != kNever)
        history.for_each_live(span.last, [&](BlockIndex block) {
            // Blocks that were live at both moments are known.
            if (span.first == kNever || history.block(block).born > span.first)
                differ.take(block);
        });
    if (cancelled)
        return {};
    MomentDiff diff = std::move(differ).answer();
    diff.question = question;
    // Owners without any change are in the order of their memory.
    sort_owners(diff, DiffOrder::stayed);
    sort_owners(diff, DiffOrder::came);
    sort_owners(diff, DiffOrder::change);
    return diff;
}

void sort_owners(MomentDiff& diff, DiffOrder order) {
    std::ranges::stable_sort(diff.owners, [order](const OwnerDiff& a, const OwnerDiff& b) {
        return weight(a, order) > weight(b, order);
    });
}

std::string diff_text(const History& history, const MomentDiff& diff) {
    const auto moment = [&history](EventIndex event) {
        return event == kNever ? std::string("before the first event")
                               : fmt::format("event {} ({})", format_count(event),
                                             format_duration(history.time(event)));
    };
    std::string text =
        fmt::format("from {} to {}\nowner\tcame\tblocks\twent\tblocks\tstayed\tblocks\n",
                    moment(diff.question.span.first), moment(diff.question.span.last));
    const auto line = [&text](const std::string& name, const OwnerDiff& owner) {
        text += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\n", name, owner.came.bytes,
                            owner.came.blocks, owner.went.bytes, owner.went.blocks,
                            owner.stayed.bytes, owner.stayed.blocks);
    };
    for (const OwnerDiff& owner : diff.owners)
        line(owner.owner.name, owner);
    line("all", diff.all);
    return text;
}

}  // namespace tidemark::viz
