// The pass from the state at the dump back to the first entry.
#include "traces/readers/torch_history.h"

#include <algorithm>
#include <iterator>

namespace tidemark::torch {
namespace {

constexpr std::uint64_t kSmallSegment = std::uint64_t{2} << 20U;
constexpr std::uint64_t kLargePage = std::uint64_t{20} << 20U;

// True if two pieces of mapped memory that touch are parts of one reservation, as far as is known.
bool belong_together(const Run& a, const Run& b) {
    return a.expandable && b.expandable && a.stream == b.stream &&
           (!a.pool_known || !b.pool_known || a.pool == b.pool) &&
           (!a.kind_known || !b.kind_known || a.small == b.small);
}

class BackwardWalk {
  public:
    BackwardWalk(Records& records, const Contents& contents, std::size_t device, bool cut_off)
        : records_(records), contents_(contents), device_(device), cut_off_(cut_off) {
        history_.entries = contents.traces[device];
    }

    History run() {
        start();
        for (std::size_t i = history_.entries.size(); i-- > 0;)
            i = undo(i);
        if (live_.size() != 0)
            collect_early_blocks();
        drop_needless_guesses();
        return std::move(history_);
    }

  private:
    // The state at the dump.
    void start() {
        for (const FinalSegment& segment : contents_.segments) {
            const Segment& record = segment.record;
            if (record.device != device_)
                continue;
            pools_matter_ = pools_matter_ || record.pool != 0;
            add_run(record.address, {record.size, record.stream, record.pool, record.expandable,
                                     record.small, true, true, cut_off_});
            for (std::size_t i = 0; i < segment.block_count && !cut_off_; ++i) {
                const std::size_t index = segment.first_block + i;
                const Block& block = contents_.blocks[index];
                if (block.state != BlockState::inactive && live_.find(block.address) == kNoSlot)
                    live_.insert(block.address, kFinalLink | static_cast<std::uint32_t>(index));
            }
        }
    }

    // Undoes entry i, or the pair of which it is the second; returns the index of what was undone.
    std::size_t undo(std::size_t i) {
        Entry& entry = history_.entries[i];
        if (!is_whole(entry)) {
            ++history_.malformed;
            history_.first_malformed = i;
            return i;
        }
        switch (entry.action()) {
            case Action::free_completed:
                history_.completes_frees = true;
                if (i > 0 && is_free_pair(history_.entries, i - 1))
                    --i;
                undo_free(i);
                break;
            case Action::free_requested:
                if (const std::uint32_t end = live_.find(entry.address); awaits_request(end)) {
                    if ((end & kFinalLink) != 0)
                        entry.set(Entry::kWaits);
                    live_.erase(entry.address);
                }
                undo_free(i);
                break;
            case Action::free:
                undo_free(i);
                break;
            case Action::alloc:
                undo_alloc(entry);
                break;
            case Action::segment_alloc:
            case Action::segment_map:
                undo_growth(entry);
                break;
            case Action::segment_free:
            case Action::segment_unmap:
                undo_release(entry);
                refusals_.clear();
                break;
            case Action::oom:
                refusals_.push_back(i);
                break;
            default:
                break;
        }
        return i;
    }

    // True if a later entry frees the block whose lifetime `link` ends.
    bool awaits_request(std::uint32_t link) const {
        if (link == kNoSlot)
            return false;
        if ((link & kFinalLink) != 0)
            return contents_.blocks[link & ~kFinalLink].state == BlockState::pending;
        return history_.entries[link].action() == Action::free_completed;
    }

    void undo_free(std::size_t i) {
        const std::uint64_t address = history_.entries[i].address;
        if (live_.find(address) != kNoSlot) [[unlikely]] {
            // The block here later was never allocated in between.
            const std::uint32_t later = live_.erase(address);
            if ((later & kFinalLink) != 0)
                ++history_.unallocated;
            else
                history_.entries[later].set(Entry::kTwice);
        }
        live_.insert(address, static_cast<std::uint32_t>(i));
    }

