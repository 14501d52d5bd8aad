// RealTiers: a TierExecutor on a CUDA device. Kernels touch the first bytes of their buffers, check
// what they read and last as long as recorded; copies run on a stream for each direction, through
// pinned host memory, in chunks.
//
// Every buffer has GPU memory of its own while it lives, so the card must hold the whole program;
// that only so much of it is resident at a time is the replay's rule, kept by waiting as the replay
// says. What has left is overwritten there, so a kernel that reads it without its copy is found.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "replay/tiers/tier_executor.h"
#include "tests/gpu/proof/gpu_pacing.h"

namespace tidemark::gpu {

struct RealTiersFigures {
    Nanoseconds makespan = 0;  // by the GPU's clock
    Bytes copied_out = 0;
    Bytes copied_in = 0;
    std::uint64_t wrong_bytes = 0;
    std::string failure;  // the first refusal of the driver; empty: none
};

class RealTiers final : public TierExecutor {
  public:
    // Uses the given GPU memory, and the pinned host memory (it may be empty).
    RealTiers(CudaDevice& device, GpuPacing& pacing, std::uint32_t buffers, Range gpu, Range host);

    void begin_life(BufferId id, Bytes size) override;
    void end_life(BufferId id) override;
    void reached(std::uint32_t stream, Nanoseconds gap) override;
    void copy_out(BufferId id, CopyNumber number) override;
    void copy_in(BufferId id, CopyNumber room) override;
    void forget(BufferId id) override;
    void wait_room(std::uint32_t stream, CopyNumber room) override;
    void wait_content(std::uint32_t stream, BufferId id) override;
    void kernel(std::uint32_t stream, std::span<const TierUse> uses) override;

    // Waits for all work.
    RealTiersFigures finish();

  private:
    // Pieces of one piece of memory, by size: a piece goes back to those of its size.
    struct Store {
        Range memory;
        Bytes used = 0;
        std::multimap<Bytes, Address> free = {};

        Address take(Bytes bytes);
    };

    struct Buffer {
        Bytes size = 0;
        Address gpu = Address::null;
        Address host = Address::null;
        EventId in{};               // its last copy in
        EventId out{};              // its last copy out
        std::uint32_t pattern = 0;  // what a kernel wrote last; 0: nothing
        bool coming = false;        // copied in and not waited for yet
        bool left = false;          // copied out since it was last copied in
    };

    struct Stream {
        Nanoseconds gap = 0;  // since its last mark
        bool marked = false;
        bool pointed = false;  // a point was recorded since the last step
        EventId point{};
    };

    static StreamId compute(std::uint32_t stream) { return StreamId{stream + 1}; }

    EventId point();
    void must(const DeviceResult<void>& done, const char* what);
    void chunks(Address target, Address source, Bytes size, StreamId stream);
    void flush(std::uint32_t stream);

    CudaDevice* device_;
    GpuPacing* pacing_;
    Store gpu_;
    Store host_;
    std::vector<Buffer> buffers_;
    std::map<std::uint32_t, Stream> streams_;
    std::vector<EventId> copies_{EventId{}};  // by CopyNumber
    std::uint32_t current_ = 0;
    std::uint32_t next_pattern_ = 1;
    Nanoseconds begin_ = 0;
    std::uint64_t wrong_before_ = 0;
    RealTiersFigures figures_;
};

}  // namespace tidemark::gpu
