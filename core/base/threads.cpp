// Threads of the standard library, and what becomes of its exceptions.
#include "core/base/threads.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <utility>

#include <pthread.h>

namespace tidemark {

unsigned hardware_threads() {
    return std::max(1U, std::thread::hardware_concurrency());
}

Result<Thread> Thread::start(const char* name, std::function<void()> work) {
    Thread started;
    try {
        started.thread_ = std::jthread([name, work = std::move(work)] {
            ::pthread_setname_np(::pthread_self(), name);
            work();
        });
    } catch (const std::system_error& error) {
        return fail(ErrorCode::io, std::string("cannot start a thread: ") + error.what(), name);
    }
    return started;
}

void Thread::join() {
    if (joinable())
        thread_.join();
}

std::vector<Thread> start_threads(const char* name, unsigned most,
                                  const std::function<void()>& work) {
    std::vector<Thread> threads;
    while (threads.size() < most) {
        Result<Thread> started = Thread::start(name, work);
        if (!started)
            break;
        threads.push_back(std::move(*started));
    }
    return threads;
}

bool parallel_for(std::size_t count, unsigned threads,
                  const std::function<bool(std::size_t index, unsigned thread)>& job) {
    std::atomic<std::size_t> next = 0;
    std::atomic<bool> failed = false;
    const auto work = [&](unsigned thread) {
        while (!failed.load()) {
            const std::size_t index = next.fetch_add(1);
            if (index >= count)
                return;
            if (!job(index, thread))
                failed.store(true);
        }
    };
    const std::size_t most = threads == 0 ? hardware_threads() : threads;
    const std::size_t useful = std::clamp<std::size_t>(count, 1, most);
    std::atomic<unsigned> others = 0;
    {
        const std::vector<Thread> started = start_threads(
            "tm-parallel", static_cast<unsigned>(useful - 1), [&] { work(++others); });
        work(0);
    }
    return !failed.load();
}

}  // namespace tidemark
