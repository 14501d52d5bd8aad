// Lending streams, first come, first served.
#include "core/tiers/host/stream_pool.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"

namespace tidemark {
namespace {

constexpr std::uint32_t kLastStream = std::numeric_limits<std::uint32_t>::max();

}  // namespace

StreamLease::StreamLease(StreamLease&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)), stream_(other.stream_) {}

StreamLease& StreamLease::operator=(StreamLease&& other) noexcept {
    if (this != &other) {
        reset();
        pool_ = std::exchange(other.pool_, nullptr);
        stream_ = other.stream_;
    }
    return *this;
}

StreamId StreamLease::stream() const {
    TM_CHECK(pool_ != nullptr);
    return stream_;
}

void StreamLease::reset() {
    if (StreamPool* pool = std::exchange(pool_, nullptr))
        pool->give_back(stream_);
}

Result<std::unique_ptr<StreamPool>> StreamPool::make(StreamId first, std::uint32_t size) {
    if (size == 0 || size - 1 > kLastStream - to_integer(first))
        return fail(ErrorCode::bad_option,
                    fmt::format("{} streams from {} on", size, to_integer(first)), "stream pool",
                    "expected at least one, and numbers below 2^32");
    return std::unique_ptr<StreamPool>(new StreamPool(first, size));
}

StreamPool::StreamPool(StreamId first, std::uint32_t size)
    : first_(to_integer(first)), size_(size) {
    idle_.reserve(size);
    for (std::uint32_t i = size; i > 0; --i)
        idle_.push_back(StreamId{first_ + i - 1});
}

StreamPool::~StreamPool() {
    const std::lock_guard lock(mutex_);
    TM_CHECK(waiters_.empty());
    TM_CHECK(idle_.size() == size_);
}

tl::expected<StreamLease, StreamRefusal> StreamPool::acquire(
    WhenBusy when_busy, std::optional<std::chrono::nanoseconds> timeout) {
    std::unique_lock lock(mutex_);
    if (shut_down_)
        return tl::make_unexpected(StreamRefusal::shut_down);
    if (!idle_.empty()) {
        const StreamId stream = idle_.back();
        idle_.pop_back();
        return StreamLease(*this, stream);
    }
    if (when_busy == WhenBusy::block)
        return wait(lock, timeout);
    if (size_ > kLastStream - first_)
        return tl::make_unexpected(StreamRefusal::out_of_numbers);
    idle_.reserve(size_ + std::size_t{1});  // giving back must not need memory
    return StreamLease(*this, StreamId{first_ + size_++});
}

tl::expected<StreamLease, StreamRefusal> StreamPool::wait(
    std::unique_lock<std::mutex>& lock, std::optional<std::chrono::nanoseconds> timeout) {
    Waiter self;
    waiters_.push_back(&self);
    const auto done = [&] { return self.stream || shut_down_; };
    if (timeout)
        self.woken.wait_for(lock, *timeout, done);
    else
        self.woken.wait(lock, done);
    if (self.stream)  // also if the time was up in the same moment
        return StreamLease(*this, *self.stream);
    waiters_.erase(std::find(waiters_.begin(), waiters_.end(), &self));
    return tl::make_unexpected(shut_down_ ? StreamRefusal::shut_down : StreamRefusal::timed_out);
}

void StreamPool::give_back(StreamId stream) {
    const std::lock_guard lock(mutex_);
    if (waiters_.empty() || shut_down_) {
        idle_.push_back(stream);
        return;
    }
    Waiter& oldest = *waiters_.front();
    waiters_.pop_front();
    oldest.stream = stream;
    oldest.woken.notify_one();  // under the lock: afterwards the waiter may be gone
}

void StreamPool::shut_down() {
    const std::lock_guard lock(mutex_);
    shut_down_ = true;
    for (Waiter* waiter : waiters_)
        waiter->woken.notify_one();
}

std::uint32_t StreamPool::idle() const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::uint32_t>(idle_.size());
}

std::uint32_t StreamPool::size() const {
    const std::lock_guard lock(mutex_);
    return size_;
}

std::uint32_t StreamPool::waiting() const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::uint32_t>(waiters_.size());
}

}  // namespace tidemark
