// ParallelChunkEncoder: encodes chunks on several threads at once and returns them in the order in
// which they came, so that the bytes do not depend on the number of threads.
//
// To be used by one thread, which encodes chunks itself when it would have to wait: two threads on
// two processors are never idle, and it works the same without any helper.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "core/base/threads.h"
#include "traces/io/growing_array.h"
#include "traces/tmk/chunk.h"

namespace tidemark::tmk {

struct EncodedChunk {
    GrowingArray<TraceEvent> events;  // what was encoded
    ChunkHeader header;
    ByteWriter payload;
};

class ParallelChunkEncoder {
  public:
    // At most `helpers` threads besides the caller's; they start with the first chunk that is full.
    explicit ParallelChunkEncoder(unsigned helpers) : helpers_(helpers) {}

    ~ParallelChunkEncoder();
    ParallelChunkEncoder(const ParallelChunkEncoder&) = delete;
    ParallelChunkEncoder& operator=(const ParallelChunkEncoder&) = delete;

    // Takes the next chunk's events (1 to kChunkEvents), from number `first_event` on.
    void give(std::unique_ptr<EncodedChunk> chunk, std::uint64_t first_event);

    // The oldest chunk that has not been taken yet. Nothing if there is none, or if it is not done
    // and `wait` is false. Throws what encoding threw in a helper.
    std::unique_ptr<EncodedChunk> take(bool wait);

    // Chunks given and not taken.
    std::size_t count() const { return jobs_.size(); }

    // This many chunks keep every helper busy while the caller gathers events: 3 MiB each.
    std::size_t capacity() const { return std::size_t{helpers_} + 1; }

    // For all chunks taken so far, and perhaps some more.
    Limits limits();

  private:
    enum class State : std::uint8_t { waiting, taken_up, done };

    struct Job {
        std::unique_ptr<EncodedChunk> chunk;
        std::uint64_t first_event = 0;
        State state = State::waiting;
    };

    void start();
    void work();
    bool encode_one(ChunkEncoder& encoder, std::unique_lock<std::mutex>& lock);

    unsigned helpers_;
    ChunkEncoder own_;  // the caller's

    std::mutex mutex_;  // guards what follows; only the caller adds and removes jobs
    std::condition_variable changed_;
    std::deque<Job> jobs_;  // oldest first; stay where they are while others come and go
    Limits limits_;
    bool stopping_ = false;
    std::exception_ptr thrown_;    // by a helper that has ended
    std::vector<Thread> threads_;  // last: they use all of the above until they are joined
};

}  // namespace tidemark::tmk
