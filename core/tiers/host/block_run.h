// BlockRun: blocks of a HostBlocks that belong together, as a value: they are returned with it.
//
// Blocks are numbered from 0 in the order in which they were taken. Not thread-safe; different runs
// of one pool may be used by different threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"

namespace tidemark {

class HostBlocks;

// Why blocks were refused: ordinary and small, as an allocator's OutOfMemory.
enum class BlockRefusal : std::uint8_t {
    capacity,  // the capacity is in use
    source,    // the source refused to pin more: HostBlocks::source_error
    no_pool,   // there is no pool to take them from
};

std::string_view to_text(BlockRefusal why);  // "the capacity is in use", ...

template <class T>
using BlockResult = tl::expected<T, BlockRefusal>;

struct HostBlock {
    Address begin = Address::null;
    std::uint32_t pool = 0;  // of its HostBlocks

    friend bool operator==(const HostBlock&, const HostBlock&) = default;
};

class BlockRun {
  public:
    BlockRun() = default;  // empty, of no pool
    BlockRun(BlockRun&& other) noexcept;
    BlockRun& operator=(BlockRun&& other) noexcept;

    // Returns the blocks, the first one on top.
    ~BlockRun() { clear(); }

    std::size_t blocks() const { return blocks_.size(); }

    Bytes size() const { return blocks() * block_size(); }

    Bytes block_size() const;  // 0 without a pool

    // Block `index`; an empty range at Address::null if there is none.
    Range block(std::size_t index) const;

    // Whether two blocks are in one piece of pinned memory. Only then may one copy of the driver
    // cover both, even if their addresses are adjacent.
    bool one_piece(std::size_t left, std::size_t right) const {
        return blocks_[left].pool == blocks_[right].pool;
    }

    // Returns the blocks from number ceil(size / block) on; does nothing if there are none.
    void trim_to(Bytes size);

    // Returns all of them.
    void clear();

  private:
    friend class HostBlocks;

    explicit BlockRun(HostBlocks& owner) : owner_(&owner) {}

    void give_back_from(std::uint64_t first);

    HostBlocks* owner_ = nullptr;
    std::vector<HostBlock> blocks_;
};

}  // namespace tidemark
