// WholeTransfers: transfers that are complete or have failed. Only this class decides, for every
// BlockFiles, what to do about short transfers, EINTR and EAGAIN: it starts the rest again until
// everything is moved, the file ends, or an error persists.
//
// The caller numbers its transfers by slots, below the queue's depth. After a start no memory is
// allocated. Thread-safety: none, like a BlockQueue.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/units.h"
#include "core/tiers/disk/block_files.h"

namespace tidemark {

class WholeTransfers {
  public:
    // An end: everything was moved, or `error` says why not. A read beyond the end of its file ends
    // with kEndOfFile; a write that makes no progress with EIO.
    struct End {
        unsigned slot = 0;
        int error = 0;    // an errno value, kEndOfFile, or 0
        Bytes moved = 0;  // from the front, as far as it is known
    };

    static constexpr int kEndOfFile = -1;

    explicit WholeTransfers(std::unique_ptr<BlockQueue> queue);

    // Nothing is in flight any longer.
    ~WholeTransfers();

    WholeTransfers(const WholeTransfers&) = delete;
    WholeTransfers& operator=(const WholeTransfers&) = delete;

    unsigned depth() const { return static_cast<unsigned>(slots_.size()); }

    unsigned in_flight() const { return in_flight_; }

    // Starts a transfer in a free slot. The memory in `pieces` must stay until the end; the array
    // is copied. `alignment` is that of the file's memory.
    void start(unsigned slot, const BlockTransfer& transfer, Bytes alignment);

    // Waits for the end of one of the transfers in flight; there must be one.
    End wait();

  private:
    struct Slot {
        BlockTransfer transfer;  // what is left of it
        std::vector<MemoryPiece> pieces;
        std::size_t first = 0;  // piece that is not done
        Bytes alignment = 1;
        Bytes left = 0;
        Bytes moved = 0;
        unsigned fruitless = 0;  // tries in a row that moved nothing
        bool busy = false;
    };

    void submit(unsigned index);
    void advance(Slot& slot, Bytes moved) const;
    int outcome(Slot& slot, const BlockCompletion& completion) const;

    std::unique_ptr<BlockQueue> queue_;
    std::vector<Slot> slots_;
    std::vector<BlockCompletion> completions_;
    std::size_t next_ = 0;  // completion to look at
    std::size_t filled_ = 0;
    unsigned in_flight_ = 0;
};

}  // namespace tidemark
