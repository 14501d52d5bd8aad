// Pools of stream-ordered memory.
#include "tests/backends/cuda/fake/fake_pool.h"

#include <algorithm>

#include "tests/backends/cuda/fake/fake_memory.h"
#include "tests/backends/cuda/fake/fake_queue.h"

namespace tidemark::fake {
namespace {

std::uint64_t rounded(std::uint64_t size) {
    return (size + kPoolUnit - 1) & ~(kPoolUnit - 1);
}

bool usable_by(const PoolBlock& block, std::uint64_t stream) {
    return !block.live && (block.freed.stream == stream || reached(block.freed));
}

// A free piece that fits without wasting half of it; 0 if there is none.
std::uint64_t reuse(std::uint64_t pool, std::uint64_t size, std::uint64_t stream) {
    std::uint64_t best = 0;
    std::uint64_t best_size = 2 * size;
    for (const auto& [address, block] : state().pool_blocks) {
        if (block.pool == pool && block.size >= size && block.size < best_size &&
            usable_by(block, stream)) {
            best = address;
            best_size = block.size;
        }
    }
    return best;
}

void count_use(Pool& pool, std::uint64_t size) {
    pool.used += size;
    pool.used_high = std::max(pool.used_high, pool.used);
}

bool free_pool_block(std::uint64_t address, Point point) {
    const auto found = state().pool_blocks.find(address);
    if (found == state().pool_blocks.end() || !found->second.live)
        return false;
    found->second.live = false;
    found->second.freed = point;
    state().pools.at(found->second.pool).used -= found->second.size;
    return true;
}

bool free_graph_block(std::uint64_t address) {
    const auto found = state().graph_blocks.find(address);
    if (found == state().graph_blocks.end() || !found->second.live)
        return false;
    found->second.live = false;
    return true;
}

}  // namespace

std::uint64_t take_from_pool(std::uint64_t id, std::uint64_t size, std::uint64_t stream) {
    Pool& pool = state().pools.at(id);
    if (size == 0 || size > state().config.memory)
        return 0;
    std::uint64_t address = reuse(id, rounded(size), stream);
    if (address == 0) {
        address = take_pooled(Span::Kind::pool, pool.device, rounded(size));
        if (address == 0)
            return 0;
        state().pool_blocks[address] = {.pool = id, .size = rounded(size)};
        pool.reserved += rounded(size);
        pool.reserved_high = std::max(pool.reserved_high, pool.reserved);
    }
    PoolBlock& block = state().pool_blocks.at(address);
    block.live = true;
    count_use(pool, block.size);
    return address;
}

Code free_on_stream(std::uint64_t address, std::uint64_t stream) {
    if (free_graph_block(address))
        return Code::success;
    // The free is work of its own, so that other streams get the memory after it.
    const auto found = state().pool_blocks.find(address);
    if (found == state().pool_blocks.end() || !found->second.live)
        return Code::invalid_value;
    const Code queued = enqueue(stream, {});
    if (queued != Code::success)
        return queued;
    const std::uint64_t pool = found->second.pool;
    free_pool_block(address, tip(stream));
    if (state().pools.at(pool).doomed)
        end_pool(pool);
    return queued;
}

bool granted(std::uint64_t address, std::uint64_t size) {
    auto block = state().pool_blocks.upper_bound(address);
    if (block != state().pool_blocks.begin())
        --block;
    for (; block != state().pool_blocks.end() && block->first < address + size; ++block) {
        if (!block->second.live && address < block->first + block->second.size)
            return false;
    }
    return true;
}

bool free_now(std::uint64_t address) {
    return free_graph_block(address) || free_pool_block(address, {});
}

void trim_pool(std::uint64_t id, std::uint64_t keep) {
    Pool& pool = state().pools.at(id);
    std::vector<std::uint64_t> unused;
    for (const auto& [address, block] : state().pool_blocks) {
        if (block.pool == id && !block.live && reached(block.freed))
            unused.push_back(address);
    }
    while (pool.reserved > keep && !unused.empty()) {
        const std::uint64_t address = unused.back();
        unused.pop_back();
        pool.reserved -= state().pool_blocks.at(address).size;
        state().pool_blocks.erase(address);
        give_span(address);
    }
}

void end_pool(std::uint64_t id) {
    Pool& pool = state().pools.at(id);
    pool.doomed = true;
    const bool usable = state().devices[static_cast<std::size_t>(pool.device)].context != 0;
    if (pool.used != 0 && usable)
        return;
    for (auto& [address, block] : state().pool_blocks) {
        if (block.pool == id && block.live)
            free_pool_block(address, {});
    }
    finish_all(0);
    trim_pool(id, 0);
    state().pools.erase(id);
}

void end_doomed_pools(int device) {
    std::vector<std::uint64_t> doomed;
    for (const auto& [id, pool] : state().pools) {
        if (pool.doomed && pool.device == device)
            doomed.push_back(id);
    }
    for (const std::uint64_t id : doomed)
        end_pool(id);
}

Code after_waiting(const Context& context) {
    for (auto& [id, pool] : state().pools) {
        if (pool.device == context.device)
            trim_pool(id, pool.threshold);
    }
    return context.lost;
}

std::uint64_t take_graph_block(int device, std::uint64_t size) {
    const std::uint64_t whole = (size + kUnit - 1) & ~(kUnit - 1);
    const auto address = state().arena.space().take(whole, kUnit);
    if (!address)
        return 0;
    state().graph_blocks[*address] = {.size = whole, .device = device};
    return *address;
}

}  // namespace tidemark::fake
