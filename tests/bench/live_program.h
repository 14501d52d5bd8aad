// A program to be watched, for the benches of the live view: blocks of some sizes and tags come and
// go in random order, about `kCells / 2` of them live.
//
// What it does beside telling is little: a random number and a look into a table. One thread each.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/allocator/memory_observer.h"
#include "core/base/random.h"
#include "traces/live/publisher.h"

namespace tidemark::bench {

class LiveProgram {
  public:
    // `number`: of the thread, each has addresses of its own.
    LiveProgram(MemoryObserver& observer, std::uint64_t number)
        : observer_(observer), first_((number + 1) << 40U), random_(number + 1) {
        for (int i = 0; i < kTags; ++i)
            tags_.push_back(fmt::format("layer {}", i));
    }

    // Tells of so many events, or a few more.
    void work(std::uint64_t events) {
        for (std::uint64_t done = 0; done < events; done += kPerTag) {
            const LiveScope scope(tags_[tag_++ % kTags]);
            for (std::uint64_t i = 0; i < kPerTag; ++i)
                turn_one();
        }
    }

    static constexpr std::uint64_t kPerTag = 16;  // events of a scope

  private:
    static constexpr std::size_t kCells = 40'000;
    static constexpr int kTags = 24;

    void turn_one() {
        const std::uint64_t chance = random_.next();
        const std::uint64_t cell = (chance >> 32U) * kCells >> 32U;
        std::uint32_t& size = sizes_[cell];
        const Address address{first_ + cell * 4096};
        if (size != 0) {
            observer_.on_deallocate({.address = address, .size = size}, StreamId{});
            size = 0;
        } else {
            const auto requested = static_cast<std::uint32_t>(1 + chance % 4000);
            size = (requested + 511) / 512 * 512;
            observer_.on_allocate({.size = requested}, {.address = address, .size = size});
        }
    }

    MemoryObserver& observer_;
    const std::uint64_t first_;
    Random random_;
    std::vector<std::uint32_t> sizes_ = std::vector<std::uint32_t>(kCells);  // 0: vacant
    std::vector<std::string> tags_;
    std::size_t tag_ = 0;
};

}  // namespace tidemark::bench
