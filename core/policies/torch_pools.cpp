// Families, pools and lists by number.
#include "core/policies/torch_pools.h"

#include <algorithm>

namespace tidemark::policies {

std::uint32_t TorchPools::family(PoolId id) {
    if (const auto found = numbers_.find(id); found != numbers_.end())
        return found->second;
    auto number = static_cast<std::uint32_t>(families_.size());
    if (vacant_.empty()) {
        families_.emplace_back();
        pools_.resize(pools_.size() + 2);
    } else {
        number = vacant_.back();
        vacant_.pop_back();
    }
    families_[number] = Family{};
    families_[number].id = id;
    numbers_.emplace(id, number);
    return number;
}

std::uint32_t TorchPools::find_list(std::uint32_t pool, StreamId stream) {
    std::vector<std::uint32_t>& lists = pools_[pool].lists;
    auto position = std::lower_bound(
        lists.begin(), lists.end(), stream,
        [this](std::uint32_t list, StreamId wanted) { return lists_[list].stream < wanted; });
    if (position == lists.end() || lists_[*position].stream != stream) {
        position = lists.insert(position, static_cast<std::uint32_t>(lists_.size()));
        lists_.push_back({{}, {}, stream, pool});
    }
    if (pool < 2)
        last_list_[pool] = *position;
    return *position;
}

void TorchPools::forget_if_over(PoolId id) {
    const auto found = numbers_.find(id);
    if (found == numbers_.end() || id == PoolId::default_pool)
        return;
    const std::uint32_t number = found->second;
    if (!families_[number].closed || families_[number].reserved != 0)
        return;
    for (const std::uint32_t pool : {2 * number, 2 * number + 1}) {
        for (const std::uint32_t list : pools_[pool].lists) {
            if (!lists_[list].unmapped.empty())
                return;
        }
    }
    for (const std::uint32_t pool : {2 * number, 2 * number + 1})
        pools_[pool].searches = 0;  // its lists stay: they are empty, and any stream may need one
    numbers_.erase(found);
    vacant_.push_back(number);
}

}  // namespace tidemark::policies
