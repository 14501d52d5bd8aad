// Pipes, a pseudo-terminal, fork and exec.
#include "tests/cli/command_line.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tidemark::support {
namespace {

// Reads until the other end is closed (EIO is how a terminal says so).
std::string drain(int descriptor) {
    std::string text;
    std::array<char, 65536> buffer{};
    for (;;) {
        const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
        if (count <= 0)
            break;
        text.append(buffer.data(), static_cast<std::size_t>(count));
    }
    ::close(descriptor);
    return text;
}

void feed(int descriptor, const std::string& input) {
    std::size_t done = 0;
    while (done < input.size()) {
        const ssize_t count = ::write(descriptor, input.data() + done, input.size() - done);
        if (count <= 0)
            break;
        done += static_cast<std::size_t>(count);
    }
    ::close(descriptor);
}

// In the child: becomes the program.
[[noreturn]] void become_program(const std::vector<std::string>& arguments,
                                 const Surroundings& surroundings) {
    for (const auto& [name, value] : surroundings.environment)
        ::setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> argv{const_cast<char*>("tidemark")};
    for (const std::string& argument : arguments)
        argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    ::execv(TIDEMARK_PROGRAM, argv.data());
    ::_exit(127);
}

int exit_code(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0)
        REQUIRE(errno == EINTR);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Said run_on_terminal(const std::vector<std::string>& arguments, const Surroundings& surroundings) {
    winsize size{};
    size.ws_col = static_cast<unsigned short>(surroundings.terminal_width);
    size.ws_row = 50;
    int terminal = -1;
    const pid_t child = ::forkpty(&terminal, nullptr, nullptr, &size);
    REQUIRE(child >= 0);
    if (child == 0)
        become_program(arguments, surroundings);
    Said said;
    said.out = drain(terminal);
    said.code = exit_code(child);
    said.out.erase(std::remove(said.out.begin(), said.out.end(), '\r'), said.out.end());
    return said;
}

}  // namespace

Said tidemark(const std::vector<std::string>& arguments, const Surroundings& surroundings) {
    if (surroundings.terminal_width > 0)
        return run_on_terminal(arguments, surroundings);
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    std::array<int, 2> err{};
    REQUIRE(::pipe2(in.data(), O_CLOEXEC) == 0);
    REQUIRE(::pipe2(out.data(), O_CLOEXEC) == 0);
    REQUIRE(::pipe2(err.data(), O_CLOEXEC) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        ::dup2(in[0], STDIN_FILENO);
        ::dup2(out[1], STDOUT_FILENO);
        ::dup2(err[1], STDERR_FILENO);
        if (!surroundings.output_to.empty())
            ::dup2(::open(surroundings.output_to.c_str(), O_WRONLY), STDOUT_FILENO);
        if (surroundings.close_output)
            ::close(out[0]);
        become_program(arguments, surroundings);
    }
    ::close(in[0]);
    ::close(out[1]);
    ::close(err[1]);
    std::signal(SIGPIPE, SIG_IGN);  // the program may stop reading before we stop writing
    if (surroundings.close_output) {
        ::close(out[0]);
        out[0] = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    Said said;
    std::thread feeder([&] { feed(in[1], surroundings.input); });
    std::thread listener([&] { said.err = drain(err[0]); });
    said.out = drain(out[0]);
    listener.join();
    feeder.join();
    said.code = exit_code(child);
    return said;
}

nlohmann::json tidemark_json(std::vector<std::string> arguments, const Surroundings& surroundings,
                             int code) {
    arguments.emplace_back("--json");
    const Said said = tidemark(arguments, surroundings);
    INFO("tidemark " << arguments.front() << ": " << said.err);
    CHECK(said.code == code);
    CHECK(said.err == "");
    return nlohmann::json::parse(said.out);
}

std::string refusal(const std::vector<std::string>& arguments, int code) {
    const Said said = tidemark(arguments);
    INFO(arguments.front() << " ... " << arguments.back() << ": " << said.err);
    CHECK(said.code == code);
    CHECK(said.out.empty());
    return said.err;
}

Folder::Folder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "tidemark-test-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
}

Folder::~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::vector<std::string> Folder::names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
        names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    REQUIRE(file.is_open());
    std::ostringstream content;
    content << file.rdbuf();
    return content.str();
}

void write_file(const std::string& path, const std::string& content) {
    std::ofstream file(path, std::ios::binary);
    file << content;
    REQUIRE(file.good());
}

std::string project_file(const std::string& path) {
    return std::string(TIDEMARK_SOURCE_DIR) + "/" + path;
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace tidemark::support
