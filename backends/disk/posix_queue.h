// PosixQueue: transfers by preadv and pwritev, on as many threads as are to be in flight, or as
// many of them as the system grants; on the caller's when that is none.
//
// The threads are the last members: they start when all else is there (defect 17), and have ended
// before anything goes. One caller at a time, as of every BlockQueue.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

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
    void work();

    const unsigned depth_;
    std::mutex lock_;
    std::condition_variable work_came_;
    std::condition_variable work_done_;
    std::deque<BlockTransfer> waiting_;
    std::deque<BlockCompletion> done_;
    unsigned in_flight_ = 0;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace tidemark
