// Pages that free themselves unless the device has registered them.
#include "backends/tiers/numa_pinned.h"

#include <utility>

#include "core/base/check.h"

namespace tidemark {

NumaPinnedSource::~NumaPinnedSource() {
    TM_CHECK(pages_.empty());
}

Result<Range> NumaPinnedSource::allocate(Bytes size) {
    TM_ASSIGN(NumaPages pages, host_.allocate(size, node_));
    const Range range{address_of(pages.bytes().data()), size};
    if (const DeviceResult<void> done = device_.host_register(range); !done)
        return tl::make_unexpected(device_.explain(done.error()));
    const std::lock_guard hold(mutex_);
    pages_.emplace(to_integer(range.begin), std::move(pages));
    return range;
}

void NumaPinnedSource::free(Range range) {
    const DeviceResult<void> done = device_.host_unregister(range.begin);
    TM_CHECK(done || done.error().status == DeviceStatus::lost);
    const std::lock_guard hold(mutex_);
    TM_CHECK(pages_.erase(to_integer(range.begin)) == 1);
}

std::size_t NumaPinnedSource::pieces() const {
    const std::lock_guard hold(mutex_);
    return pages_.size();
}

Bytes NumaPinnedSource::size() const {
    const std::lock_guard hold(mutex_);
    Bytes sum = 0;
    for (const auto& [address, pages] : pages_)
        sum += pages.bytes().size();
    return sum;
}

}  // namespace tidemark
