// Slices: long loops over blocks, cut into slices for all cores. Each thread takes the next slice
// when it is done with one, and stops between slices on request.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace tidemark {

// So many threads pay for `count` items: one for each `least`, at most the cores and `most`
// (0 = the cores).
inline unsigned threads_for(std::size_t count, std::size_t least, unsigned most = 0) {
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    const std::size_t useful = std::max<std::size_t>(1, count / least);
    return static_cast<unsigned>(std::min<std::size_t>(useful, most == 0 ? cores : most));
}

// Calls work(thread, begin, end) for slices that make up [0, count), from `threads` threads (this
// one is the first). False if it was cancelled before the end.
template <class Work>
bool in_slices(std::size_t count, unsigned threads, const std::atomic<bool>* cancel, Work&& work) {
    constexpr std::size_t kSlice = 1U << 14U;
    std::atomic<std::size_t> next = 0;
    const auto run = [&](unsigned thread) {
        while (cancel == nullptr || !cancel->load(std::memory_order_relaxed)) {
            const std::size_t begin = next.fetch_add(kSlice);
            if (begin >= count)
                return;
            work(thread, begin, std::min(begin + kSlice, count));
        }
    };
    std::vector<std::thread> others;
    for (unsigned thread = 1; thread < threads; ++thread)
        others.emplace_back(run, thread);
    run(0);
    for (std::thread& other : others)
        other.join();
    return next.load() >= count;
}

}  // namespace tidemark
