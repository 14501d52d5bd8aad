// CudaHoldings: the virtual memory of a device that no context owns: reservations and mappings. The
// driver keeps them when a context dies, until the process ends. A lost device uses this list to
// release them when it closes, since nobody else can then.
//
// Thread-safe. O(log entries) a call.
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "backends/cuda/driver.h"
#include "core/base/units.h"

namespace tidemark {

class CudaHoldings {
  public:
    void reserved(Range range);
    void unreserved(Range range);
    void mapped(Range range);

    // All mappings that begin in the range.
    void unmapped(Range range);

    // What is mapped now.
    std::vector<Range> mappings() const;

    // Unmaps and frees all of it, as far as the driver allows. Nothing is listed afterwards.
    void give_back(const CudaDriver& driver);

  private:
    mutable std::mutex mutex_;
    std::map<Address, Bytes> reservations_;
    std::map<Address, Bytes> mappings_;
};

}  // namespace tidemark
