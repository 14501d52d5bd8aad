// The threads behind pread and pwrite.
#include "backends/disk/posix_queue.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include <sys/uio.h>

#include "core/base/check.h"

namespace tidemark {
namespace {

constexpr unsigned kMostThreads = 32;

BlockCompletion transfer_now(const BlockTransfer& transfer) {
    std::array<iovec, kMaxPieces> pieces;
    TM_CHECK(transfer.pieces.size() <= pieces.size());
    for (std::size_t i = 0; i < transfer.pieces.size(); ++i)
        pieces[i] = {transfer.pieces[i].data, transfer.pieces[i].size};
    const int file = static_cast<int>(transfer.file);
    const int count = static_cast<int>(transfer.pieces.size());
    const auto offset = static_cast<off_t>(transfer.offset);
    const ssize_t moved = transfer.kind == BlockTransfer::Kind::read
                              ? preadv(file, pieces.data(), count, offset)
                              : pwritev(file, pieces.data(), count, offset);
    if (moved < 0)
        return {transfer.tag, 0, errno};
    return {transfer.tag, static_cast<Bytes>(moved), 0};
}

}  // namespace

PosixQueue::PosixQueue(unsigned depth) : depth_(depth) {
    TM_CHECK(depth > 0);
    // So that nothing throws while transfers are in flight.
    waiting_.reserve(depth);
    done_.reserve(depth);
    threads_ = start_threads("tm-disk-io", std::min(depth, kMostThreads), [this] {
        while (const std::optional<BlockTransfer> transfer = waiting_.pop())
            done_.push(transfer_now(*transfer));
    });
}

PosixQueue::~PosixQueue() {
    TM_CHECK(in_flight_ == 0);
    waiting_.close();
}

void PosixQueue::submit(std::span<const BlockTransfer> transfers) {
    in_flight_ += static_cast<unsigned>(transfers.size());
    TM_CHECK(in_flight_ <= depth_);
    for (const BlockTransfer& transfer : transfers) {
        if (threads_.empty())
            done_.push(transfer_now(transfer));
        else
            waiting_.push(transfer);
    }
}

std::size_t PosixQueue::wait(std::span<BlockCompletion> done) {
    TM_CHECK(in_flight_ > 0 && !done.empty());
    std::optional<BlockCompletion> next = done_.pop();
    std::size_t count = 0;
    while (next) {
        done[count++] = *next;
        next = count < done.size() ? done_.try_pop() : std::nullopt;
    }
    in_flight_ -= static_cast<unsigned>(count);
    return count;
}

}  // namespace tidemark
