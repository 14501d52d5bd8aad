// A list of idle streams, and the wait for one.
#include "replay/c_api/stream_pool.h"

#include <chrono>

#include <fmt/format.h>

#include "replay/c_api/waits.h"

namespace tidemark::c_api {
namespace {

// Apart from the ids that programs and the library's other parts use: ids of a card, handles of a
// simulated device.
constexpr std::uint32_t kFirstId = 0x7ffe'0000;
constexpr tm_stream kFirstHandle = 0x5354'0000'0000;

constexpr std::chrono::milliseconds kLookAround{10};

}  // namespace

Result<tm_stream> StreamPool::acquire(bool grow) {
    std::unique_lock lock(mutex_);
    while (idle_.empty()) {
        if (grow || in_use_.size() < size_)
            return make();
        released_.wait_for(lock, kLookAround);
        if (auto why = wait_ended(); why && idle_.empty()) {
            why->hint =
                fmt::format("all {} streams are in use: release some, or let the pool grow", size_);
            return tl::make_unexpected(std::move(*why));
        }
    }
    const tm_stream stream = idle_.back();
    idle_.pop_back();
    in_use_[stream] = true;
    return stream;
}

Result<void> StreamPool::release(tm_stream stream) {
    {
        const std::lock_guard lock(mutex_);
        const auto found = in_use_.find(stream);
        if (found == in_use_.end() || !found->second)
            return fail(ErrorCode::not_found, "this stream was not acquired", "tm_stream_release");
        idle_.reserve(in_use_.size());
        found->second = false;
        idle_.push_back(stream);
    }
    released_.notify_one();
    return {};
}

// Under mutex_.
Result<tm_stream> StreamPool::make() {
    const auto number = static_cast<std::uint32_t>(in_use_.size());
    tm_stream stream = kFirstHandle + number;
    if (card_ != nullptr) {
        const auto native = card_->native(StreamId{kFirstId + number});
        if (!native)
            return tl::make_unexpected(card_->explain(native.error()));
        stream = *native;
    }
    static_cast<void>(streams_.id_of_kept(stream));
    in_use_[stream] = true;
    return stream;
}

}  // namespace tidemark::c_api
