// A table of pairs of streams.
#include "core/regions/known_order.h"

#include <algorithm>

namespace tidemark {

DeviceResult<void> KnownOrder::order(StreamSet users, std::uint64_t freed, StreamId stream,
                                     Device& device) {
    if (users.only(stream))
        return {};
    const std::uint32_t number = to_integer(stream);
    if (number >= StreamSet::kTracked || !users.all_tracked() || device.capturing())
        return users.order_before(stream, device);
    if (const std::uint64_t replaced = device.replaced_streams(); replaced != replaced_) {
        behind_.clear();
        replaced_ = replaced;
    }
    if (behind_.size() <= number)
        behind_.resize(number + 1, Row{});
    Row& row = behind_[number];
    StreamSet rest;
    users.for_each([&](StreamId user) {
        if (user != stream && row[to_integer(user)] < freed)
            rest.add(user);
    });
    if (rest.empty())
        return {};
    TM_TRY(rest.order_before(stream, device));
    rest.for_each([&](StreamId user) { row[to_integer(user)] = now_; });
    return {};
}

}  // namespace tidemark
