// The threads behind pread and pwrite.
#include "backends/disk/posix_queue.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

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
    try {
        for (unsigned thread = 0; thread < std::min(depth, kMostThreads); ++thread)
            threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
        // The system has no more threads: those that there are will do, if it must be, ours.
    }
}

PosixQueue::~PosixQueue() {
    {
        const std::lock_guard guard(lock_);
        TM_CHECK(in_flight_ == 0);
        stopping_ = true;
    }
    work_came_.notify_all();
    for (std::thread& thread : threads_)
        thread.join();
}

void PosixQueue::submit(std::span<const BlockTransfer> transfers) {
    {
        const std::lock_guard guard(lock_);
        in_flight_ += static_cast<unsigned>(transfers.size());
        TM_CHECK(in_flight_ <= depth_);
        if (!threads_.empty())
            waiting_.insert(waiting_.end(), transfers.begin(), transfers.end());
    }
    if (threads_.empty()) {
        for (const BlockTransfer& transfer : transfers)
            done_.push_back(transfer_now(transfer));
    }
    for (std::size_t i = 0; i < transfers.size(); ++i)
        work_came_.notify_one();
}

std::size_t PosixQueue::wait(std::span<BlockCompletion> done) {
    std::unique_lock guard(lock_);
    TM_CHECK(in_flight_ > 0 && !done.empty());
    work_done_.wait(guard, [&] { return !done_.empty(); });
    const std::size_t count = std::min(done.size(), done_.size());
    for (std::size_t i = 0; i < count; ++i) {
        done[i] = done_.front();
        done_.pop_front();
    }
    in_flight_ -= static_cast<unsigned>(count);
    return count;
}

void PosixQueue::work() {
    std::unique_lock guard(lock_);
    while (true) {
        work_came_.wait(guard, [&] { return stopping_ || !waiting_.empty(); });
        if (waiting_.empty())
            return;
        const BlockTransfer transfer = waiting_.front();
        waiting_.pop_front();
        guard.unlock();
        const BlockCompletion completion = transfer_now(transfer);
        guard.lock();
        done_.push_back(completion);
        work_done_.notify_one();
    }
}

}  // namespace tidemark
