// DeviceStage: a program played over tiers on a real device: real memory, real copies, by the
// engine's decisions of this moment. Kernels last as long as recorded, by the GPU's clock; the
// program's own host time is as recorded, too: a step that this process reaches late counts from
// its time.
//
// Content is proved: a kernel writes a pattern of its own into what it writes, and what was copied
// since is compared with the pattern when it is read again.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cuda/cuda_pacing.h"
#include "backends/tiers/device_transfers.h"
#include "core/base/stopwatch.h"
#include "replay/tiers/tier_stage.h"

namespace tidemark {

class DeviceStage final : public TierStage {
  public:
    // All outlive it. `pacing` null: kernels take no time of their own and content is checked as
    // they begin (for devices that run no kernels: the simulator).
    DeviceStage(Device& device, CudaPacing* pacing, DeviceTransfers& transfers)
        : device_(device), pacing_(pacing), transfers_(transfers) {}

    // Time begins. Errors (driver).
    Result<void> start();

    Transfers& transfers() override { return transfers_; }

    Nanoseconds now() override { return pacing_ ? pacing_->now() : watch_.elapsed(); }

    bool wait_until(Nanoseconds when) override;

    bool runs_kernels() const override { return true; }

    void kernel(std::uint32_t stream, SpaceId gpu, std::span<const StagedUse> uses,
                Nanoseconds end) override;
    std::optional<UsePoint> point(std::uint32_t stream, SpaceId gpu) override;
    void begun(BufferRef buffer, const BlockLocation& location, Bytes size) override;
    void copying(BufferRef buffer, const CopyOrder& order) override;
    Result<StageEnd> finish() override;

    std::vector<TierLinkUse> links() const override { return links_; }

  private:
    struct Content {
        std::uint32_t generation = 0;
        std::uint32_t pattern = 0;  // what was written last; 0: nothing
        bool copied = false;        // since it was written
        bool unread = false;        // since it was copied
        bool unwritten = false;     // it began with content, which nothing stands for yet
    };

    Content& content_of(BufferRef buffer);
    Range touched(const BlockLocation& location) const;
    void write(Content& content, const Range& range, StreamId stream);
    void note(const DeviceResult<void>& done);

    Device& device_;
    CudaPacing* pacing_;
    DeviceTransfers& transfers_;
    Stopwatch watch_;
    std::vector<Content> content_;  // by BufferId
    std::vector<TierLinkUse> links_;
    std::uint32_t next_pattern_ = 1;
    std::uint64_t wrong_bytes_ = 0;
    std::optional<Error> error_;
};

}  // namespace tidemark
