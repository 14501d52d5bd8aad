// ReadAhead: reads a large file on a thread of its own, some blocks before they are asked for. The
// copy out of the system's cache is a tenth of the time of an import; a mapping would save it too,
// but a file that somebody cuts short while it is mapped kills the program.
//
// To be used by one thread. Memory: four blocks.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "core/base/result.h"
#include "traces/io/raw_input.h"

namespace tidemark {

class ReadAhead {
  public:
    // So many bytes in front of each block are the caller's to write to.
    static constexpr std::size_t kHeadroom = 4096;

    // `input` must outlive this, and belongs to it. Reading begins with the first call of next().
    explicit ReadAhead(RawInput& input) : input_(input) {}

    ~ReadAhead();
    ReadAhead(const ReadAhead&) = delete;
    ReadAhead& operator=(const ReadAhead&) = delete;

    // The next block, valid until the call after the next; empty = the end. Errors: those of the
    // input, at the offset where they occurred. Both come again if one asks again.
    Result<std::span<std::byte>> next();

  private:
    struct Block {
        std::vector<std::byte> bytes;
        Result<std::size_t> filled = std::size_t{0};
    };

    void work();
    void fill(Block& block);
    static bool is_last(const Block& block);

    RawInput& input_;
    std::thread worker_;
    bool started_ = false;
    std::array<Block, 4> blocks_;  // a ring: two are the caller's, the others are read or wait

    std::mutex mutex_;  // guards what follows
    std::condition_variable changed_;
    std::size_t read_ = 0;   // blocks that have been read
    std::size_t given_ = 0;  // blocks that the caller has had; the last is in use
    bool stopping_ = false;
};

}  // namespace tidemark
