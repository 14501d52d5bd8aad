// Two tables, and in each thread the stream that it used last.
#include "replay/c_api/streams.h"

#include <mutex>

namespace tidemark::c_api {
namespace {

struct Last {
    std::uint64_t owner = 0;
    tm_stream handle = 0;
    StreamId id = StreamId::default_stream;
};

thread_local Last t_last;
std::atomic<std::uint64_t> g_made = 0;

}  // namespace

Streams::Streams(CudaDevice* card) : card_(card), number_(++g_made) {
    handles_.emplace(kUnknown, TM_STREAM_UNKNOWN);
}

StreamId Streams::id_of(tm_stream stream) {
    if (stream <= 1)
        return noticed(StreamId::default_stream);
    if (!known(stream))
        return noticed(kUnknown);
    if (t_last.owner != number_ || t_last.handle != stream)
        t_last = {number_, stream, look_up(stream)};
    return noticed(t_last.id);
}

StreamId Streams::id_of_kept(tm_stream stream) {
    const StreamId id = id_of(stream);
    if (card_ != nullptr)
        card_->keep(id);
    return id;
}

StreamId Streams::noticed(StreamId id) {
    // As a rule it is only read: threads that write here would wait for each other.
    if (several() || first_.load(std::memory_order_relaxed) == to_integer(id)) [[likely]]
        return id;
    std::uint64_t first = kNone;
    if (!first_.compare_exchange_strong(first, to_integer(id)) && first != to_integer(id))
        several_ = true;
    return id;
}

// Ids are dense: a simulated device has a table of its streams.
StreamId Streams::look_up(tm_stream stream) {
    {
        const std::shared_lock lock(mutex_);
        if (const auto found = ids_.find(stream); found != ids_.end())
            return found->second;
    }
    const std::lock_guard lock(mutex_);
    const auto [entry, made] = ids_.try_emplace(stream);
    if (made) {
        entry->second =
            card_ != nullptr
                ? card_->borrow(static_cast<std::uintptr_t>(stream), kFirst)
                : StreamId{to_integer(kUnknown) + static_cast<std::uint32_t>(ids_.size())};
        handles_.emplace(entry->second, stream);
    }
    return entry->second;
}

tm_stream Streams::handle_of(StreamId id) const {
    if (id == StreamId::default_stream)
        return 0;
    const std::shared_lock lock(mutex_);
    const auto found = handles_.find(id);
    return found == handles_.end() ? TM_STREAM_UNKNOWN : found->second;
}

}  // namespace tidemark::c_api
