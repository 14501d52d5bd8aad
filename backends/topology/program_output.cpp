// posix_spawn in a process group of its own, a pipe, and poll with the remaining time.
#include "backends/topology/program_output.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/stopwatch.h"
#include "core/base/text.h"

extern char** environ;

namespace tidemark {
namespace {

constexpr std::size_t kMostOutput = 1_MiB;
constexpr Nanoseconds kGrace = 1'000'000'000;  // for the kernel to end what was killed
constexpr int kNapMilliseconds = 2;

bool may_run(const std::string& file) {
    struct stat about {};

    return stat(file.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
           access(file.c_str(), X_OK) == 0;
}

// A program that runs, and the end of the pipe into which it prints.
class Child {
  public:
    Child() = default;
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    ~Child() {
        if (running_)
            end();
        if (output_ >= 0)
            close(output_);
    }

    Result<void> start(const std::vector<std::string>& command);

    // What it prints until the end of its output or of the time.
    Result<std::string> read(Nanoseconds limit);

    // Its exit code, or 128 and the signal that ended it; nothing if it still runs at `limit`.
    std::optional<int> wait(Nanoseconds limit);

  private:
    void end() {
        kill(-process_, SIGKILL);
        wait(kGrace);
    }

    pid_t process_ = -1;
    int output_ = -1;
    bool running_ = false;
};

Result<void> Child::start(const std::vector<std::string>& command) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0)
        return fail(ErrorCode::io, std::strerror(errno), "pipe");
    output_ = ends[0];
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_t traits;
    posix_spawnattr_init(&traits);
    posix_spawnattr_setflags(&traits, POSIX_SPAWN_SETPGROUP);
    std::vector<char*> arguments;
    for (const std::string& word : command)
        arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const int code =
        posix_spawn(&process_, arguments[0], &files, &traits, arguments.data(), environ);
    posix_spawnattr_destroy(&traits);
    posix_spawn_file_actions_destroy(&files);
    close(ends[1]);
    if (code != 0)
        return fail(ErrorCode::not_found, std::strerror(code), command[0]);
    running_ = true;
    return {};
}

Result<std::string> Child::read(Nanoseconds limit) {
    const Stopwatch stopwatch;
    std::string text;
    std::array<char, 4096> part{};
    while (true) {
        const Nanoseconds left = limit - stopwatch.elapsed();
        pollfd ready{output_, POLLIN, 0};
        const int found = left <= 0 ? 0 : poll(&ready, 1, static_cast<int>(left / 1'000'000) + 1);
        if (found < 0 && errno == EINTR)
            continue;
        if (found <= 0)
            return fail(ErrorCode::io, fmt::format("no end within {}", format_duration(limit)));
        const ssize_t count = ::read(output_, part.data(), part.size());
        if (count < 0)
            return fail(ErrorCode::io, std::strerror(errno));
        if (count == 0)
            return text;
        text.append(part.data(), static_cast<std::size_t>(count));
        if (text.size() > kMostOutput)
            return fail(ErrorCode::io, "it prints without end");
    }
}

std::optional<int> Child::wait(Nanoseconds limit) {
    const Stopwatch stopwatch;
    int status = 0;
    pid_t ended = 0;
    while ((ended = waitpid(process_, &status, WNOHANG)) == 0 && stopwatch.elapsed() < limit)
        poll(nullptr, 0, kNapMilliseconds);
    if (ended == 0)
        return std::nullopt;
    running_ = false;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

std::string find_program(std::string_view name, std::string_view path) {
    if (name.find('/') != std::string_view::npos)
        return may_run(std::string(name)) ? std::string(name) : "";
    while (!path.empty() && !name.empty()) {
        const std::string_view folder = path.substr(0, path.find(':'));
        path.remove_prefix(std::min(folder.size() + 1, path.size()));
        const std::string file = fmt::format("{}/{}", folder, name);
        if (!folder.empty() && may_run(file))
            return file;
    }
    return "";
}

Result<std::string> run_program(const std::vector<std::string>& command, Nanoseconds limit) {
    const Stopwatch stopwatch;
    Child child;
    TM_TRY(child.start(command));
    Result<std::string> text = child.read(limit);
    if (!text)
        return text.map_error([&](Error error) {
            error.where = command[0];
            return error;
        });
    const std::optional<int> code = child.wait(limit - stopwatch.elapsed());
    if (!code)
        return fail(ErrorCode::io, fmt::format("no end within {}", format_duration(limit)),
                    command[0]);
    if (*code != 0)
        return fail(ErrorCode::io, fmt::format("it ended with {}", *code), command[0]);
    return text;
}

}  // namespace tidemark
