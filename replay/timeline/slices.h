// Slices: long loops over blocks, cut into slices for all cores. Each thread takes the next slice
// when it is done with one, and stops between slices on request.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "core/base/threads.h"

namespace tidemark {

// So many threads pay for `count` items: one for each `least`, at most the cores and `most`
// (0 = the cores).
inline unsigned threads_for(std::size_t count, std::size_t least, unsigned most = 0) {
    const std::size_t useful = std::max<std::size_t>(1, count / least);
    return static_cast<unsigned>(
        std::min<std::size_t>(useful, most == 0 ? hardware_threads() : most));
}

// Calls work(thread, begin, end) for slices that make up [0, count), from `threads` threads (the
// caller's is number 0). False if it was cancelled before the end.
template <class Work>
bool in_slices(std::size_t count, unsigned threads, const std::atomic<bool>* cancel, Work&& work) {
    constexpr std::size_t kSlice = 1U << 14U;
    const std::size_t slices = (count + kSlice - 1) / kSlice;
    return parallel_for(slices, threads, [&](std::size_t slice, unsigned thread) {
        if (cancel != nullptr && cancel->load(std::memory_order_relaxed))
            return false;
        work(thread, slice * kSlice, std::min((slice + 1) * kSlice, count));
        return true;
    });
}

}  // namespace tidemark
