// NumaPinnedSource: pinned host memory on a chosen node, near the device that copies it.
//
// All pages are placed on the node (backends/numa/numa_host.h) and then registered with the device,
// for all of its contexts (CudaDevice registers memory portable). If the device refuses, the pages
// are freed: nothing leaks (specs A4, defect 16). Allocating takes the time of clearing the pages,
// and of the registration.
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
    // `device` and `host` must outlive the source, which must outlive its memory (TM_CHECK).
    NumaPinnedSource(Device& device, const NumaHost& host, unsigned node)
        : device_(device), host_(host), node_(node) {}

    ~NumaPinnedSource() override;

    // Errors: as NumaHost::allocate; driver: the device cannot register memory.
    Result<Range> allocate(Bytes size) override;

    // A lost device has dropped its registrations; the pages are freed anyway.
    void free(Range range) override;

    // Pieces and bytes that are handed out.
    std::size_t pieces() const;
    Bytes size() const;

  private:
    Device& device_;
    const NumaHost& host_;
    const unsigned node_;
    mutable std::mutex mutex_;                    // guards pages_
    std::unordered_map<Bytes, NumaPages> pages_;  // by address
};

}  // namespace tidemark
