// A run asks its pool for all it needs at once, and remembers what it has.
#include "core/tiers/host/block_run.h"

#include <algorithm>
#include <utility>

#include "core/tiers/host/host_blocks.h"

namespace tidemark {

std::string_view to_text(BlockRefusal why) {
    switch (why) {
        case BlockRefusal::capacity:
            return "the capacity is in use";
        case BlockRefusal::none_free:
            return "no pinned blocks are free";
        case BlockRefusal::source:
            return "no more memory could be pinned";
        case BlockRefusal::no_pool:
            return "the run belongs to no pool";
    }
    return "";
}

BlockRun::BlockRun(BlockRun&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)),
      blocks_(std::exchange(other.blocks_, {})),
      held_(std::exchange(other.held_, 0)) {}

BlockRun& BlockRun::operator=(BlockRun&& other) noexcept {
    BlockRun taken(std::move(other));
    std::swap(owner_, taken.owner_);
    std::swap(blocks_, taken.blocks_);
    std::swap(held_, taken.held_);
    return *this;
}

Bytes BlockRun::block_size() const {
    return owner_ == nullptr ? 0 : owner_->block_size();
}

Range BlockRun::block(std::size_t index) const {
    if (index >= blocks_.size() || blocks_[index].begin == Address::null)
        return {};
    return {blocks_[index].begin, owner_->block_size()};
}

BlockResult<void> BlockRun::grow_by(Bytes size) {
    return append(size, true);
}

BlockResult<void> BlockRun::append(Bytes size, bool may_grow) {
    if (owner_ == nullptr)
        return tl::make_unexpected(BlockRefusal::no_pool);
    const std::uint64_t count = owner_->blocks_for(size);
    if (count == 0)
        return {};
    if (count <= owner_->capacity_blocks())  // else it is refused
        blocks_.reserve(blocks_.size() + count);
    TM_TRY(owner_->take(count, may_grow, blocks_));
    held_ += count;
    return {};
}

void BlockRun::trim_to(Bytes size) {
    if (owner_ != nullptr)
        give_back_from(owner_->blocks_for(size));
}

bool BlockRun::release(std::size_t index) {
    if (block(index).size == 0)
        return false;
    owner_->give_back({&blocks_[index], 1});
    blocks_[index] = {};
    --held_;
    return true;
}

void BlockRun::clear() {
    give_back_from(0);
}

void BlockRun::give_back_from(std::uint64_t first) {
    if (first >= blocks_.size())
        return;
    const auto begin = blocks_.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = std::remove_if(
        begin, blocks_.end(), [](const HostBlock& block) { return block.begin == Address::null; });
    owner_->give_back({begin, end});
    held_ -= static_cast<std::size_t>(end - begin);
    blocks_.resize(first);
}

}  // namespace tidemark
