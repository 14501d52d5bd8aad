// The list of reservations and mappings.
#include "backends/cuda/cuda_holdings.h"

namespace tidemark {

void CudaHoldings::reserved(Range range) {
    const std::lock_guard lock{mutex_};
    reservations_.emplace(range.begin, range.size);
}

void CudaHoldings::unreserved(Range range) {
    const std::lock_guard lock{mutex_};
    reservations_.erase(range.begin);
}

void CudaHoldings::mapped(Range range) {
    const std::lock_guard lock{mutex_};
    mappings_.emplace(range.begin, range.size);
}

void CudaHoldings::unmapped(Range range) {
    const std::lock_guard lock{mutex_};
    mappings_.erase(mappings_.lower_bound(range.begin),
                    mappings_.lower_bound(range.begin + range.size));
}

std::vector<Range> CudaHoldings::mappings() const {
    const std::lock_guard lock{mutex_};
    std::vector<Range> all;
    for (const auto& [begin, size] : mappings_)
        all.push_back({begin, size});
    return all;
}

void CudaHoldings::give_back(const CudaDriver& driver) {
    const std::lock_guard lock{mutex_};
    for (const auto& [begin, size] : mappings_)
        static_cast<void>(driver.cuMemUnmap(to_integer(begin), size));
    for (const auto& [begin, size] : reservations_)
        static_cast<void>(driver.cuMemAddressFree(to_integer(begin), size));
    mappings_.clear();
    reservations_.clear();
}

}  // namespace tidemark
