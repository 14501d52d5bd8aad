// Stacks of slabs, one a class, over blocks that are cut up when a stack is empty.
#include "core/tiers/host_slabs.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"

namespace tidemark {

Result<std::unique_ptr<HostSlabs>> HostSlabs::create(HostBlocks& blocks) {
    if (blocks.block_size() < kLargest)
        return fail(
            ErrorCode::bad_option,
            fmt::format("blocks of {} bytes hold no slab of {}", blocks.block_size(), kLargest),
            "host slabs", "use larger blocks");
    return std::unique_ptr<HostSlabs>(new HostSlabs(blocks));
}

HostSlabs::~HostSlabs() {
    TM_CHECK(usage_.used == 0);
}

std::size_t HostSlabs::class_of(Bytes size) {
    std::size_t slab_class = 0;
    while (kSmallest << slab_class < size)
        ++slab_class;
    return slab_class;
}

BlockResult<HostSlab> HostSlabs::allocate(Bytes size) {
    if (size == 0)
        return HostSlab{};
    if (size > kLargest)
        return allocate_large(size);
    const std::size_t slab_class = class_of(size);
    HostSlab slab;
    {
        const std::lock_guard hold(mutex_);
        if (pop(slab_class, slab))
            return slab;
    }
    const std::lock_guard growing(growth_);
    {
        const std::lock_guard hold(mutex_);  // somebody else may have cut a block meanwhile
        if (pop(slab_class, slab))
            return slab;
    }
    BlockResult<BlockRun> run = source_.allocate(source_.block_size());
    if (!run)
        return tl::make_unexpected(run.error());
    const std::lock_guard hold(mutex_);
    cut(std::move(*run), slab_class);
    TM_CHECK(pop(slab_class, slab));
    return slab;
}

BlockResult<HostSlab> HostSlabs::allocate_large(Bytes size) {
    const BlockResult<Range> range = source_.allocate_apart(size);
    if (!range)
        return tl::make_unexpected(range.error());
    const std::lock_guard hold(mutex_);
    ++usage_.used;
    usage_.used_bytes += range->size;
    usage_.large_bytes += range->size;
    return HostSlab{range->begin, range->size, 0};
}

void HostSlabs::free(const HostSlab& slab) {
    if (slab.begin == Address::null)
        return;
    const bool large = slab.size > kLargest;
    if (large)
        source_.free_apart({slab.begin, slab.size});
    const std::lock_guard hold(mutex_);
    TM_CHECK(usage_.used > 0 && usage_.used_bytes >= slab.size);
    --usage_.used;
    usage_.used_bytes -= slab.size;
    if (large) {
        usage_.large_bytes -= slab.size;
        return;
    }
    Block& block = blocks_[slab.block];
    TM_CHECK_DEBUG(slab.size == kSmallest << block.slab_class);
    TM_CHECK(block.used > 0);
    --block.used;
    free_[block.slab_class].push_back(slab);
}

std::uint64_t HostSlabs::trim() {
    std::vector<BlockRun> dropped;  // goes back to the blocks without our lock
    const std::lock_guard hold(mutex_);
    for (std::vector<HostSlab>& stack : free_)
        std::erase_if(stack,
                      [this](const HostSlab& slab) { return blocks_[slab.block].used == 0; });
    for (Block& block : blocks_) {
        if (block.used == 0 && block.run.blocks() != 0)
            dropped.push_back(std::exchange(block.run, {}));
    }
    usage_.blocks -= dropped.size();
    return dropped.size();
}

HostSlabsUsage HostSlabs::usage() const {
    const std::lock_guard hold(mutex_);
    return usage_;
}

bool HostSlabs::pop(std::size_t slab_class, HostSlab& slab) {
    std::vector<HostSlab>& stack = free_[slab_class];
    if (stack.empty())
        return false;
    slab = stack.back();
    stack.pop_back();
    ++blocks_[slab.block].used;
    ++usage_.used;
    usage_.used_bytes += slab.size;
    return true;
}

// Its slabs come out in the order of their addresses.
void HostSlabs::cut(BlockRun run, std::size_t slab_class) {
    const Bytes size = kSmallest << slab_class;
    const Range range = run.block(0);
    const auto unused = std::find_if(blocks_.begin(), blocks_.end(),
                                     [](const Block& block) { return block.run.blocks() == 0; });
    const auto number = static_cast<std::uint32_t>(unused - blocks_.begin());
    if (unused == blocks_.end())
        blocks_.emplace_back();
    blocks_[number].run = std::move(run);
    blocks_[number].slab_class = static_cast<std::uint8_t>(slab_class);
    ++usage_.blocks;
    for (Bytes i = range.size / size; i > 0; --i)
        free_[slab_class].push_back({range.begin + (i - 1) * size, size, number});
}

}  // namespace tidemark
