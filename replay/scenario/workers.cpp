// The jobs' only shared state is the number of the next one.
#include "replay/scenario/workers.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace tidemark {

void run_jobs(std::size_t count, unsigned threads,
              const std::function<bool(std::size_t index)>& job) {
    std::atomic<std::size_t> next = 0;
    std::atomic<bool> failed = false;
    const auto work = [&] {
        for (;;) {
            const std::size_t index = next.fetch_add(1);
            if (index >= count || failed.load())
                return;
            if (!job(index))
                failed.store(true);
        }
    };
    const unsigned wished = threads == 0 ? std::thread::hardware_concurrency() : threads;
    const std::size_t wanted = std::clamp<std::size_t>(wished, 1, std::max<std::size_t>(count, 1));
    std::vector<std::jthread> others;
    try {
        for (std::size_t i = 1; i < wanted; ++i)
            others.emplace_back(work);
    } catch (const std::system_error&) {
        // Fewer threads than wished for: the work gets done all the same.
    }
    work();
}

}  // namespace tidemark
