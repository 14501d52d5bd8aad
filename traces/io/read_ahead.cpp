// A ring of blocks between two threads.
#include "traces/io/read_ahead.h"

#include <system_error>

namespace tidemark {
namespace {

constexpr std::size_t kBlock = std::size_t{512} << 10U;  // a wake-up each 0.1 ms

}  // namespace

ReadAhead::~ReadAhead() {
    if (!worker_.joinable())
        return;
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    worker_.join();
}

Result<std::span<std::byte>> ReadAhead::next() {
    if (!started_) {
        started_ = true;
        try {
            worker_ = std::thread([this] { work(); });
        } catch (const std::system_error&) {
            // No thread to be had: every block is read when it is asked for.
        }
    }
    if (given_ != 0 && is_last(blocks_[(given_ - 1) % blocks_.size()]))
        --given_;  // the same again
    Block& block = blocks_[given_ % blocks_.size()];
    if (worker_.joinable()) {
        std::unique_lock lock(mutex_);
        ++given_;
        changed_.notify_all();
        changed_.wait(lock, [this] { return read_ >= given_; });
    } else {
        ++given_;
        fill(block);
    }
    TM_TRY(block.filled);
    return std::span(block.bytes).subspan(kHeadroom, *block.filled);
}

bool ReadAhead::is_last(const Block& block) {
    return !block.filled || *block.filled == 0;
}

// Up to a whole block, so that a short one is the last but for the empty one.
void ReadAhead::fill(Block& block) {
    block.bytes.resize(kHeadroom + kBlock);
    const std::span<std::byte> target = std::span(block.bytes).subspan(kHeadroom);
    block.filled = 0;
    for (;;) {
        Result<std::size_t> got = input_.read(target.subspan(*block.filled));
        if (!got) {
            if (*block.filled == 0)
                block.filled = std::move(got);
            return;  // an error behind good bytes comes again with the next block
        }
        *block.filled += *got;
        if (*got == 0 || *block.filled == target.size())
            return;
    }
}

// Stops at the end and at an error: nobody asks for more.
void ReadAhead::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        // The two blocks given last may not be overwritten.
        changed_.wait(lock, [this] { return stopping_ || read_ + 2 < given_ + blocks_.size(); });
        if (stopping_)
            return;
        Block& block = blocks_[read_ % blocks_.size()];
        lock.unlock();
        fill(block);
        lock.lock();
        ++read_;
        changed_.notify_all();
        if (is_last(block))
            return;
    }
}

}  // namespace tidemark
