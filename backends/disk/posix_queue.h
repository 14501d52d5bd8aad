// PosixQueue: transfers by preadv and pwritev, on as many threads as are to be in flight, or as
// many of them as the system grants; on the caller's when that is none.
//
// One caller at a time, as of every BlockQueue.
#pragma once

#include <span>
#include <vector>

#include "core/base/threads.h"
#include "core/base/work_queue.h"
#include "core/tiers/disk/block_files.h"

namespace tidemark {

class PosixQueue : public BlockQueue {
  public:
    explicit PosixQueue(unsigned depth);
    ~PosixQueue() override;

    unsigned depth() const override { return depth_; }

    void submit(std::span<const BlockTransfer> transfers) override;
    std::size_t wait(std::span<BlockCompletion> done) override;

  private:
    const unsigned depth_;
    unsigned in_flight_ = 0;
    WorkQueue<BlockTransfer> waiting_;
    WorkQueue<BlockCompletion> done_;
    std::vector<Thread> threads_;  // last: they use the queues until they are joined (defect 17)
};

}  // namespace tidemark
