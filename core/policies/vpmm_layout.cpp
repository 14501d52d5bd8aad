// VPMM, shown.
#include "core/policies/vpmm_allocator.h"

namespace tidemark::policies {
namespace {

AddressSpan::State state_of(const Block& block) {
    switch (block.state) {
        case Block::State::allocated:
            return AddressSpan::State::allocated;
        case Block::State::free:
            return AddressSpan::State::free;
        case Block::State::waiting:
            return block.waits == VpmmRegions::zombie     ? AddressSpan::State::zombie
                   : block.waits == VpmmRegions::deferred ? AddressSpan::State::waiting
                                                          : AddressSpan::State::stuck;
        case Block::State::unmapped:
        case Block::State::vacant:
            break;
    }
    return AddressSpan::State::hole;
}

}  // namespace

void Vpmm::for_each_address(const std::function<void(const AddressSpan&)>& visit) const {
    regions_.blocks().for_each([&](const Block& block, Range) {
        const AddressSpan::State state = state_of(block);
        const bool is_free = state == AddressSpan::State::free;
        visit({.range = {block.address, block.size},
               .root = block.reservation,
               .state = state,
               .owned = block.list != VpmmRegions::kNobody,
               .stream = regions_.stream_of(block.list),
               .done = is_free && VpmmRegions::is_done(block),
               .id = is_free || state == AddressSpan::State::zombie ? block.stamp : 0});
    });
}

// A segment is a run of pages that are mapped for use. Zombies are second mappings, and not shown.
void Vpmm::for_each_region(const std::function<void(const Region&)>& visit) const {
    const auto belongs = [](const Block& block) {
        return block.state != Block::State::unmapped &&
               (block.state != Block::State::waiting || block.waits != VpmmRegions::zombie);
    };
    regions_.blocks().for_each_run(belongs, [&](const Block& block, Range run) {
        const auto state = block.state == Block::State::allocated       ? Region::State::allocated
                           : block.state == Block::State::free          ? Region::State::free
                           : block.waits == VpmmRegions::Wait::deferred ? Region::State::waiting
                                                                        : Region::State::hole;
        visit({.range = {block.address, block.size},
               .segment = run,
               .state = state,
               .stream = regions_.stream_of(block.list),
               .page = page()});
    });
    small_.for_each_region(visit);
}

}  // namespace tidemark::policies
