// Owners: to whom views attribute blocks when they show who holds the memory: by tag, call site,
// module, annotation, stream, pool or size; and the filter that selects one owner.
//
// Pure; what is O(blocks) is for jobs.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/timeline/block_classes.h"
#include "viz/model/blocks/site_names.h"
#include "viz/model/session/job.h"
#include "viz/model/session/session.h"

namespace tidemark::viz {

// The traits that tell owners apart, with their names for typing and on the screen.
struct OwnerChoice {
    BlockTrait trait;
    std::string_view word;
    std::string_view title;
};

constexpr std::array<OwnerChoice, 7> kOwnerChoices{{
    {BlockTrait::tag, "tag", "tag"},
    {BlockTrait::stack, "site", "call site"},
    {BlockTrait::module, "module", "module"},
    {BlockTrait::annotation, "annotation", "annotation"},
    {BlockTrait::stream, "stream", "stream"},
    {BlockTrait::pool, "pool", "pool"},
    {BlockTrait::size, "size", "size"},
}};

// The choice of that word; null if there is none.
const OwnerChoice* owner_choice(std::string_view word);

// The choice for a trait other than lifetime.
const OwnerChoice& owner_choice(BlockTrait trait);

// Which of them are informative in this history: O(1), from its first few thousand sites.
std::vector<OwnerChoice> owner_choices(const History& history);

// At most `most` classes, with call sites and modules called as everywhere in the viewer.
BlockClasses classes_of(const History& history, BlockTrait trait, std::size_t most,
                        const Cancelled& cancelled);

// All owners of blocks, however many, numbered in order of appearance. Not thread-safe.
class OwnerGroups {
  public:
    // By size: O(blocks), at most a million of them; else O(sites).
    OwnerGroups(const History& history, BlockTrait trait, const Cancelled& cancelled);

    // O(1), by annotation O(log annotations).
    std::uint32_t of(const Block& block);

    std::uint32_t count() const { return static_cast<std::uint32_t>(groups_.size()); }

    // As a class, without its weight.
    const BlockClass& group(std::uint32_t index) const { return groups_[index]; }

  private:
    std::uint32_t group_of(std::uint32_t key);
    BlockClass named(std::uint32_t key);

    const History& history_;
    BlockTrait trait_;
    SiteNames names_;
    std::optional<BlockClasses> sizes_;
    InnermostAnnotations annotations_;
    std::vector<BlockClass> groups_;
    std::map<std::string, std::uint32_t> by_name_;
    std::vector<std::uint32_t> by_key_;  // group + 1 of a site, name or class; 0: not met yet
};

// Whether the filter selects this owner only, whatever else it says.
bool means_owner(const Filter& filter, BlockTrait trait, const BlockClass& owner);

// From now on the filter selects only this owner; if it did already, any owner. Its text stays.
// False: the owner is the rest of many owners, which no filter selects.
bool toggle_owner(Filter& filter, BlockTrait trait, const BlockClass& owner);

}  // namespace tidemark::viz
