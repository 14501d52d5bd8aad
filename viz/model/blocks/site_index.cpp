// Strings first, then stacks, then sites.
#include "viz/model/blocks/site_index.h"

#include <algorithm>

#include "viz/model/blocks/site_names.h"

namespace tidemark::viz {
namespace {

char lower(char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

}  // namespace

bool contains_text(std::string_view text, std::string_view part) {
    return std::search(text.begin(), text.end(), part.begin(), part.end(),
                       [](char a, char b) { return lower(a) == lower(b); }) != text.end() ||
           part.empty();
}

SiteIndex::SiteIndex(const History& history, const Filter& filter, const Cancelled& cancelled)
    : history_(history),
      stream_(filter.stream),
      device_(filter.device),
      pool_(filter.pool),
      all_(filter.text.empty()),
      owner_(filter.owner) {
    if (!all_)
        mark_text(filter, cancelled);
    if (owner_)
        mark_owned(cancelled);
    const auto count = static_cast<std::uint32_t>(history.counts().sites);
    std::vector<bool> sites(count);
    for (std::uint32_t i = 0; i < count && !cancelled; ++i)
        sites[i] = matches(i);
    sites_ = std::move(sites);
}

void SiteIndex::mark_text(const Filter& filter, const Cancelled& cancelled) {
    const StringTable& strings = history_.strings();
    strings_.resize(strings.size());
    for (std::uint32_t i = 1; i < strings.size() && !cancelled; ++i)
        strings_[i] = contains_text(strings[i], filter.text);
    // No name of a function or file has these: the text is a frame as it is printed, "resnet.py:154
    // forward".
    const bool is_printed = filter.text.find_first_of(": ") != std::string::npos;
    const SiteNames names(history_);
    const StackTable& stacks = history_.stacks();
    stacks_.resize(stacks.size());
    for (std::uint32_t i = 1; i < stacks.size() && !cancelled; ++i)
        stacks_[i] = std::any_of(stacks[i].begin(), stacks[i].end(), [&](const Frame& at) {
            return means_string(at.name) || means_string(at.file) ||
                   (is_printed && contains_text(names.frame(at), filter.text));
        });
}

void SiteIndex::mark_owned(const Cancelled& cancelled) {
    if (owner_->trait != BlockTrait::stack && owner_->trait != BlockTrait::module)
        return;
    SiteNames names(history_);
    owned_stacks_.resize(history_.stacks().size());
    for (std::uint32_t i = 0; i < owned_stacks_.size() && !cancelled; ++i)
        owned_stacks_[i] = (owner_->trait == BlockTrait::stack ? names.call_site(i)
                                                               : names.module(i)) == owner_->name;
}

bool SiteIndex::is_owned(const Site& site) const {
    if (!owner_ || owner_->trait == BlockTrait::annotation)
        return true;
    if (owner_->trait == BlockTrait::tag)
        return history_.strings()[site.tag] == owner_->name;
    return site.stack < owned_stacks_.size() && owned_stacks_[site.stack];
}

bool SiteIndex::matches(std::uint32_t index) const {
    const Site& site = history_.site(index);
    if ((device_ && site.device != *device_) || (stream_ && site.stream != *stream_) ||
        (pool_ && site.pool != *pool_) || !is_owned(site))
        return false;
    return all_ || (site.stack < stacks_.size() && stacks_[site.stack]) || means_string(site.tag);
}

bool SiteIndex::contains(std::uint32_t site) const {
    return site < sites_.size() ? sites_[site] : matches(site);
}

std::size_t SiteIndex::count() const {
    return static_cast<std::size_t>(std::count(sites_.begin(), sites_.end(), true));
}

BlockFilter::BlockFilter(const History& history, const Filter& filter, const Cancelled& cancelled)
    : filter_(filter), sites_(history, filter, cancelled) {
    if (!filter.owner || filter.owner->trait != BlockTrait::annotation)
        return;
    annotations_.emplace(history);
    if (filter.owner->name.empty())
        annotation_ = 0;
    const std::size_t count = history.counts().annotations;
    for (std::size_t i = 0; i < count && annotation_ == kNoName; ++i) {
        const std::uint32_t name = history.annotation(i).name;
        if (history.strings()[name] == filter.owner->name)
            annotation_ = name;
    }
}

bool hides_something(const Filter& filter) {
    return !filter.text.empty() || filter.owner.has_value() || filter.least > 0 ||
           filter.most != ~Bytes{0} || filter.stream.has_value() || filter.device.has_value() ||
           filter.pool.has_value() || filter.address.has_value();
}

}  // namespace tidemark::viz
