// BlockClasses: which blocks of a run belong together: by tag, stream, pool, the stack that
// allocated them, the module of that stack, the annotation that was open, size or lifetime. Few
// classes, so that each can have a colour: those that hold the most bytes for the longest time have
// one of their own, the rest share the last.
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
#include "replay/timeline/innermost_annotations.h"

namespace tidemark {

enum class BlockTrait : std::uint8_t {
    tag,
    stream,
    stack,
    size,
    life,
    pool,
    module,      // a name for a part of the program that many stacks share
    annotation,  // the innermost one that was open when the block was allocated
};

// "tag", ...
std::string_view to_text(BlockTrait trait);

struct BlockClass {
    std::string name;         // "optimizer", "stream 7", "conv2d (model.py:12)", "10 to 12 MiB"
    double weight = 0;        // share of all bytes x events, 0 to 1, from a sample of the blocks
    bool rest = false;        // what has no class of its own
    bool blank = false;       // no tag, no stack
    std::uint32_t value = 0;  // the tag, stream, pool, annotation's name or a stack of it
    std::string end = {};     // of sizes: "12 MiB", for legends where all are in a row
    Bytes least = 0;          // of sizes: those from `least` to `most`, both included
    Bytes most = ~Bytes{0};
};

// "pool 2: graph": its number and, if it has one, its name.
std::string pool_title(const History& history, PoolId pool);

// What a stack, or its module, is called; stacks of the same name are of one class.
using StackNames = std::function<std::string(std::uint32_t stack)>;

class BlockClasses {
  public:
    // At most `most` classes (2 to 64). Without `stack_name` a stack is called by its innermost
    // frame. Sizes are cut where each class holds about as much as the others, at most eight: in
    // most runs a few sizes have most of the bytes, and powers of two would put them into one
    // class. O(blocks), or a sample of them if they are many.
    static BlockClasses of(const History& history, BlockTrait trait, std::size_t most = 16,
                           const StackNames& stack_name = {},
                           const std::atomic<bool>* cancel = nullptr);

    BlockTrait trait() const { return trait_; }

    // Small to large and short to long for size and life; heaviest first for the others.
    const std::vector<BlockClass>& all() const { return classes_; }

    // An index into all(). O(1), by annotation O(log annotations). Also of blocks born after the
    // classes were made.
    std::uint8_t of(const Block& block) const;

    // Nothing to distinguish: all blocks are in one class.
    bool trivial() const { return classes_.size() <= 1; }

  private:
    using Weights = std::vector<double>;  // by site, annotation's name, or bin of sizes or lives

    struct Named {
        std::uint32_t value = 0;
        std::string name;
    };

    // Groups of what is weighed, called by the same name; `name` says how, and of what a group is.
    void name_groups(const Weights& weights, std::size_t most,
                     const std::function<Named(std::uint32_t)>& name);
    void name_sites(const History& history, const Weights& of_site, std::size_t most,
                    const StackNames& stack_name);
    void name_annotations(const History& history, const Weights& of_name, std::size_t most);
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
    std::vector<std::uint8_t> of_site_;  // by site; of annotations by name
    std::vector<std::uint8_t> of_bin_;   // size, life
    InnermostAnnotations annotations_;
    std::uint8_t rest_ = 0;
};

}  // namespace tidemark
