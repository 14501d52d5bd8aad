// Names of owners, and filters for them.
#include "viz/model/blocks/owners.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/check.h"

namespace tidemark::viz {
namespace {

constexpr std::size_t kSitesLookedAt = 4096;

OwnerName name_of(BlockTrait trait, const BlockClass& owner) {
    return {trait, owner.blank ? std::string() : owner.name};
}

}  // namespace

const OwnerChoice* owner_choice(std::string_view word) {
    const auto* const found = std::ranges::find(kOwnerChoices, word, &OwnerChoice::word);
    return found == kOwnerChoices.end() ? nullptr : found;
}

const OwnerChoice& owner_choice(BlockTrait trait) {
    const auto* const found = std::ranges::find(kOwnerChoices, trait, &OwnerChoice::trait);
    TM_CHECK(found != kOwnerChoices.end());
    return *found;
}

std::vector<OwnerChoice> owner_choices(const History& history) {
    const auto sites = static_cast<std::uint32_t>(std::min(history.counts().sites, kSitesLookedAt));
    bool tags = false;
    bool stacks = false;
    bool pools = false;
    for (std::uint32_t i = 0; i < sites; ++i) {
        const Site& site = history.site(i);
        tags = tags || site.tag != 0;
        stacks = stacks || site.stack != 0;
        pools = pools || site.pool != PoolId::default_pool;
    }
    std::vector<OwnerChoice> choices;
    for (const OwnerChoice& choice : kOwnerChoices) {
        const bool by_stack =
            choice.trait == BlockTrait::stack || choice.trait == BlockTrait::module;
        const bool differs = choice.trait == BlockTrait::tag ? tags
                             : by_stack                      ? stacks
                             : choice.trait == BlockTrait::annotation
                                 ? history.counts().annotations > 0
                             : choice.trait == BlockTrait::stream ? history.streams().size() > 1
                             : choice.trait == BlockTrait::pool   ? pools
                                                                  : true;
        if (differs)
            choices.push_back(choice);
    }
    return choices;
}

BlockClasses classes_of(const History& history, BlockTrait trait, std::size_t most,
                        const Cancelled& cancelled) {
    SiteNames names(history);
    const auto name = [&](std::uint32_t stack) {
        return trait == BlockTrait::module ? names.module(stack) : names.call_site(stack);
    };
    return BlockClasses::of(history, trait, most, name, &cancelled);
}

OwnerGroups::OwnerGroups(const History& history, BlockTrait trait, const Cancelled& cancelled)
    : history_(history), trait_(trait), names_(history) {
    if (trait == BlockTrait::size)
        sizes_ = BlockClasses::of(history, trait, 16, {}, &cancelled);
    if (trait == BlockTrait::annotation)
        annotations_ = InnermostAnnotations(history);
}

std::uint32_t OwnerGroups::of(const Block& block) {
    if (sizes_)
        return group_of(sizes_->of(block));
    return group_of(trait_ == BlockTrait::annotation ? annotations_.name_at(block.born)
                                                     : block.site);
}

std::uint32_t OwnerGroups::group_of(std::uint32_t key) {
    if (key >= by_key_.size())
        by_key_.resize(key + 1);
    if (by_key_[key] == 0) {
        BlockClass group = named(key);
        const auto [found, fresh] =
            by_name_.try_emplace(group.name, static_cast<std::uint32_t>(groups_.size()));
        if (fresh)
            groups_.push_back(std::move(group));
        by_key_[key] = found->second + 1;
    }
    return by_key_[key] - 1;
}

BlockClass OwnerGroups::named(std::uint32_t key) {
    if (sizes_)
        return sizes_->all()[key];
    BlockClass group;
    if (trait_ == BlockTrait::annotation) {
        group.name = std::string(history_.strings()[key]);
        group.value = key;
    } else {
        const Site& site = history_.site(key);
        switch (trait_) {
            case BlockTrait::tag:
                group.name = std::string(history_.strings()[site.tag]);
                break;
            case BlockTrait::stream:
                group.value = to_integer(site.stream);
                group.name = fmt::format("stream {}", group.value);
                break;
            case BlockTrait::pool:
                group.value = to_integer(site.pool);
                group.name = pool_title(history_, site.pool);
                break;
            case BlockTrait::module:
                group.name = names_.module(site.stack);
                break;
            default:
                group.name = names_.call_site(site.stack);
        }
    }
    group.blank = group.name.empty();
    if (group.blank)
        group.name = fmt::format("no {}", to_text(trait_));
    return group;
}

bool means_owner(const Filter& filter, BlockTrait trait, const BlockClass& owner) {
    if (owner.rest)
        return false;
    switch (trait) {
        case BlockTrait::stream:
            return filter.stream == StreamId{owner.value};
        case BlockTrait::pool:
            return filter.pool == PoolId{owner.value};
        case BlockTrait::size:
            return filter.least == owner.least && filter.most == owner.most;
        default:
            return filter.owner == name_of(trait, owner);
    }
}

bool toggle_owner(Filter& filter, BlockTrait trait, const BlockClass& owner) {
    if (owner.rest || trait == BlockTrait::life)
        return false;
    const bool was_meant = means_owner(filter, trait, owner);
    filter.owner.reset();
    filter.stream.reset();
    filter.pool.reset();
    filter.least = 0;
    filter.most = ~Bytes{0};
    if (was_meant)
        return true;
    if (trait == BlockTrait::stream) {
        filter.stream = StreamId{owner.value};
    } else if (trait == BlockTrait::pool) {
        filter.pool = PoolId{owner.value};
    } else if (trait == BlockTrait::size) {
        filter.least = owner.least;
        filter.most = owner.most;
    } else {
        filter.owner = name_of(trait, owner);
    }
    return true;
}

}  // namespace tidemark::viz
