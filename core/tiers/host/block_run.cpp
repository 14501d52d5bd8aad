// A run remembers its blocks, and returns them.
#include "core/tiers/host/block_run.h"

#include <span>
#include <utility>

#include "core/tiers/host/host_blocks.h"

namespace tidemark {

std::string_view to_text(BlockRefusal why) {
    switch (why) {
        case BlockRefusal::capacity:
            return "the capacity is in use";
        case BlockRefusal::source:
            return "no more memory could be pinned";
        case BlockRefusal::no_pool:
            return "the run belongs to no pool";
    }
    return "";
}

BlockRun::BlockRun(BlockRun&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)), blocks_(std::exchange(other.blocks_, {})) {}

BlockRun& BlockRun::operator=(BlockRun&& other) noexcept {
    BlockRun taken(std::move(other));
    std::swap(owner_, taken.owner_);
    std::swap(blocks_, taken.blocks_);
    return *this;
}

Bytes BlockRun::block_size() const {
    return owner_ == nullptr ? 0 : owner_->block_size();
}

Range BlockRun::block(std::size_t index) const {
    return index < blocks_.size() ? Range{blocks_[index].begin, owner_->block_size()} : Range{};
}

void BlockRun::trim_to(Bytes size) {
    if (owner_ != nullptr)
        give_back_from(owner_->blocks_for(size));
}

void BlockRun::clear() {
    give_back_from(0);
}

void BlockRun::give_back_from(std::uint64_t first) {
    if (first >= blocks_.size())
        return;
    owner_->give_back(std::span(blocks_).subspan(first));
    blocks_.resize(first);
}

}  // namespace tidemark
