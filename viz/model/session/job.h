// Background work of the viewer. A frame starts work and looks whether it is done; it never waits.
//
//   Job         one piece of work on a thread of its own, or within start() if the system has no
//               thread left; starting it again cancels the old one
//   AsyncQuery  a Job that answers a question about a history, asked each frame (async_query.h)
//   TaskPool    the tasks of a loader, on a few threads (core/base/task_pool.h)
//
// All of it runs at a lower priority than drawing, gets its input by value or shared_ptr, and
// checks `cancelled` at least every few milliseconds: whoever cancels waits for that. Results are
// handed over by value; only the owner's thread calls the methods here. finish() and wait() are for
// stills and tests.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#ifdef __linux__
#include <sys/resource.h>
#include <unistd.h>
#endif

#include "core/base/threads.h"

namespace tidemark::viz {

using Cancelled = std::atomic<bool>;

// The calling thread, and those it starts, get a processor only when the screen's thread doesn't
// need it. Only a request; cannot be undone.
inline void lower_thread_priority() {
#ifdef __linux__
    constexpr int kNice = 10;
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);  // of the thread alone
#endif
}

// Its owner checks now and then whether the answer is ready, and may start it again: the old work's
// result is dropped.
template <class Answer>
class Job {
  public:
    using Work = std::function<Answer(const Cancelled& cancelled)>;

    Job() = default;
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    ~Job() { cancel(); }

    void start(Work work) {
        cancel();
        cancelled_ = std::make_shared<Cancelled>(false);
        const auto task = std::make_shared<std::packaged_task<Answer()>>(
            [work = std::move(work), cancelled = cancelled_] { return work(*cancelled); });
        answer_ = task->get_future();
        Result<Thread> thread = Thread::start("tm-job", [task] {
            lower_thread_priority();
            (*task)();
        });
        if (thread)
            thread_ = std::move(*thread);
        else
            (*task)();
    }

    bool running() const { return answer_.valid(); }

    // The answer, once, as soon as it is there.
    std::optional<Answer> take() {
        if (!answer_.valid() ||
            answer_.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
            return std::nullopt;
        return collect();
    }

    // The answer of what is running, waited for.
    std::optional<Answer> wait() {
        if (!answer_.valid())
            return std::nullopt;
        return collect();
    }

    // Stops the work and waits until it has stopped; its result is dropped.
    void cancel() {
        if (!answer_.valid())
            return;
        cancelled_->store(true);
        thread_.join();
        answer_ = {};
    }

  private:
    Answer collect() {
        thread_.join();
        return answer_.get();
    }

    std::shared_ptr<Cancelled> cancelled_;
    std::future<Answer> answer_;
    Thread thread_;
};

}  // namespace tidemark::viz
