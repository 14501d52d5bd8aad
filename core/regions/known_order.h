// KnownOrder: what is known of the order between streams, so that nobody waits twice for the same
// work. A policy that lets streams share memory notes when each piece was let go; a stream that was
// put behind another since then needs no wait for it.
//
// A value; copying it copies what is known. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/regions/stream_set.h"

namespace tidemark {

class KnownOrder {
  public:
    // Memory is let go now, after what its users have queued: the moment, for `order`. O(1).
    std::uint64_t let_go() { return ++now_; }

    // Of what was let go last: it is in nobody's past before it is ordered.
    std::uint64_t now() const { return now_; }

    // Makes what is queued on `stream` from now on run after what `users` had queued at the moment
    // `freed`. As StreamSet::order_before, for those among them that it isn't known of. While a
    // graph is captured an order belongs to the graph: none is taken as known.
    DeviceResult<void> order(StreamSet users, std::uint64_t freed, StreamId stream, Device& device);

  private:
    // Behind what was let go until which moment a stream is, of each other one.
    using Row = std::array<std::uint64_t, StreamSet::kTracked>;

    std::uint64_t now_ = 0;
    std::uint64_t replaced_ = 0;  // Device::replaced_streams, when all below was found
    std::vector<Row> behind_;     // by stream
};

}  // namespace tidemark
