// Strings first, then stacks, then sites.
#include "viz/model/blocks/site_index.h"

#include <algorithm>

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
    : history_(history), stream_(filter.stream), pool_(filter.pool), all_(filter.text.empty()) {
    if (!all_) {
        const StringTable& strings = history.strings();
        strings_.resize(strings.size());
        for (std::uint32_t i = 1; i < strings.size() && !cancelled; ++i)
            strings_[i] = contains_text(strings[i], filter.text);
        const StackTable& stacks = history.stacks();
        stacks_.resize(stacks.size());
        for (std::uint32_t i = 1; i < stacks.size() && !cancelled; ++i)
            stacks_[i] = std::any_of(stacks[i].begin(), stacks[i].end(), [this](const Frame& at) {
                return means_string(at.name) || means_string(at.file);
            });
    }
    const auto count = static_cast<std::uint32_t>(history.counts().sites);
    std::vector<bool> sites(count);
    for (std::uint32_t i = 0; i < count && !cancelled; ++i)
        sites[i] = matches(i);
    sites_ = std::move(sites);
}

bool SiteIndex::matches(std::uint32_t index) const {
    const Site& site = history_.site(index);
    if ((stream_ && site.stream != *stream_) || (pool_ && site.pool != *pool_))
        return false;
    return all_ || (site.stack < stacks_.size() && stacks_[site.stack]) || means_string(site.tag);
}

bool SiteIndex::contains(std::uint32_t site) const {
    return site < sites_.size() ? sites_[site] : matches(site);
}

std::size_t SiteIndex::count() const {
    return static_cast<std::size_t>(std::count(sites_.begin(), sites_.end(), true));
}

bool hides_something(const Filter& filter) {
    return !filter.text.empty() || filter.least > 0 || filter.most != ~Bytes{0} ||
           filter.stream.has_value() || filter.pool.has_value();
}

}  // namespace tidemark::viz
