// SiteIndex: which sites match a filter: those with a text in their tag, or in a function or file
// of any frame of their stack, ignoring case; those of one owner. Strings are searched once each,
// then stacks, then sites, so that a search through 10^8 blocks reads a bit for each.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "replay/timeline/history.h"
#include "viz/model/session/job.h"
#include "viz/model/session/session.h"

namespace tidemark::viz {

// `part` is in `text`, ignoring the case of Latin letters. O(product) at worst.
bool contains_text(std::string_view text, std::string_view part);

// Which sites a filter's text, owner, stream and pool let through. Immutable, thread-safe.
class SiteIndex {
  public:
    // O(bytes of strings + frames + sites); cancelled: some are missing.
    SiteIndex(const History& history, const Filter& filter, const Cancelled& cancelled);

    // Sites that have come since the index was made are looked at one by one.
    bool contains(std::uint32_t site) const;

    std::size_t count() const;

  private:
    bool matches(std::uint32_t site) const;  // decides, by strings and stacks
    bool is_owned(const Site& site) const;
    void mark_text(const Filter& filter, const Cancelled& cancelled);
    void mark_owned(const Cancelled& cancelled);

    bool means_string(std::uint32_t string) const {
        return string < strings_.size() && strings_[string];
    }

    const History& history_;
    std::optional<StreamId> stream_;
    std::optional<std::uint16_t> device_;
    std::optional<PoolId> pool_;
    bool all_ = true;  // no text was given
    std::optional<OwnerName> owner_;
    std::vector<bool> strings_;
    std::vector<bool> stacks_;
    std::vector<bool> owned_stacks_;
    std::vector<bool> sites_;
};

// What a filter says about blocks: size, site and annotation. The lists handle what it says about
// freed blocks.
class BlockFilter {
  public:
    BlockFilter(const History& history, const Filter& filter, const Cancelled& cancelled);

    bool lets_through(const Block& block) const {
        return block.size >= filter_.least && block.size <= filter_.most &&
               (!filter_.address || (*filter_.address >= block.address &&
                                     *filter_.address < block.address + block.size)) &&
               sites_.contains(block.site) &&
               (!annotations_ || annotations_->name_at(block.born) == annotation_);
    }

  private:
    static constexpr std::uint32_t kNoName = ~std::uint32_t{0};

    Filter filter_;
    SiteIndex sites_;
    std::optional<InnermostAnnotations> annotations_;  // if it is about one
    std::uint32_t annotation_ = kNoName;
};

// Whether the filter hides anything at all.
bool hides_something(const Filter& filter);

}  // namespace tidemark::viz
