// Job: something that takes too long for a frame, done on a thread of its own, or within start()
// when the system has none. Its owner looks now and then whether the answer is there, and may start
// it anew: the old one is cancelled, and what it finds is thrown away.
//
// The owner's thread only. The work must watch `cancelled` at least every few milliseconds.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "core/base/threads.h"
#include "viz/model/session/background.h"

namespace tidemark::viz {

using Cancelled = std::atomic<bool>;

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

    // Has the work stop and waits until it has.
    void cancel() {
        if (!answer_.valid())
            return;
        cancelled_->store(true);
        collect();
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
