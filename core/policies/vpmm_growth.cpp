// vpmm: making room for a request that no free region fits. First a plan, which changes nothing;
// then the device's calls, undone if one fails; then the bookkeeping.
#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/policies/vpmm_allocator.h"

namespace tidemark::policies {

// Waiting for other streams is what the original does. `grow` never waits while there is memory,
// and takes new pages rather than moving any; `cost` weighs both (see is_eligible).
Vpmm::Effort Vpmm::first_effort(Bytes size) const {
    const bool beyond = settings_.soft_limit != 0 && usage_.reserved + size > settings_.soft_limit;
    if (beyond || settings_.growth == VpmmSettings::Growth::wait)
        return Effort::all;
    return settings_.growth == VpmmSettings::Growth::grow ? Effort::pages : Effort::cost;
}

// The prices behind `cost`, per page and on an H200: a new page costs 25 us (create, map, access)
// and later 19 us to release (unmap, release); a moved one 31 us (map, access, unmap). So moving is
// cheaper, except where it has to wait: a wait may be long, and only a large region makes up for
// it.
bool Vpmm::is_eligible(const Block& region, Owner owner, Effort effort) const {
    if (effort != Effort::cost)
        return effort == Effort::all;
    return region.list == owner || VpmmRegions::is_done(region) ||
           region.size >= settings_.worth_waiting;
}

Vpmm::Plan Vpmm::plan(Owner owner, Bytes size, Effort effort) const {
    const bool by_document = settings_.harvest == VpmmSettings::Harvest::document;
    Plan plan;
    plan.hole = regions_.find_hole(size);
    if (plan.hole == kNoBlock && by_document)
        plan.hole = regions_.find_hole_behind(owner, size);
    const BlockId before = plan.hole == kNoBlock ? kNoBlock : regions_[plan.hole].prev;
    if (regions_.is_usable(before, owner) && regions_[before].size < size &&
        (by_document || regions_[before].list == owner))
        plan.kept = before;
    const Bytes kept = plan.kept == kNoBlock ? 0 : regions_[plan.kept].size;
    if (by_document) {
        plan_moves(plan, owner, size - kept, effort);
        plan.fresh = size - kept > plan.moved ? size - kept - plan.moved : 0;
        return plan;
    }
    Bytes usable = kept;
    for (const BlockId id : regions_.by_age(owner, plan.kept))
        usable += is_eligible(regions_[id], owner, effort) ? regions_[id].size : 0;
    plan.fresh = size > usable ? size - usable : 0;
    if (plan.fresh == 0)
        plan.kept = kNoBlock;  // the original only grows it by new pages
    const Bytes stays = plan.kept == kNoBlock ? 0 : kept;
    plan_moves(plan, owner, size - plan.fresh - stays, effort);
    return plan;
}

// Regions that together have what is missing, as far as possible. According to the document the
// stream's own are moved whole if there is room, so that no scraps remain.
void Vpmm::plan_moves(Plan& plan, Owner owner, Bytes missing, Effort effort) const {
    if (effort == Effort::pages || missing == 0)
        return;
    const Bytes room =
        plan.hole == kNoBlock ? std::max(settings_.va_size, missing) : regions_[plan.hole].size;
    const bool by_document = settings_.harvest == VpmmSettings::Harvest::document;
    for (const BlockId id : regions_.by_age(owner, plan.kept)) {
        if (plan.moved >= missing)
            return;
        const Block& region = regions_[id];
        if (!is_eligible(region, owner, effort))
            continue;
        const bool whole = by_document && region.list == owner;
        const Bytes most = (whole ? room : missing) - plan.moved;
        const Bytes size = std::min(region.size, most);
        plan.moves.push_back({id, size});
        plan.moved += size;
    }
}

bool Vpmm::can_hold(Bytes fresh, Owner owner) {
    if (fresh == 0)
        return true;
    if (exceeds_limit(fresh)) {
        refusal_ = {OutOfMemory::Cause::limit};
        return false;
    }
    if (fresh <= device_->memory().free)
        return true;
    // No need to create pages until they don't fit. But a lost device has no memory either, and
    // reports that only when memory is requested.
    refusal_ = {OutOfMemory::Cause::device_full};
    const DeviceResult<EventId> event = device_->record(regions_.stream_of(owner));
    return event ? false : refused(event.error());
}

bool Vpmm::refused(const DeviceError& error) {
    refusal_ = refused_by(error);
    return false;
}

bool Vpmm::reserve_hole(Plan& plan, Bytes size) {
    if (plan.hole != kNoBlock)
        return true;
    const DeviceResult<std::uint32_t> root =
        table_.reserve(*device_, std::max(settings_.va_size, size));
    if (!root)
        return refused(root.error());
    regions_.add_root(table_.root(*root));
    plan.hole = regions_.find_hole(size);
    return true;
}

// Orders the owner's stream behind the work that may still use what it is about to get: one wait
// per stream, for its youngest region.
bool Vpmm::wait_for_moves(const Plan& plan, Owner owner) {
    std::vector<BlockId> youngest;  // of each stream
    for (const Move& move : plan.moves) {
        const Block& region = regions_[move.region];
        if (region.list == owner || VpmmRegions::is_done(region))
            continue;
        const auto same = std::find_if(youngest.begin(), youngest.end(), [&](BlockId id) {
            return regions_[id].list == region.list;
        });
        if (same != youngest.end())
            *same = move.region;
        else
            youngest.push_back(move.region);
    }
    for (const BlockId id : youngest) {
        const DeviceResult<EventId> event = regions_.event_of(id, *device_);
        if (!event)
            return refused(event.error());
        const auto waited = device_->wait(regions_.stream_of(owner), *event);
        if (!waited)
            return refused(waited.error());
    }
    return true;
}

Vpmm::PageRange Vpmm::pages_of(BlockId id, Bytes offset, Bytes size) const {
    return {regions_[id].reservation, {regions_[id].address + offset, size}};
}

// Maps memory behind the start of the hole. In the document moved pages come first, in the original
// new pages. The new pages are created first in either case: creating them is what can fail.
bool Vpmm::map_pages(const Plan& plan) {
    const bool by_document = settings_.harvest == VpmmSettings::Harvest::document;
    const PageRange fresh = pages_of(plan.hole, by_document ? plan.moved : 0, plan.fresh);
    const PageRange moved = pages_of(plan.hole, by_document ? 0 : plan.fresh, plan.moved);
    DeviceResult<void> done;
    if (plan.fresh != 0)
        done = table_.populate(*device_, fresh);
    if (done && plan.moved != 0) {
        std::vector<PageRange> sources;
        for (const Move& move : plan.moves)
            sources.push_back(pages_of(move.region, 0, move.size));
        done = table_.alias(*device_, moved, sources);
        if (!done && plan.fresh != 0)
            static_cast<void>(table_.vacate(*device_, fresh));
    }
    if (!done) {
        regions_.take_hole(plan.hole, plan.fresh + plan.moved);
        retire_hole(plan.hole);
        return refused(done.error());
    }
    stats_.maps += (plan.fresh != 0 ? 1U : 0U) + (plan.moved != 0 ? 1U : 0U);
    return true;
}

// Removes from our block the addresses without a page. What the device refused to undo in it waits
// for another attempt.
void Vpmm::retire_hole(BlockId id) {
    using State = PageTable::State;
    for (BlockId rest = id; rest != kNoBlock; id = rest) {
        const Block block = regions_[id];
        const State state = table_.state(block.reservation, block.address);
        Bytes run = settings_.page;
        while (run < block.size && table_.state(block.reservation, block.address + run) == state)
            run += settings_.page;
        rest = run < block.size ? regions_.cut(id, run) : kNoBlock;
        if (state == State::empty) {
            regions_.make_hole(id);
        } else if (state == State::shared) {
            regions_.set_waiting(id, VpmmRegions::zombie);
        } else {
            regions_.set_waiting(id, VpmmRegions::stuck);
            stuck_.push_back(id);
        }
    }
}

// The device has carried out the plan.
BlockId Vpmm::commit(const Plan& plan, Owner owner) {
    for (const Move& move : plan.moves)
        regions_.make_zombie(move.region, move.size);
    regions_.take_hole(plan.hole, plan.fresh + plan.moved);
    if (plan.kept != kNoBlock && regions_[plan.kept].list != owner)
        regions_.hand_over(plan.kept, owner);
    return regions_.free(plan.hole, owner, plan.moves.empty(), *device_);
}

// A free region of at least `size`; or kNoBlock, with the reason in refusal_ and everything as
// before.
BlockId Vpmm::make_room(Owner owner, Bytes size, Effort effort) {
    Plan plan = this->plan(owner, size, effort);
    bool done = can_hold(plan.fresh, owner) && reserve_hole(plan, size);
    TM_CHECK(!done || plan.fresh + plan.moved <= regions_[plan.hole].size);
    done = done && wait_for_moves(plan, owner) && map_pages(plan);
    count_held();
    if (!done)
        return kNoBlock;
    const BlockId id = commit(plan, owner);
    TM_CHECK(regions_[id].size >= size);
    return id;
}

}  // namespace tidemark::policies
