// BlockClasses: which blocks of a run belong together: by tag, by stream, by the stack that asked,
// by size or by length of life. Few classes, so that each can have a colour: those that hold the
// most bytes for the longest time have one of their own, the rest share the last.
//
// A plain value; thread-safe to read.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/timeline/history.h"

namespace tidemark {

enum class BlockTrait : std::uint8_t { tag, stream, stack, size, life };

// "tag", ...
std::string_view to_text(BlockTrait trait);

struct BlockClass {
    std::string name;         // "optimizer", "stream 7", "conv2d (model.py:12)", "10 to 12 MiB"
    double weight = 0;        // share of all bytes x events, 0 to 1, from a sample of the blocks
    bool rest = false;        // what has no class of its own
    bool blank = false;       // no tag, no stack
    std::uint32_t value = 0;  // the tag, stream or a stack of it, where it is one
    std::string end = {};     // of sizes: "12 MiB", for legends where all are in a row
};

// What a stack is called; stacks of the same name are of one class.
using StackNames = std::function<std::string(std::uint32_t stack)>;

class BlockClasses {
  public:
    // At most `most` classes (2 to 64). Without `stack_name` a stack is called by its innermost
    // frame. Sizes are cut where each class holds about as much as the others, at most eight: run
    // after run most bytes lie in a few sizes, which powers of two would put into one class.
    // O(blocks), or a sample of them if they are many.
    static BlockClasses of(const History& history, BlockTrait trait, std::size_t most = 16,
                           const StackNames& stack_name = {},
                           const std::atomic<bool>* cancel = nullptr);

    BlockTrait trait() const { return trait_; }

    // Heaviest first for tag, stream and stack; small to large and short to long for the others.
    const std::vector<BlockClass>& all() const { return classes_; }

    // An index into all(). O(1). Also of blocks born after the classes were made.
    std::uint8_t of(const Block& block) const;

    // Nothing to distinguish: all blocks are in one class.
    bool trivial() const { return classes_.size() <= 1; }

  private:
    using Weights = std::vector<double>;  // by site, or by bin of sizes or lives

    void name_sites(const History& history, const Weights& of_site, std::size_t most,
                    const StackNames& stack_name);
    void name_sizes(const Weights& of_bin, std::size_t most);
    void name_size(const Weights& of_bin, std::size_t from, std::size_t until);
    void name_lives(const Weights& of_power, std::size_t most);
    std::size_t bins() const;
    std::size_t bin(const Block& block) const;  // quarters of powers of two; powers of two of lives

    static constexpr std::size_t kPowers = 66;
    static constexpr std::size_t kForever = 65;  // the power of a life without an end
    static constexpr std::size_t kSizeBins = 4 * 64 + 1;

    BlockTrait trait_ = BlockTrait::tag;
    std::vector<BlockClass> classes_;
    std::vector<std::uint8_t> of_site_;  // tag, stream, stack
    std::vector<std::uint8_t> of_bin_;   // size, life
    std::uint8_t rest_ = 0;
};

}  // namespace tidemark
