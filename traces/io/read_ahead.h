// ReadAhead: reads a large file on its own thread, a few blocks in advance. Copying out of the
// system's cache takes 10 % of the time of an import. A mapping would save that too, but the
// program is killed if somebody truncates a file while it is mapped.
//
// To be used by one thread. Memory: four blocks.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/base/threads.h"
#include "core/base/work_queue.h"
#include "traces/io/raw_input.h"

namespace tidemark {

class ReadAhead {
  public:
    // The caller may write to this many bytes in front of each block.
    static constexpr std::size_t kHeadroom = 4096;

    // `input` must outlive this, and nobody else may use it. Reading starts with the first call of
    // next().
    explicit ReadAhead(RawInput& input);

    ~ReadAhead() { empty_.cancel(); }

    ReadAhead(const ReadAhead&) = delete;
    ReadAhead& operator=(const ReadAhead&) = delete;

    // The next block, valid until the call after the next; empty = the end. Errors: those of the
    // input, at the byte where they occurred. Further calls return the same.
    Result<std::span<std::byte>> next();

  private:
    struct Block {
        std::vector<std::byte> bytes;
        Result<std::size_t> filled = std::size_t{0};

        // The end, or an error.
        bool is_last() const { return !filled || *filled == 0; }
    };

    void work();
    void fill(Block& block);

    RawInput& input_;
    bool started_ = false;
    std::array<Block, 4> blocks_;
    WorkQueue<Block*> empty_;
    WorkQueue<Block*> filled_;
    Block* before_ = nullptr;  // the block before the last one returned
    Block* last_ = nullptr;    // the last block returned
    Thread worker_;            // last: it uses the queues until it is joined
};

}  // namespace tidemark
