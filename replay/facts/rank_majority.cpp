// Groups by size; the largest goes on.
#include "replay/facts/rank_majority.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace tidemark::facts {

RankMajority::RankMajority(std::size_t ranks) : together_(ranks) {
    std::iota(together_.begin(), together_.end(), std::size_t{0});
}

std::vector<RankMajority::Left> RankMajority::part(std::span<const Bytes> sizes) {
    std::map<Bytes, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < together_.size(); ++i)
        if (sizes[i] != kEnded)
            groups[sizes[i]].push_back(together_[i]);
    together_.clear();
    if (groups.empty())
        return {};
    const auto most = std::ranges::max_element(groups, [](const auto& a, const auto& b) {
        return a.second.size() != b.second.size() ? a.second.size() < b.second.size()
                                                  : a.second.front() > b.second.front();
    });
    std::vector<Left> left;
    for (const auto& [size, ranks] : groups)
        for (const std::size_t rank : ranks)
            if (size != most->first)
                left.push_back({rank, size, most->first});
    together_ = most->second;
    return left;
}

}  // namespace tidemark::facts
