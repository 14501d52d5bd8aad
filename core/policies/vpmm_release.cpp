// vpmm: removing old mappings, waiting, and releasing memory to the device.
#include <utility>

#include "core/policies/vpmm_allocator.h"

namespace tidemark::policies {

// Removes the mappings of zombies whose work has finished. What the device refuses stays a zombie.
void Vpmm::end_zombies() {
    regions_.poll_zombies(*device_);
    regions_.end_zombies([this](BlockId id) {
        const auto ended = table_.unalias(*device_, pages_of(id, 0, regions_[id].size));
        stats_.unmaps += ended ? 1U : 0U;
        return ended.has_value();
    });
}

// Offers the device again what it refused to take back.
void Vpmm::settle_stuck() {
    for (const BlockId id : std::exchange(stuck_, {})) {
        const bool unmapped =
            static_cast<bool>(table_.vacate(*device_, pages_of(id, 0, regions_[id].size)));
        if (unmapped)
            retire_hole(id);
        else
            stuck_.push_back(id);
    }
}

// Waits for all work that memory waits for, as far as the device allows.
void Vpmm::await_all() {
    const bool everything =
        !deferred_.empty() || small_.has_waiting() || small_.held() > small_.used();
    if (everything && device_->synchronize_device()) {
        ++stats_.synchronizations;
        for (const Owner owner : regions_.awaited())
            regions_.all_passed(owner);
        for (const BlockId id : std::exchange(deferred_, {}))
            free_block(id, true);
        return;
    }
    for (const Owner owner : regions_.awaited()) {
        if (!device_->synchronize(regions_.stream_of(owner)))
            continue;
        ++stats_.synchronizations;
        regions_.all_passed(owner);
    }
}

// What a failing request does before it is retried: false if there is no hope. The free pages
// themselves don't matter: the request would have used them all.
bool Vpmm::reclaim() {
    const bool needs_addresses = refusal_.cause == OutOfMemory::Cause::address_space;
    const bool hopeful = !deferred_.empty() || !stuck_.empty() || small_.has_waiting() ||
                         small_.held() > small_.used() ||
                         (needs_addresses && regions_.has_zombies());
    if (!hopeful)
        return false;
    await_all();
    settle();
    settle_stuck();
    small_.trim(*device_);
    count_held();
    return true;
}

void Vpmm::trim(TrimLevel level) {
    if (device_->capturing())
        return;
    settle();
    settle_stuck();
    if (level == TrimLevel::all)
        await_all();
    else
        regions_.poll_others(VpmmRegions::kNobody, *device_);
    settle();
    release_free();
    small_.trim(*device_);
    count_held();
}

// Free regions whose work has finished, except those with pages that zombies still map.
void Vpmm::release_free() {
    for (const BlockId id : regions_.by_age(VpmmRegions::kNobody, kNoBlock)) {
        const PageRange pages = pages_of(id, 0, regions_[id].size);
        if (!VpmmRegions::is_done(regions_[id]) || table_.any_shared(pages) ||
            !table_.vacate(*device_, pages))
            continue;
        regions_.withdraw(id);
        retire_hole(id);
        ++stats_.unmaps;
    }
}

// Releases what it can, without waiting for a program that still uses its memory.
Vpmm::~Vpmm() {
    if (is_broken_off())
        return;
    trim(TrimLevel::all);
    regions_.blocks().for_each([this](const Block& block, Range root) {
        if (block.state == Block::State::unmapped && block.size == root.size)
            static_cast<void>(table_.unreserve(*device_, block.reservation));
    });
    small_.restore_pool(*device_);
}

}  // namespace tidemark::policies