    void undo_alloc(Entry& entry) {
        entry.link = live_.erase(entry.address);
        if (entry.link < kFinalLink)
            history_.entries[entry.link].set(Entry::kOwned);
        if (!pools_matter_)
            return;
        const auto run = run_at(history_.early_runs, entry.address);
        if (records_.contexts[entry.context].has_pool == 0 && run != history_.early_runs.end())
            set_pool(entry, run->second.pool);
        settle_refusals(entry);
    }

    // A failed request has no address that would show its pool. It was for the pool of the
    // preceding allocation if nothing was released in between: for a private pool nothing is
    // released, for another everything that can be.
    void settle_refusals(const Entry& allocation) {
        const Context& made = records_.contexts[allocation.context];
        for (const std::size_t refusal : refusals_) {
            Entry& refused = history_.entries[refusal];
            if (made.pool != 0 && records_.contexts[refused.context].stream == made.stream)
                set_pool(refused, made.pool);
        }
        refusals_.clear();
    }

    void set_pool(Entry& entry, std::uint32_t pool) {
        const Context& context = records_.contexts[entry.context];
        if (context.has_pool == 0 && context.pool != pool)
            entry.context = records_.with_pool(entry.context, pool);
    }

    // segment_alloc, segment_map: the range did not exist before.
    void undo_growth(Entry& entry) {
        Runs& runs = history_.early_runs;
        const auto found = run_at(runs, entry.address);
        const bool whole = entry.action() == Action::segment_alloc;
        if (found == runs.end() || found->second.expandable == whole) {
            history_.misfits += cut_off_ ? 0U : 1U;
            return;
        }
        const std::uint64_t begin = found->first;
        const Run run = found->second;
        const std::uint64_t before = entry.address - begin;
        if (entry.size > run.size - before || (whole && (before != 0 || entry.size != run.size))) {
            history_.misfits += cut_off_ ? 0U : 1U;
            return;
        }
        set_pool(entry, run.pool);
        runs.erase(found);
        Run rest = run;
        rest.size = before;
        if (rest.size != 0)
            runs.emplace(begin, rest);
        rest.size = run.size - before - entry.size;
        if (rest.size != 0)
            runs.emplace(entry.address + entry.size, rest);
    }

    // segment_free, segment_unmap: the range existed before. Its pool is known if it touches a
    // known range (one reservation) or if the entry names it.
    void undo_release(Entry& entry) {
        const Context& context = records_.contexts[entry.context];
        const bool unmapped = entry.action() == Action::segment_unmap;
        Run run{entry.size, context.stream, context.pool, unmapped};
        run.small = unmapped ? entry.size % kLargePage != 0 : entry.size == kSmallSegment;
        run.pool_known = context.has_pool != 0;
        run.kind_known = !unmapped;
        pools_matter_ = pools_matter_ || run.pool != 0;
        if (!add_run(entry.address, run))
            ++history_.misfits;
        else if (run.expandable)
            set_pool(entry, run_at(history_.early_runs, entry.address)->second.pool);
    }

    // False if the range overlaps another that is certain.
    bool add_run(std::uint64_t address, Run run) {
        Runs& runs = history_.early_runs;
        if (run.size == 0 || address + run.size < address)
            return false;
        auto next = runs.lower_bound(address);
        while (next != runs.end() && next->first < address + run.size) {
            if (!next->second.guessed)
                return false;
            next = runs.erase(next);
        }
        if (next != runs.begin()) {
            const auto previous = std::prev(next);
            if (previous->first + previous->second.size > address) {
                if (!previous->second.guessed)
                    return false;
                runs.erase(previous);
            }
        }
        runs.emplace(address, run);
        if (run.expandable)
            coalesce(runs.find(address));
        return true;
    }

