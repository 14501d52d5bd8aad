// A program of its own for tests of the live view: a child process that publishes, and can be
// killed at any moment.
#pragma once

#include <atomic>
#include <csignal>
#include <cstdint>
#include <functional>
#include <new>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tidemark::support {

class LiveChild {
  public:
    // What the two processes both see.
    struct Shared {
        std::atomic<std::uint64_t> published = 0;  // events of which put() has returned
        std::atomic<bool> go_on = false;
    };

    // Runs `work` in a child, which then ends without ceremony. Nothing else may run threads now.
    explicit LiveChild(const std::function<void(Shared&)>& work) {
        void* const memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        shared_ = new (memory) Shared;
        child_ = ::fork();
        if (child_ == 0) {
            // It must not outlive a test that is killed: it would fill the disk.
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            work(*shared_);
            ::_exit(0);
        }
    }

    LiveChild(const LiveChild&) = delete;
    LiveChild& operator=(const LiveChild&) = delete;

    ~LiveChild() {
        kill();
        ::munmap(shared_, sizeof(Shared));
    }

    // Until the child has published so many events, or has ended.
    void await(std::uint64_t events) const {
        siginfo_t ended{};
        while (shared_->published.load() < events && ended.si_pid == 0) {
            ::usleep(50);
            ::waitid(P_PID, static_cast<id_t>(child_), &ended, WEXITED | WNOHANG | WNOWAIT);
        }
    }

    void go_on() { shared_->go_on.store(true); }

    std::uint64_t published() const { return shared_->published.load(); }

    // Ends it at once, wherever it is.
    void kill() {
        if (child_ > 0) {
            ::kill(child_, SIGKILL);
            join();
        }
    }

    // Waits until it has ended by itself.
    void join() {
        ::waitpid(child_, nullptr, 0);
        child_ = -1;
    }

    pid_t id() const { return child_; }

  private:
    Shared* shared_ = nullptr;
    pid_t child_ = -1;
};

}  // namespace tidemark::support
