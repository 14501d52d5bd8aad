// ReadAhead: reads a large file on a thread of its own, some blocks before they are asked for. The
// copy out of the system's cache is a tenth of the time of an import; a mapping would save it too,
// but a file that somebody cuts short while it is mapped kills the program.
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
    // So many bytes in front of each block are the caller's to write to.
    static constexpr std::size_t kHeadroom = 4096;

    // `input` must outlive this, and belongs to it. Reading begins with the first call of next().
    explicit ReadAhead(RawInput& input);

    ~ReadAhead() { empty_.cancel(); }

    ReadAhead(const ReadAhead&) = delete;
    ReadAhead& operator=(const ReadAhead&) = delete;

    // The next block, valid until the call after the next; empty = the end. Errors: those of the
    // input, at the byte where they occurred. Both come again if one calls again.
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
    Block* before_ = nullptr;  // the block given before the last
    Block* last_ = nullptr;    // the block given last
    Thread worker_;            // last: it uses the queues until it is joined
};

}  // namespace tidemark
