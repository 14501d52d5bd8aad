// Threads of the standard library, and the handling of their exceptions.
#include "core/base/threads.h"

#include <algorithm>
#include <atomic>
#include <new>
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
        started.thrown_ = std::make_shared<std::exception_ptr>();
        started.thread_ = std::jthread([name, work = std::move(work), thrown = started.thrown_] {
            if constexpr (kHasThreads)
                ::pthread_setname_np(::pthread_self(), name);
            try {
                work();
            } catch (...) {
                *thrown = std::current_exception();
            }
        });
    } catch (const std::system_error& error) {
        return fail(ErrorCode::io, std::string("cannot start a thread: ") + error.what(), name);
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::io, "cannot start a thread: no memory", name);
    }
    return started;
}

void Thread::join() {
    if (joinable())
        thread_.join();
}

void Thread::rethrow() {
    if (thrown_ != nullptr && *thrown_ != nullptr)
        std::rethrow_exception(std::exchange(*thrown_, nullptr));
}

std::vector<Thread> start_threads(const char* name, unsigned most,
                                  const std::function<void()>& work) {
    std::vector<Thread> threads;
    threads.reserve(most);
    try {
        while (threads.size() < most) {
            Result<Thread> started = Thread::start(name, work);
            if (!started)
                break;
            threads.push_back(std::move(*started));
        }
    } catch (const std::bad_alloc&) {
        // Threads that were started may wait for the caller, so this doesn't wait for them.
    }
    return threads;
}

bool parallel_for(std::size_t count, unsigned threads,
                  const std::function<bool(std::size_t index, unsigned thread)>& job) {
    std::atomic<std::size_t> next = 0;
    std::atomic<bool> failed = false;
    std::atomic<bool> threw = false;
    std::exception_ptr thrown;  // the first
    const auto work = [&](unsigned thread) {
        try {
            while (!failed.load()) {
                const std::size_t index = next.fetch_add(1);
                if (index >= count)
                    return;
                if (!job(index, thread))
                    failed.store(true);
            }
        } catch (...) {
            failed.store(true);
            if (!threw.exchange(true))
                thrown = std::current_exception();
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
    if (thrown != nullptr)
        std::rethrow_exception(thrown);
    return !failed.load();
}

}  // namespace tidemark
