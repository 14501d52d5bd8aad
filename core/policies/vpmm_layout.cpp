// VPMM, shown.
#include "core/policies/vpmm_layout.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/policies/vpmm_allocator.h"

namespace tidemark {
namespace policies {
namespace {

VpmmSpan::State state_of(const Block& block) {
    switch (block.state) {
        case Block::State::allocated:
            return VpmmSpan::State::allocated;
        case Block::State::free:
            return VpmmSpan::State::free;
        case Block::State::waiting:
            return block.waits == VpmmRegions::zombie     ? VpmmSpan::State::zombie
                   : block.waits == VpmmRegions::deferred ? VpmmSpan::State::waiting
                                                          : VpmmSpan::State::stuck;
        case Block::State::unmapped:
        case Block::State::vacant:
            break;
    }
    return VpmmSpan::State::hole;
}

}  // namespace

void Vpmm::for_each_span(const std::function<void(const VpmmSpan&)>& visit) const {
    regions_.blocks().for_each([&](const Block& block, Range) {
        const VpmmSpan::State state = state_of(block);
        const bool is_free = state == VpmmSpan::State::free;
        visit({.range = {block.address, block.size},
               .root = block.reservation,
               .state = state,
               .owned = block.list != VpmmRegions::kNobody,
               .stream = regions_.stream_of(block.list),
               .done = is_free && VpmmRegions::is_done(block),
               .id = is_free || state == VpmmSpan::State::zombie ? block.stamp : 0});
    });
}

// A segment is a run of pages that are mapped for use: zombies are second mappings, and not shown.
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

}  // namespace policies

void for_each_vpmm_span(const Allocator& allocator,
                        const std::function<void(const VpmmSpan&)>& visit) {
    if (const auto* const vpmm = dynamic_cast<const policies::Vpmm*>(&allocator))
        vpmm->for_each_span(visit);
}

VpmmTotals vpmm_totals(const Allocator& allocator) {
    VpmmTotals totals;
    for_each_vpmm_span(allocator, [&totals](const VpmmSpan& span) {
        constexpr Bytes VpmmTotals::*kSums[] = {&VpmmTotals::allocated, &VpmmTotals::free,
                                                &VpmmTotals::waiting,   &VpmmTotals::zombies,
                                                &VpmmTotals::holes,     &VpmmTotals::stuck};
        totals.reserved += span.range.size;
        totals.*kSums[static_cast<std::size_t>(span.state)] += span.range.size;
    });
    return totals;
}

std::string vpmm_layout(const Allocator& allocator, Address newest) {
    const auto* const vpmm = dynamic_cast<const policies::Vpmm*>(&allocator);
    std::string text;
    std::string hole;  // not yet written: it may be the last of its root
    std::uint32_t root = 0;
    bool is_first = true;
    for_each_vpmm_span(allocator, [&](const VpmmSpan& span) {
        constexpr std::string_view kMarks[] = {"", "-", "?", "*", ".", "!"};
        if (!std::exchange(is_first, false) && span.root != root) {
            text += " | ";
            hole.clear();
        }
        root = span.root;
        const bool is_newest =
            span.state == VpmmSpan::State::allocated && span.range.begin == newest;
        const std::string_view mark =
            is_newest ? "+" : kMarks[static_cast<std::size_t>(span.state)];
        const std::string piece = fmt::format("[{}{}]", mark, span.range.size / vpmm->page());
        if (span.state == VpmmSpan::State::hole) {
            hole = piece;
            return;
        }
        text += std::exchange(hole, {}) + piece;
    });
    return text;
}

}  // namespace tidemark
