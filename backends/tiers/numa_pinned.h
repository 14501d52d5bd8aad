// NumaPinnedSource: pinned host memory on a node of one's choice, near the device that copies it.
//
// Pages are placed on the node to the last one (backends/numa/numa_host.h) and then registered with
// the device, for all of its contexts (CudaDevice registers memory portable). If the device
// refuses, the pages are given back: nothing leaks (specs A4, defect 16). Asking takes what
// clearing the pages takes, and the registration.
//
// Thread-safe as the device is.
#pragma once

#include <cstddef>
#include <mutex>
#include <unordered_map>

#include "backends/numa/numa_host.h"
#include "core/tiers/host/pinned_source.h"

namespace tidemark {

class NumaPinnedSource final : public PinnedSource {
  public:
    // `device` and `host` outlive the source, which outlives its memory (TM_CHECK).
    NumaPinnedSource(Device& device, const NumaHost& host, unsigned node)
        : device_(device), host_(host), node_(node) {}

    ~NumaPinnedSource() override;

    // Errors: as NumaHost::allocate; driver: the device cannot register memory.
    Result<Range> allocate(Bytes size) override;

    // A lost device has forgotten its registrations; the pages go back all the same.
    void free(Range range) override;

    // Pieces and bytes that are out.
    std::size_t pieces() const;
    Bytes size() const;

  private:
    Device& device_;
    const NumaHost& host_;
    const unsigned node_;
    mutable std::mutex mutex_;                    // of pages_
    std::unordered_map<Bytes, NumaPages> pages_;  // by address
};

}  // namespace tidemark
