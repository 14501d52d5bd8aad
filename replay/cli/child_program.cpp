// posix_spawn, and handlers of signals that know the child.
#include "replay/cli/child_program.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tidemark {
namespace {

volatile pid_t the_child = 0;

// What the terminal sends reaches every program in front of it; what a process sends came to us
// alone.
void pass_on(int signal, siginfo_t* info, void* /*context*/) {
    const int error = errno;
    if (the_child > 0 && info->si_code <= 0)
        ::kill(the_child, signal);
    errno = error;
}

// Passes signals on while it lives; those that are ignored here stay ignored.
class SignalsPassedOn {
  public:
    SignalsPassedOn() {
        struct sigaction action {};

        action.sa_sigaction = pass_on;
        action.sa_flags = SA_SIGINFO | SA_RESTART;
        for (std::size_t i = 0; i < kSignals.size(); ++i) {
            ::sigaction(kSignals[i], nullptr, &before_[i]);
            if (before_[i].sa_handler != SIG_IGN)
                ::sigaction(kSignals[i], &action, nullptr);
        }
    }

    SignalsPassedOn(const SignalsPassedOn&) = delete;
    SignalsPassedOn& operator=(const SignalsPassedOn&) = delete;

    ~SignalsPassedOn() {
        for (std::size_t i = 0; i < kSignals.size(); ++i)
            ::sigaction(kSignals[i], &before_[i], nullptr);
        the_child = 0;
    }

  private:
    static constexpr std::array kSignals{SIGINT,  SIGTERM, SIGHUP, SIGQUIT,
                                         SIGUSR1, SIGUSR2, SIGALRM};
    std::array<struct sigaction, kSignals.size()> before_{};
};

// Starts it with signals as a shell would: we ignore the end of pipes and limits of files, it
// doesn't.
int spawn(std::span<const std::string> program, pid_t& child) {
    std::vector<std::string> copies(program.begin(), program.end());
    std::vector<char*> pointers;
    for (std::string& word : copies)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);
    sigset_t usual;
    ::sigemptyset(&usual);
    ::sigaddset(&usual, SIGPIPE);
    ::sigaddset(&usual, SIGXFSZ);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setsigdefault(&attributes, &usual);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    const int code =
        ::posix_spawnp(&child, pointers[0], nullptr, &attributes, pointers.data(), environ);
    ::posix_spawnattr_destroy(&attributes);
    return code;
}

}  // namespace

Result<int> run_child_program(std::span<const std::string> program) {
    const SignalsPassedOn passed_on;
    pid_t child = 0;
    if (const int code = spawn(program, child); code != 0)
        return fail(code == ENOENT ? ErrorCode::not_found : ErrorCode::io,
                    fmt::format("cannot be started: {}", std::strerror(code)), program[0]);
    the_child = child;
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace tidemark
