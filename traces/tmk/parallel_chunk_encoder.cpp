// One lock, taken a few times a chunk: a chunk is milliseconds of work.
#include "traces/tmk/parallel_chunk_encoder.h"

#include <algorithm>
#include <utility>

namespace tidemark::tmk {

ParallelChunkEncoder::~ParallelChunkEncoder() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
}

void ParallelChunkEncoder::start() {
    threads_ = start_threads("tm-encode", helpers_, [this] {
        try {
            work();
        } catch (...) {
            const std::lock_guard lock(mutex_);
            thrown_ = std::current_exception();
            changed_.notify_all();
        }
    });
    helpers_ = static_cast<unsigned>(threads_.size());
}

void ParallelChunkEncoder::give(std::unique_ptr<EncodedChunk> chunk, std::uint64_t first_event) {
    if (threads_.size() < helpers_ && chunk->events.size() == kChunkEvents)
        start();
    {
        const std::lock_guard lock(mutex_);
        jobs_.push_back({std::move(chunk), first_event});
    }
    changed_.notify_all();
}

std::unique_ptr<EncodedChunk> ParallelChunkEncoder::take(bool wait) {
    std::unique_lock lock(mutex_);
    while (!jobs_.empty() && jobs_.front().state != State::done) {
        if (!wait)
            return nullptr;
        if (!encode_one(own_, lock))
            changed_.wait(
                lock, [this] { return jobs_.front().state == State::done || thrown_ != nullptr; });
        if (thrown_ != nullptr)
            std::rethrow_exception(thrown_);
    }
    if (jobs_.empty())
        return nullptr;
    std::unique_ptr<EncodedChunk> chunk = std::move(jobs_.front().chunk);
    jobs_.pop_front();
    return chunk;
}

// False if no chunk waits.
bool ParallelChunkEncoder::encode_one(ChunkEncoder& encoder, std::unique_lock<std::mutex>& lock) {
    const auto job =
        std::ranges::find(jobs_, State::waiting, [](const Job& each) { return each.state; });
    if (job == jobs_.end())
        return false;
    Job& mine = *job;
    mine.state = State::taken_up;
    EncodedChunk& chunk = *mine.chunk;
    const std::uint64_t first_event = mine.first_event;
    lock.unlock();
    chunk.payload.clear();
    chunk.header =
        encoder.encode(chunk.events.view(0, chunk.events.size()), first_event, chunk.payload);
    lock.lock();
    mine.state = State::done;
    limits_.widen(encoder.limits());
    changed_.notify_all();
    return true;
}

void ParallelChunkEncoder::work() {
    ChunkEncoder encoder;
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        if (!encode_one(encoder, lock))
            changed_.wait(lock);
    }
}

Limits ParallelChunkEncoder::limits() {
    const std::lock_guard lock(mutex_);
    return limits_;
}

}  // namespace tidemark::tmk
