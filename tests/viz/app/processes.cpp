// fork, exec, and waiting.
#include "tests/viz/app/processes.h"

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tidemark::support {
namespace {

constexpr std::chrono::seconds kLong{30};  // machines that test are slow and busy
constexpr std::chrono::milliseconds kPause{10};

// The child becomes `words`; descriptors to files. Ends it if it can't.
pid_t start(const std::vector<std::string>& arguments, const Environment& environment,
            const std::string& out, const std::string& err) {
    const pid_t child = ::fork();
    if (child != 0)
        return child;
    for (const auto& [name, value] : environment)
        ::setenv(name.c_str(), value.c_str(), 1);
    ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
    ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
    ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    std::vector<char*> raw;
    for (const std::string& word : arguments)
        raw.push_back(const_cast<char*>(word.c_str()));
    raw.push_back(nullptr);
    ::execvp(raw[0], raw.data());
    ::_exit(127);
}

int code_of(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string content_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream content;
    content << file.rdbuf();
    return content.str();
}

std::string temporary(const std::string& name) {
    static int count = 0;
    return std::filesystem::temp_directory_path() /
           ("tidemark-" + std::to_string(::getpid()) + "-" + std::to_string(++count) + name);
}

}  // namespace

Ended run_program(const std::vector<std::string>& arguments, const Environment& environment) {
    const std::string out = temporary("out");
    const std::string err = temporary("err");
    int status = 0;
    ::waitpid(start(arguments, environment, out, err), &status, 0);
    Ended ended{code_of(status), content_of(out), content_of(err)};
    std::filesystem::remove(out);
    std::filesystem::remove(err);
    return ended;
}

Running::Running(const std::vector<std::string>& arguments, const Environment& environment,
                 const std::string& errors_to)
    : child_(start(arguments, environment, "/dev/null", errors_to)) {}

Running::~Running() {
    if (alive()) {
        ::kill(child_, SIGKILL);
        wait();
    }
}

bool Running::alive() {
    int status = 0;
    if (child_ > 0 && ::waitpid(child_, &status, WNOHANG) == child_) {
        code_ = code_of(status);
        child_ = -1;
    }
    return child_ > 0;
}

int Running::wait() {
    int status = 0;
    if (child_ > 0 && ::waitpid(child_, &status, 0) == child_) {
        code_ = code_of(status);
        child_ = -1;
    }
    return code_;
}

bool has_program(const std::string& name) {
    return run_program({"sh", "-c", "command -v \"$1\"", "sh", name}).code == 0;
}

bool wait_until(const std::function<bool()>& met) {
    const auto end = std::chrono::steady_clock::now() + kLong;
    while (!met()) {
        if (std::chrono::steady_clock::now() > end)
            return false;
        std::this_thread::sleep_for(kPause);
    }
    return true;
}

Display::Display() {
    if (!has_program("Xvfb"))
        return;
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0)
        return;
    server_ = ::fork();
    if (server_ == 0) {
        ::close(ends[0]);
        ::dup2(::open("/dev/null", O_RDWR), STDERR_FILENO);
        const std::string descriptor = std::to_string(ends[1]);
        ::execlp("Xvfb", "Xvfb", "-displayfd", descriptor.c_str(), "-screen", "0", "1280x900x24",
                 "-nolisten", "tcp", static_cast<char*>(nullptr));
        ::_exit(127);
    }
    ::close(ends[1]);
    // It writes its number when it is ready, and nothing if it can't be.
    std::string number;
    char letter = 0;
    while (::read(ends[0], &letter, 1) == 1 && letter != '\n')
        number += letter;
    ::close(ends[0]);
    if (!number.empty())
        name_ = ":" + number;
}

Display::~Display() {
    if (server_ > 0) {
        ::kill(server_, SIGTERM);
        ::waitpid(server_, nullptr, 0);
    }
}

}  // namespace tidemark::support
