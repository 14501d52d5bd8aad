// One of the kernel's rings as a queue of transfers.
#include "backends/disk/uring_queue.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <vector>

#include <liburing.h>
#include <sys/uio.h>

#include "core/base/check.h"

namespace tidemark {
namespace {

// An error of a call that will succeed when it is repeated.
bool passes(int error) {
    return error == -EINTR || error == -EAGAIN || error == -EBUSY;
}

class UringQueue : public BlockQueue {
  public:
    explicit UringQueue(unsigned depth) : depth_(depth), slots_(depth) {
        for (unsigned slot = 0; slot < depth; ++slot)
            free_.push_back(slot);
    }

    ~UringQueue() override {
        TM_CHECK(free_.size() == depth_);
        if (open_)
            io_uring_queue_exit(&ring_);
    }

    // 0, or the kernel's error.
    int open() {
        const int error = io_uring_queue_init(std::bit_ceil(depth_), &ring_, 0);
        open_ = error == 0;
        return -error;
    }

    unsigned depth() const override { return depth_; }

    void submit(std::span<const BlockTransfer> transfers) override {
        for (const BlockTransfer& transfer : transfers)
            prepare(transfer);
        // What the kernel does not accept now, wait() submits again.
        const int taken = io_uring_submit(&ring_);
        TM_CHECK(taken >= 0 || passes(taken));
    }

    std::size_t wait(std::span<BlockCompletion> done) override {
        TM_CHECK(free_.size() < depth_ && !done.empty());
        while (true) {
            const std::size_t count = reap(done);
            if (count > 0)
                return count;
            const int result = io_uring_submit_and_wait(&ring_, 1);
            TM_CHECK(result >= 0 || passes(result));
        }
    }

  private:
    struct Slot {
        std::uint64_t tag = 0;
        std::vector<iovec> pieces;
    };

    void prepare(const BlockTransfer& transfer) {
        TM_CHECK(!free_.empty());
        const unsigned index = free_.back();
        free_.pop_back();
        Slot& slot = slots_[index];
        slot.tag = transfer.tag;
        slot.pieces.clear();
        for (const MemoryPiece& piece : transfer.pieces)
            slot.pieces.push_back({piece.data, piece.size});
        io_uring_sqe* entry = io_uring_get_sqe(&ring_);
        TM_CHECK(entry != nullptr);
        const int file = static_cast<int>(transfer.file);
        const auto count = static_cast<unsigned>(slot.pieces.size());
        if (transfer.kind == BlockTransfer::Kind::read)
            io_uring_prep_readv(entry, file, slot.pieces.data(), count, transfer.offset);
        else
            io_uring_prep_writev(entry, file, slot.pieces.data(), count, transfer.offset);
        io_uring_sqe_set_data64(entry, index);
    }

    // Takes the existing completions.
    std::size_t reap(std::span<BlockCompletion> done) {
        std::array<io_uring_cqe*, 64> entries;
        const auto most = static_cast<unsigned>(std::min(done.size(), entries.size()));
        const unsigned count = io_uring_peek_batch_cqe(&ring_, entries.data(), most);
        for (unsigned i = 0; i < count; ++i) {
            const auto index = static_cast<unsigned>(io_uring_cqe_get_data64(entries[i]));
            const int result = entries[i]->res;
            done[i] = {slots_[index].tag, result < 0 ? Bytes{0} : static_cast<Bytes>(result),
                       result < 0 ? -result : 0};
            free_.push_back(index);
        }
        io_uring_cq_advance(&ring_, count);
        return count;
    }

    const unsigned depth_;
    std::vector<Slot> slots_;
    std::vector<unsigned> free_;
    io_uring ring_{};
    bool open_ = false;
};

}  // namespace

FileResult<std::unique_ptr<BlockQueue>> make_uring_queue(unsigned depth) {
    auto queue = std::make_unique<UringQueue>(depth);
    if (const int error = queue->open(); error != 0)
        return tl::make_unexpected(FileError{error});
    return queue;
}

}  // namespace tidemark
