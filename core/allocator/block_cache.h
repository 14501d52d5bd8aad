// BlockCache: blocks that one thread freed and that were kept for its next requests of the same
// size and stream, instead of going back to the policy. A hit needs neither the policy nor the
// device.
//
// Sizes are rounded up to 256 bytes, which most policies do anyway. A block serves only requests of
// the rounded size that it was granted for, so a cache wastes no memory inside blocks. A cache is
// bounded by a budget of bytes, by the size of a block, and by use: it drops blocks that were not
// requested while many blocks came and went (the low-water marks of TCMalloc's thread caches).
//
// Block is whatever its owner identifies a block by. Not thread-safe. take and put are O(1)
// expected.
#pragma once

#include <algorithm>
#include <atomic>
#include <optional>
#include <vector>

#include "core/allocator/allocator.h"
#include "core/base/hash_index.h"

namespace tidemark {

// How much a thread may keep for itself.
struct ThreadCaches {
    Bytes budget = 0;      // bytes for each thread; 0: no caches
    unsigned threads = 0;  // with a cache of their own (a power of two); 0: as many as run
    // A thread keeps at most the peak of granted memory divided by this; 0: no such bound.
    std::uint32_t part = 0;

    // The largest block that is kept.
    Bytes largest() const { return budget / 4; }

    // Whether caches may serve requests like this one. Not those for private pools: their memory is
    // planned, and ends with the pool.
    bool serve(const Request& request) const {
        return request.size <= largest() && request.alignment <= kAlignment &&
               request.pool == PoolId::default_pool && budget != 0;
    }

    // Whether the block that was granted to `request` may be kept.
    bool keep(const Request& request, const Allocation& granted) const {
        return serve(request) && to_integer(granted.address) % kAlignment == 0 &&
               rounded(request.size) <= granted.size;
    }

    // The request that the policy gets for a request that `serve` takes.
    static Bytes rounded(Bytes size) { return align_up(std::max(size, Bytes{1}), kUnit); }

    // 1/2048 of the device's memory, from 4 to 64 MiB: enough for what a thread uses again and
    // again. And 1/1024 of what the program uses, so that eight threads keep less than a percent.
    static ThreadCaches for_device(const Device& device) {
        return {.budget = std::clamp(device.memory().total / 2048, 4_MiB, 64_MiB), .part = 1024};
    }

  private:
    static constexpr Bytes kUnit = 256;
    static constexpr Bytes kAlignment = 512;  // of every block that is kept
};

// How much a thread may keep now; it grows with the program. Only one thread at a time may call
// note(); any thread may call now().
class CacheBudget {
  public:
    explicit CacheBudget(const ThreadCaches& caches)
        : caches_(caches), budget_(caches.part == 0 ? caches.budget : at_most(kLeast)) {}

    CacheBudget(const CacheBudget&) = delete;

    // Continues from the state of the other one.
    CacheBudget& operator=(const CacheBudget& other) {
        caches_ = other.caches_;
        budget_.store(other.budget_.load(std::memory_order_relaxed), std::memory_order_relaxed);
        return *this;
    }

    // This much is granted now. O(1).
    void note(Bytes granted) {
        if (caches_.part == 0 || granted / caches_.part <= budget_.load(std::memory_order_relaxed))
            return;
        budget_.store(at_most(granted / caches_.part), std::memory_order_relaxed);
    }

    ThreadCaches now() const {
        ThreadCaches caches = caches_;
        caches.budget = budget_.load(std::memory_order_relaxed);
        return caches;
    }

  private:
    static constexpr Bytes kLeast = 1_MiB;

    Bytes at_most(Bytes wanted) const { return std::min(caches_.budget, wanted); }

    ThreadCaches caches_;
    std::atomic<Bytes> budget_;
};

// When to empty the caches of all threads so that the policy need not reserve more memory: only if
// enough requests have come since the last time that refilling the caches costs each of them
// little. Otherwise the program is still growing, and would empty them at each step.
class Emptying {
  public:
    // `granted` counts all requests so far; `blocks` would be freed. True counts as done.
    bool pays(std::uint64_t granted, std::uint64_t blocks) {
        if (granted - granted_then_ < kRequestsForBlock * blocks)
            return false;
        granted_then_ = granted;
        return true;
    }

  private:
    static constexpr std::uint64_t kRequestsForBlock = 4;

    std::uint64_t granted_then_ = 0;
};

template <class Block>
class BlockCache {
  public:
    explicit BlockCache(ThreadCaches settings = {}) : budget_(settings.budget) {}

    // The most that it holds from now on.
    void set_budget(Bytes budget) { budget_ = budget; }

