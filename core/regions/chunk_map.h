// ChunkMap: which chunks of a run of addresses are mapped, and which of those are under a hole.
//
// Chunks are numbered from the run's start. An idle chunk is mapped and is entirely inside a free
// block, its owner; the highest idle chunk is the next to be removed. A value. Not thread-safe.
// O(chunks / 64) a call, plus the idle chunks of a block that changes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/check.h"
#include "core/regions/blocks.h"

namespace tidemark {

// From `begin` up to but excluding `end`; empty if end <= begin.
struct ChunkRange {
    std::size_t begin = 0;
    std::size_t end = 0;
};

class ChunkMap {
  public:
    std::size_t mapped_count() const { return mapped_count_; }

    std::size_t idle_count() const { return idle_count_; }

    bool is_mapped(std::size_t chunk) const {
        return chunk < count() && (mapped_[chunk / 64] & bit(chunk)) != 0;
    }

    // Are all of them? Chunks beyond the highest that was ever mapped are not.
    bool all_mapped(ChunkRange range) const {
        bool all = range.end <= count();
        for_each_word(all ? range : ChunkRange{}, [&](std::size_t word, std::uint64_t mask) {
            all = all && (mapped_[word] & mask) == mask;
        });
        return all;
    }

    void map(std::size_t chunk) {
        if (chunk >= count()) {
            mapped_.resize(chunk / 64 + 1);
            idle_.resize(mapped_.size());
            owners_.resize(count());
        }
        mapped_[chunk / 64] |= bit(chunk);
        ++mapped_count_;
    }

    // One that isn't idle.
    void unmap(std::size_t chunk) {
        mapped_[chunk / 64] &= ~bit(chunk);
        --mapped_count_;
    }

    // `range` is entirely inside the free block `owner`: its mapped chunks are idle.
    void own(ChunkRange range, BlockId owner) {
        for_each_word(clipped(range), [&](std::size_t word, std::uint64_t mask) {
            const std::uint64_t idle = mapped_[word] & mask;
            idle_[word] |= idle;
            idle_count_ += static_cast<std::size_t>(std::popcount(idle));
            for (std::uint64_t rest = idle; rest != 0; rest &= rest - 1)
                owners_[word * 64 + static_cast<std::size_t>(std::countr_zero(rest))] = owner;
        });
    }

    // It no longer is.
    void disown(ChunkRange range) {
        for_each_word(clipped(range), [&](std::size_t word, std::uint64_t mask) {
            idle_count_ -= static_cast<std::size_t>(std::popcount(idle_[word] & mask));
            idle_[word] &= ~mask;
        });
    }

    // Unmaps the highest idle chunk, which must exist. Returns its owner.
    BlockId unmap_highest() {
        TM_CHECK(idle_count_ != 0);
        std::size_t word = idle_.size() - 1;
        while (idle_[word] == 0)
            --word;
        const std::size_t chunk =
            word * 64 + static_cast<std::size_t>(std::bit_width(idle_[word])) - 1;
        idle_[word] &= ~bit(chunk);
        --idle_count_;
        unmap(chunk);
        return owners_[chunk];
    }

  private:
    std::size_t count() const { return mapped_.size() * 64; }

    static constexpr std::uint64_t bit(std::size_t chunk) {
        return std::uint64_t{1} << (chunk % 64);
    }

    ChunkRange clipped(ChunkRange range) const {
        return {range.begin, range.end < count() ? range.end : count()};
    }

    // visit(word, mask) for each word that `range` touches.
    template <class Visit>
    static void for_each_word(ChunkRange range, Visit visit) {
        for (std::size_t begin = range.begin; begin < range.end;) {
            const std::size_t word = begin / 64;
            const std::size_t end = range.end < (word + 1) * 64 ? range.end : (word + 1) * 64;
            const std::size_t length = end - begin;
            const std::uint64_t ones =
                length == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << length) - 1;
            visit(word, ones << (begin % 64));
            begin = end;
        }
    }

    std::vector<std::uint64_t> mapped_;  // a bit a chunk
    std::vector<std::uint64_t> idle_;
    std::vector<BlockId> owners_;  // of idle chunks
    std::size_t mapped_count_ = 0;
    std::size_t idle_count_ = 0;
};

}  // namespace tidemark
