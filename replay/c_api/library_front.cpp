// Notes and progress, from the threads of a command to the caller's.
#include "replay/c_api/library_front.h"

#include <chrono>
#include <condition_variable>
#include <exception>

#include <fmt/format.h>

#include "core/base/threads.h"
#include "replay/report/forms/wording.h"

namespace tidemark::c_api {
namespace {

constexpr std::chrono::milliseconds kShown{50};

// The end of work on another thread.
class Ending {
  public:
    void set() {
        const std::scoped_lock lock(mutex_);
        ended_ = true;
        changed_.notify_one();
    }

    // False if it has not ended by then.
    bool wait_for(std::chrono::milliseconds time) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, time, [this] { return ended_; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool ended_ = false;
};

}  // namespace

void LibraryFront::note(std::string_view text) {
    const std::scoped_lock lock(mutex_);
    notes_ += fmt::format("tidemark: {}\n", printable(text));
}

void LibraryFront::note_help(std::string_view text) {
    const std::scoped_lock lock(mutex_);
    notes_ += printable(text, true);
}

void LibraryFront::show(std::string_view label, std::uint64_t done, std::uint64_t total) {
    const std::scoped_lock lock(mutex_);
    label_ = label;
    done_ = done;
    total_ = total;
}

const Trace* LibraryFront::opened(const std::string& path, const TraceReading& reading,
                                  bool recorded) const {
    for (const tm_trace* const trace : traces_) {
        if (const Trace* const found = trace_of(*trace, path, reading, recorded); found != nullptr)
            return found;
    }
    return nullptr;
}

std::string LibraryFront::notes() const {
    const std::scoped_lock lock(mutex_);
    return notes_;
}

// False if the caller wants the end.
bool LibraryFront::show_caller(tm_progress progress, void* user) const {
    std::unique_lock lock(mutex_);
    const std::string label = label_;
    const std::uint64_t done = done_;
    const std::uint64_t total = total_;
    lock.unlock();
    return progress(user, label.c_str(), done, total) == 0;
}

void LibraryFront::run(tm_progress progress, void* user, const std::function<void()>& work) {
    if (progress == nullptr)
        return work();
    cancelled_ = !show_caller(progress, user);
    std::exception_ptr thrown;
    Ending ending;
    Result<Thread> thread = Thread::start("tidemark", [&] {
        try {
            work();
        } catch (...) {
            thrown = std::current_exception();
        }
        ending.set();
    });
    if (!thread)  // the system has none: there is no progress, but the work can be done
        return work();
    while (!ending.wait_for(kShown)) {
        if (!show_caller(progress, user))
            cancelled_ = true;
    }
    thread->join();
    if (thrown)
        std::rethrow_exception(thrown);
}

}  // namespace tidemark::c_api