    // The newest block for a request of `size` (rounded) on `stream`, or none.
    std::optional<Block> take(Bytes size, StreamId stream) {
        const std::uint32_t number = numbers_.find(key(size, stream));
        if (number == HashIndex::kNothing || bins_[number].blocks.empty())
            return std::nullopt;
        Bin& bin = bins_[number];
        const Kept kept = bin.blocks.back();
        bin.blocks.pop_back();
        bin.idle = std::min(bin.idle, bin.blocks.size());
        bytes_ -= kept.size;
        return kept.block;
    }

    // Keeps a block of `granted` bytes for requests of `size` (rounded) on `stream`. True: call
    // give_up now.
    bool put(Block block, Bytes size, Bytes granted, StreamId stream) {
        const std::uint64_t bin_key = key(size, stream);
        std::uint32_t number = numbers_.find(bin_key);
        if (number == HashIndex::kNothing) {
            number = static_cast<std::uint32_t>(bins_.size());
            numbers_.insert(bin_key, number);
            bins_.push_back({.key = bin_key, .blocks = {}});
        }
        bins_[number].blocks.push_back({block, granted});
        bytes_ += granted;
        return ++puts_ >= kPeriod || bytes_ > budget_;
    }

    // Appends to `given_up` the blocks that no request has needed since the last time. If the cache
    // still exceeds its budget, it also appends the largest blocks until it doesn't: that frees the
    // most bytes with the fewest calls, and small sizes, of which there are many, stay cached.
    // O(blocks and sizes).
    void give_up(std::vector<Block>& given_up) {
        for (Bin& bin : bins_)
            give_up(bin, bin.idle, given_up);
        if (bytes_ > budget_)
            give_up_largest(given_up);
        end_period();
    }

    // Appends everything to `given_up`. O(blocks).
    void empty(std::vector<Block>& given_up) {
        for (Bin& bin : bins_)
            give_up(bin, bin.blocks.size(), given_up);
        end_period();
    }

    Bytes bytes() const { return bytes_; }  // granted

    std::size_t blocks() const {  // O(sizes)
        std::size_t count = 0;
        for (const Bin& bin : bins_)
            count += bin.blocks.size();
        return count;
    }

    template <class Visit>
    void for_each(Visit visit) const {
        for (const Bin& bin : bins_) {
            for (const Kept& kept : bin.blocks)
                visit(kept.block);
        }
    }

  private:
    static constexpr unsigned kPeriod = 4096;        // number of blocks put
    static constexpr std::size_t kMostSizes = 1024;  // beyond that, empty bins are removed

    struct Kept {
        Block block;
        Bytes size;
    };

    struct Bin {
        std::uint64_t key = 0;
        std::vector<Kept> blocks;  // the newest is at the end
        std::size_t idle = 0;      // the first so many have been here since the period began
    };

    static std::uint64_t key(Bytes size, StreamId stream) {
        return size / 256 << 32 | static_cast<std::uint32_t>(stream);
    }

    void give_up(Bin& bin, std::size_t count, std::vector<Block>& given_up) {
        const auto end = bin.blocks.begin() + static_cast<std::ptrdiff_t>(count);
        for (auto kept = bin.blocks.begin(); kept != end; ++kept) {
            bytes_ -= kept->size;
            given_up.push_back(kept->block);
        }
        bin.blocks.erase(bin.blocks.begin(), end);
    }

    void give_up_largest(std::vector<Block>& given_up) {
        std::vector<Bin*> by_size;
        for (Bin& bin : bins_)
            by_size.push_back(&bin);
        std::sort(by_size.begin(), by_size.end(),
                  [](const Bin* a, const Bin* b) { return a->key > b->key; });
        const Bytes wanted = budget_ - budget_ / 32;  // so that it isn't full again immediately
        for (Bin* bin : by_size) {
            if (bytes_ <= wanted)
                return;
            if (bin->blocks.empty())
                continue;
            const Bytes size = bin->blocks.front().size;  // about that of all
            give_up(*bin, std::min<Bytes>(bin->blocks.size(), (bytes_ - wanted + size - 1) / size),
                    given_up);
        }
    }

    void end_period() {
        puts_ = 0;
        for (Bin& bin : bins_)
            bin.idle = bin.blocks.size();
        if (bins_.size() > kMostSizes)
            forget_empty_bins();
    }

    // For programs whose sizes don't recur.
    void forget_empty_bins() {
        std::vector<Bin> left;
        numbers_ = {};
        for (Bin& bin : bins_) {
            if (bin.blocks.empty())
                continue;
            numbers_.insert(bin.key, static_cast<std::uint32_t>(left.size()));
            left.push_back(std::move(bin));
        }
        bins_ = std::move(left);
    }

    Bytes budget_;
    Bytes bytes_ = 0;
    unsigned puts_ = 0;
    HashIndex numbers_;  // of bins, by size and stream
    std::vector<Bin> bins_;
};

}  // namespace tidemark
