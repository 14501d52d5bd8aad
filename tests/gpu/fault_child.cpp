// Starting this program again, and talking to it.
#include "tests/gpu/fault_child.h"

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tidemark::faults {
namespace {

std::vector<std::string> environment_with(const Child::Variables& variables) {
    std::vector<std::string> all;
    for (char** each = environ; *each != nullptr; ++each)
        all.emplace_back(*each);
    for (const auto& [name, value] : variables) {
        std::erase_if(all, [&](const std::string& line) { return line.starts_with(name + "="); });
        all.push_back(name + "=" + value);
    }
    return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (std::string& text : texts)
        all.push_back(text.data());
    all.push_back(nullptr);
    return all;
}

std::array<int, 2> make_pipe() {
    std::array<int, 2> ends{-1, -1};
    REQUIRE(pipe2(ends.data(), O_CLOEXEC) == 0);
    return ends;
}

}  // namespace

Child::Child(const std::string& test, const Variables& variables) {
    const std::array<int, 2> to_child = make_pipe();
    const std::array<int, 2> from_child = make_pipe();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to_child[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from_child[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from_child[1], STDERR_FILENO);
    std::vector<std::string> arguments{"test_gpu", test};
    std::vector<std::string> environment = environment_with(variables);
    const int failed = posix_spawn(&process_, "/proc/self/exe", &actions, nullptr,
                                   pointers(arguments).data(), pointers(environment).data());
    posix_spawn_file_actions_destroy(&actions);
    close(to_child[0]);
    close(from_child[1]);
    input_ = to_child[1];
    printed_ = from_child[0];
    REQUIRE(failed == 0);
}

Child::~Child() {
    if (input_ >= 0)
        close(input_);
    close(printed_);
    if (process_ > 0) {
        kill(process_, SIGKILL);
        waitpid(process_, nullptr, 0);
    }
}

bool Child::read_some(int milliseconds) {
    pollfd wanted{printed_, POLLIN, 0};
    if (poll(&wanted, 1, milliseconds) <= 0)
        return false;
    std::array<char, 4096> buffer{};
    const ssize_t size = read(printed_, buffer.data(), buffer.size());
    if (size <= 0)
        return false;
    output_.append(buffer.data(), static_cast<std::size_t>(size));
    return true;
}

bool Child::wait_for(const std::string& text, std::chrono::seconds limit) {
    const auto milliseconds =
        static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(limit).count());
    while (output_.find(text) == std::string::npos) {
        if (!read_some(milliseconds))
            return false;
    }
    return true;
}

void Child::go_on() {
    CHECK(write(input_, "\n", 1) == 1);
}

std::optional<int> Child::finish(std::chrono::seconds limit) {
    close(input_);
    input_ = -1;
    const auto milliseconds =
        static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(limit).count());
    while (read_some(milliseconds)) {  // until it has ended, or was silent too long
    }
    int status = 0;
    // Its output is closed a moment before it can be collected.
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (waitpid(process_, &status, WNOHANG) == 0) {
        if (std::chrono::steady_clock::now() > until)
            return std::nullopt;
        usleep(10'000);
    }
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void emit(const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
}

void wait_for_parent() {
    char word = 0;
    (void)!read(STDIN_FILENO, &word, 1);
}

}  // namespace tidemark::faults