    // Mapped pieces of one reservation that touch are one run.
    void coalesce(Runs::iterator run) {
        if (run != history_.early_runs.begin() && join_next(std::prev(run)))
            return;  // which joined the one behind `run` too
        join_next(run);
    }

    bool join_next(Runs::iterator lower) {
        Runs& runs = history_.early_runs;
        bool joined = false;
        for (auto upper = std::next(lower); upper != runs.end(); upper = runs.erase(upper)) {
            Run& a = lower->second;
            const Run& b = upper->second;
            if (lower->first + a.size != upper->first || !belong_together(a, b))
                break;
            if (b.pool_known)
                a.pool = b.pool;
            if (b.kind_known)
                a.small = b.small;
            a.pool_known = a.pool_known || b.pool_known;
            a.kind_known = a.kind_known || b.kind_known;
            a.guessed = a.guessed && b.guessed;
            a.size += b.size;
            joined = true;
        }
        return joined;
    }

    // Blocks that are never allocated in the trace: frees that are left over.
    void collect_early_blocks() {
        std::vector<EarlyBlock>& early = history_.early_blocks;
        for (const FinalSegment& segment : contents_.segments) {
            for (std::size_t i = 0; i < segment.block_count; ++i)
                collect_final(segment.record, segment.first_block + i);
        }
        for (std::size_t i = 0; i < history_.entries.size() && early.size() < live_.size(); ++i) {
            const Entry& entry = history_.entries[i];
            if (live_.find(entry.address) != i || !is_whole(entry))
                continue;
            const Context& context = records_.contexts[entry.context];
            early.push_back({entry.address, entry.size, 0, context.stream, kNone,
                             static_cast<std::uint32_t>(i),
                             entry.action() == Action::free_completed});
        }
        std::sort(early.begin(), early.end(),
                  [](const EarlyBlock& a, const EarlyBlock& b) { return a.address < b.address; });
    }

    void collect_final(const Segment& segment, std::size_t index) {
        const Block& block = contents_.blocks[index];
        const std::uint32_t link = kFinalLink | static_cast<std::uint32_t>(index);
        if (segment.device == device_ && live_.find(block.address) == link)
            history_.early_blocks.push_back({block.address, block.requested, block.size,
                                             segment.stream, block.frames, link,
                                             block.state == BlockState::pending});
    }

    // For a trace without an end: runs of the dump that no early block needs may be younger than
    // the trace.
    void drop_needless_guesses() {
        Runs& runs = history_.early_runs;
        auto early = history_.early_blocks.begin();
        for (auto run = runs.begin(); run != runs.end();) {
            while (early != history_.early_blocks.end() && early->address < run->first)
                ++early;
            const bool needed = early != history_.early_blocks.end() &&
                                early->address - run->first < run->second.size;
            run = run->second.guessed && !needed ? runs.erase(run) : std::next(run);
        }
    }

    Records& records_;
    const Contents& contents_;
    std::size_t device_;
    bool cut_off_;
    bool pools_matter_ = false;
    std::vector<std::size_t> refusals_;  // of the walk so far, behind the next allocation
    History history_;
    HashIndex live_;
};

}  // namespace

Runs::const_iterator run_at(const Runs& runs, std::uint64_t address) {
    auto next = runs.upper_bound(address);
    if (next == runs.begin())
        return runs.end();
    --next;
    return address - next->first < next->second.size ? next : runs.end();
}

bool is_whole(const Entry& entry) {
    switch (entry.action()) {
        case Action::missing:
            return false;
        case Action::unknown:
        case Action::mark:
        case Action::snapshot:
            return true;
        case Action::oom:
            return entry.has(Entry::kHasSize);
        default:
            return entry.has(Entry::kHasAddress | Entry::kHasSize);
    }
}

History walk_back(Records& records, const Contents& contents, std::size_t device, bool cut_off) {
    return BackwardWalk(records, contents, device, cut_off).run();
}

}  // namespace tidemark::torch
