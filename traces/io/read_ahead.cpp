// Blocks that circulate between two threads.
#include "traces/io/read_ahead.h"

#include <exception>
#include <utility>

namespace tidemark {
namespace {

constexpr std::size_t kBlock = std::size_t{512} << 10U;  // a wake-up each 0.1 ms

}  // namespace

ReadAhead::ReadAhead(RawInput& input) : input_(input) {
    for (Block& block : blocks_)
        empty_.push(&block);
}

Result<std::span<std::byte>> ReadAhead::next() {
    if (!std::exchange(started_, true)) {
        // Without a thread every block is read when it is requested.
        if (Result<Thread> worker = Thread::start("tm-read-ahead", [this] { work(); }))
            worker_ = std::move(*worker);
    }
    if (last_ == nullptr || !last_->is_last()) {
        if (before_ != nullptr)
            empty_.push(before_);
        before_ = last_;
        if (worker_.joinable()) {
            last_ = *filled_.pop();
        } else {
            last_ = *empty_.pop();
            fill(*last_);
        }
    }
    TM_TRY(last_->filled);
    return std::span(last_->bytes).subspan(kHeadroom, *last_->filled);
}

// Up to a whole block, so that a short block is always the last one before the empty one.
void ReadAhead::fill(Block& block) {
    block.bytes.resize(kHeadroom + kBlock);
    const std::span<std::byte> target = std::span(block.bytes).subspan(kHeadroom);
    block.filled = 0;
    for (;;) {
        Result<std::size_t> got = input_.read(target.subspan(*block.filled));
        if (!got) {
            if (*block.filled == 0)
                block.filled = std::move(got);
            return;  // the error behind good bytes occurs again with the next block
        }
        *block.filled += *got;
        if (*got == 0 || *block.filled == target.size())
            return;
    }
}

// Stops at the end and at an error: nobody needs more.
void ReadAhead::work() {
    try {
        while (const std::optional<Block*> block = empty_.pop()) {
            fill(**block);
            const bool is_last = (*block)->is_last();
            filled_.push(*block);
            if (is_last)
                return;
        }
    } catch (...) {
        filled_.fail(std::current_exception());
    }
}

}  // namespace tidemark
