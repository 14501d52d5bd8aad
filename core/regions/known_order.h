// KnownOrder: what is known about the order between streams, so that nobody waits twice for the
// same work. A policy that lets streams share memory notes when each piece was freed; a stream that
// has been ordered behind another since then needs no wait for it.
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
    // Memory is freed now, after the work that its users have queued; returns the moment, for
    // `order`. O(1).
    std::uint64_t let_go() { return ++now_; }

    // The moment of the last free: no stream is ordered behind it before `order`.
    std::uint64_t now() const { return now_; }

    // Makes work that is queued on `stream` from now on run after what `users` had queued at the
    // moment `freed`. Like StreamSet::order_before, for those users for which that isn't known.
    // While a graph is captured an order belongs to the graph: none is assumed to be known.
    DeviceResult<void> order(StreamSet users, std::uint64_t freed, StreamId stream, Device& device);

  private:
    // For each other stream, up to which moment of freeing a stream is ordered behind it.
    using Row = std::array<std::uint64_t, StreamSet::kTracked>;

    std::uint64_t now_ = 0;
    std::uint64_t replaced_ = 0;  // Device::replaced_streams, when everything below was found
    std::vector<Row> behind_;     // by stream
};

}  // namespace tidemark
