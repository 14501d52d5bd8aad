// Strings first, then stacks, then sites.
#include "viz/model/site_index.h"

#include <algorithm>

namespace tidemark::viz {
namespace {

constexpr std::size_t kStep = RankedBits::kStride;

char lower(char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

// Whether `history` has grown so much that a search for rows is worth doing again.
bool has_outgrown(const History& history, std::size_t known) {
    const std::size_t blocks = history.counts().blocks;
    return blocks > known && (history.complete() || blocks - known > known / 8 + kStep);
}

}  // namespace

bool contains_text(std::string_view text, std::string_view part) {
    return std::search(text.begin(), text.end(), part.begin(), part.end(),
                       [](char a, char b) { return lower(a) == lower(b); }) != text.end() ||
           part.empty();
}

SiteIndex::SiteIndex(const History& history, const Filter& filter, const Cancelled& cancelled)
    : history_(history), stream_(filter.stream), all_(filter.text.empty()) {
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
        sites[i] = tells(i);
    sites_ = std::move(sites);
}

bool SiteIndex::tells(std::uint32_t index) const {
    const Site& site = history_.site(index);
    if (stream_ && site.stream != *stream_)
        return false;
    return all_ || (site.stack < stacks_.size() && stacks_[site.stack]) || means_string(site.tag);
}

bool SiteIndex::contains(std::uint32_t site) const {
    return site < sites_.size() ? sites_[site] : tells(site);
}

std::size_t SiteIndex::count() const {
    return static_cast<std::size_t>(std::count(sites_.begin(), sites_.end(), true));
}

bool hides_something(const Filter& filter) {
    return !filter.text.empty() || filter.least > 0 || filter.most != ~Bytes{0} ||
           filter.stream.has_value();
}

void BlockSearch::update(const std::shared_ptr<const History>& history, const Filter& filter) {
    job_.take();
    const bool same = history == history_ && filter == filter_;
    if (same && (hits_ == nullptr || job_.running() || !has_outgrown(*history, hits_->size())))
        return;
    job_.cancel();
    history_ = history;
    filter_ = filter;
    hits_.reset();
    if (history == nullptr || !hides_something(filter))
        return;
    hits_ = std::make_shared<RankedBits>(history->counts().blocks);
    job_.start([history, filter, hits = hits_](const Cancelled& cancelled) {
        const BlockFilter blocks(*history, filter, cancelled);
        for (std::size_t i = 0; i < hits->size() && !cancelled;) {
            const std::size_t end = std::min(hits->size(), i + kStep);
            for (; i < end; ++i)
                if (blocks.lets_through(history->block(static_cast<BlockIndex>(i))))
                    hits->add(i);
            hits->publish(end);
        }
        return true;
    });
}

BlockIndex BlockSearch::next(EventIndex event) const {
    if (hits_ == nullptr || event == kNever)
        return kNoBlock;
    const std::size_t hit = hits_->select(hits_->rank(history_->born_before(event + 1)));
    return hit < hits_->size() ? static_cast<BlockIndex>(hit) : kNoBlock;
}

BlockIndex BlockSearch::previous(EventIndex event) const {
    if (hits_ == nullptr)
        return kNoBlock;
    const std::size_t before = hits_->rank(history_->born_before(event));
    return before == 0 ? kNoBlock : static_cast<BlockIndex>(hits_->select(before - 1));
}

std::vector<std::uint32_t> BlockSearch::ticks(AxisUnit unit, Position begin, Position end,
                                              std::size_t columns) const {
    std::vector<std::uint32_t> found(columns);
    if (hits_ == nullptr || columns == 0)
        return found;
    const auto rank_at = [&](std::size_t column) {
        const auto share = static_cast<long double>(column) / static_cast<long double>(columns);
        const auto at = static_cast<Position>(share * static_cast<long double>(end - begin));
        return hits_->rank(history_->born_before(history_->event_from(unit, begin + at)));
    };
    std::size_t before = rank_at(0);
    for (std::size_t column = 0; column < columns; ++column) {
        const std::size_t after = std::max(before, rank_at(column + 1));
        found[column] = static_cast<std::uint32_t>(after - before);
        before = after;
    }
    return found;
}

}  // namespace tidemark::viz
