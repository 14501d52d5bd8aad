// Address space and bytes for the fake's memory.
//
// Plain memory is taken from the device in pieces of 2 MiB, as the driver does: smaller requests
// share one, and it goes back when the last of them is freed.
#include "tests/backends/cuda/fake/fake_memory.h"

#include <algorithm>
#include <iterator>

namespace tidemark::fake {
namespace {

constexpr std::uint64_t kPlainAlignment = 512;

std::uint64_t round_up(std::uint64_t size, std::uint64_t unit) {
    return (size + unit - 1) & ~(unit - 1);
}

Device& device_at(int ordinal) {
    return state().devices[static_cast<std::size_t>(ordinal)];
}

// Addresses with bytes behind them, that nothing refers to yet; 0 if there is no room.
std::uint64_t take_backed(std::uint64_t size, std::uint64_t alignment, const Backing& backing,
                          std::uint64_t offset) {
    State& now = state();
    const auto begin = now.arena.space().take(size, alignment);
    if (!begin)
        return 0;
    if (now.arena.back(*begin, size, backing, offset))
        return *begin;
    now.arena.space().give(*begin);
    return 0;
}

// Physical memory that counts towards the device's; null if there is not as much.
std::shared_ptr<Physical> take_physical(int ordinal, std::uint64_t size) {
    if (!charge(ordinal, size))
        return nullptr;
    auto made = std::make_shared<Physical>(ordinal, size);
    made->charged = true;
    made->offset = device_at(ordinal).bytes.take(size);
    return made;
}

// A chunk that has room for `size` bytes, at the end if it is a new one; null if there is none.
Chunk* chunk_for(int ordinal) {
    std::shared_ptr<Physical> physical = take_physical(ordinal, kUnit);
    if (!physical)
        return nullptr;
    const std::uint64_t begin = take_backed(kUnit, kUnit, physical->backing(), physical->offset);
    if (begin == 0)
        return nullptr;
    return &device_at(ordinal).chunks.emplace_back(Space(begin, kUnit), std::move(physical));
}

// A piece of a chunk that is there, or of a new one.
std::uint64_t take_small(int ordinal, Span span) {
    const std::uint64_t size = round_up(span.size, kPlainAlignment);
    std::optional<std::uint64_t> begin;
    Chunk* found = nullptr;
    for (Chunk& chunk : device_at(ordinal).chunks) {
        begin = chunk.space.take(size, kPlainAlignment);
        found = &chunk;
        if (begin)
            break;
    }
    if (!begin) {
        found = chunk_for(ordinal);
        if (found == nullptr)
            return 0;
        begin = found->space.take(size, kPlainAlignment);
    }
    span.physical = found->physical;
    state().spans.emplace(*begin, std::move(span));
    return *begin;
}

void give_small(int ordinal, std::uint64_t address) {
    std::vector<Chunk>& chunks = device_at(ordinal).chunks;
    const auto chunk = std::find_if(chunks.begin(), chunks.end(),
                                    [&](const Chunk& each) { return each.space.covers(address); });
    state().spans.erase(address);
    chunk->space.give(address);
    if (!chunk->space.empty())
        return;
    const std::uint64_t begin = address & ~(kUnit - 1);
    state().arena.unback(begin, kUnit);
    state().arena.space().give(begin);
    chunks.erase(chunk);
}

// Has the program made all of the range reachable for devices?
bool registered(std::uint64_t address, std::uint64_t size) {
    auto found = state().registered.upper_bound(address);
    if (found == state().registered.begin())
        return false;
    --found;
    const std::uint64_t offset = address - found->first;
    return offset < found->second && found->second - offset >= size;
}

bool allows(const Span& span, bool write, int device) {
    if (device < 0 || span.device < 0)
        return (write ? span.writers : span.readers) != 0;
    return ((write ? span.writers : span.readers) >> device & 1) != 0;
}

}  // namespace

bool charge(int device, std::uint64_t size) {
    std::uint64_t& used = device_at(device).used;
    if (size > state().config.memory - used)
        return false;
    used += size;
    return true;
}

void refund(int device, std::uint64_t size) {
    device_at(device).used -= size;
}

std::uint64_t take_plain(int device, std::uint64_t size) {
    if (size > state().config.memory)
        return 0;
    Span span{.kind = Span::Kind::plain, .size = size, .device = device};
    if (size < kUnit)
        return take_small(device, std::move(span));
    span.physical = take_physical(device, round_up(size, kUnit));
    return span.physical ? take_span(std::move(span), kUnit) : 0;
}

void give_plain(std::uint64_t address) {
    const Span& span = state().spans.at(address);
    if (span.size < kUnit)
        return give_small(span.device, address);
    give_span(address);
}

std::uint64_t take_pooled(Span::Kind kind, int device, std::uint64_t size) {
    Span span{.kind = kind, .size = size, .device = device};
    span.physical = take_physical(device, size);
    return span.physical ? take_span(std::move(span), kPoolUnit) : 0;
}

bool back_graph_block(std::uint64_t address, const GraphBlock& block) {
    Span span{.kind = Span::Kind::graph, .size = block.size, .device = block.device};
    span.physical = take_physical(block.device, block.size);
    if (!span.physical ||
        !state().arena.back(address, block.size, span.physical->backing(), span.physical->offset))
        return false;
    state().spans.emplace(address, std::move(span));
    return true;
}

std::uint64_t take_span(Span span, std::uint64_t alignment) {
    const std::uint64_t address = take_backed(round_up(span.physical->size, 4096), alignment,
                                              span.physical->backing(), span.physical->offset);
    if (address != 0)
        state().spans.emplace(address, std::move(span));
    return address;
}

void give_span(std::uint64_t address) {
    Arena& arena = state().arena;
    state().spans.erase(address);
    arena.unback(address, arena.space().give(address));
}

const std::pair<const std::uint64_t, Span>* find_span(std::uint64_t address) {
    auto found = state().spans.upper_bound(address);
    if (found == state().spans.begin())
        return nullptr;
    --found;
    return address - found->first < found->second.size ? &*found : nullptr;
}

bool reachable(std::uint64_t address, std::uint64_t size, bool write, int device) {
    const std::uint64_t end = address + size;
    if (end < address)
        return false;
    if (!state().arena.covers(address))
        return (device < 0 && address != 0) || registered(address, size);
    while (address < end) {
        const auto* const found = find_span(address);
        if (found == nullptr || !allows(found->second, write, device))
            return false;
        address = found->first + found->second.size;
    }
    return true;
}

}  // namespace tidemark::fake
