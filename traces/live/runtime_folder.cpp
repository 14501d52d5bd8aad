// Folders and processes on Linux.
#include "traces/live/runtime_folder.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

namespace tidemark::live {
namespace {

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

Error with_way_out(Error error) {
    if (error.code == ErrorCode::not_found)
        return error;
    error.hint += error.hint.empty() ? "" : "; ";
    error.hint +=
        "set a folder of your own in TIDEMARK_RUNTIME_DIR (for running programs) and "
        "TIDEMARK_RECORDINGS";
    return error;
}

}  // namespace

std::vector<std::string> runtime_folders() {
    if (std::string chosen = variable("TIDEMARK_RUNTIME_DIR"); !chosen.empty())
        return {std::move(chosen)};
    std::vector<std::string> folders;
    const std::string session = variable("XDG_RUNTIME_DIR");
    if (!session.empty() && ::access(session.c_str(), W_OK) == 0)
        folders.push_back(session + "/tidemark");
    folders.push_back(fmt::format("/dev/shm/tidemark-{}", ::geteuid()));
    return folders;
}

std::string recordings_folder() {
    if (std::string chosen = variable("TIDEMARK_RECORDINGS"); !chosen.empty())
        return chosen;
    if (const std::string state = variable("XDG_STATE_HOME"); !state.empty())
        return state + "/tidemark/live";
    return fmt::format("/var/tmp/tidemark-{}", ::geteuid());
}

Result<OwnFolder> open_live_folder(const std::string& path) {
    return OwnFolder::open(path).map_error(with_way_out);
}

Result<OwnFolder> make_live_folder(const std::string& path) {
    return OwnFolder::make(path).map_error(with_way_out);
}

std::string program_name() {
    std::error_code problem;
    const auto path = std::filesystem::read_symlink("/proc/self/exe", problem);
    return problem ? "program" : path.filename().string();
}

std::uint64_t process_start(std::uint32_t id) {
    std::ifstream file(fmt::format("/proc/{}/stat", id));
    std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    // "id (name) state ...": the name may contain anything, so this counts from its end.
    const std::size_t after_name = text.rfind(')');
    if (after_name == std::string::npos)
        return 0;
    std::istringstream fields(text.substr(after_name + 1));
    std::string field;
    fields >> field;
    if (field == "Z" || field == "X")
        return 0;
    constexpr int kFieldsBetween = 19;  // from the state to the start
    for (int i = 0; i < kFieldsBetween; ++i)
        fields >> field;
    std::uint64_t start = 0;
    for (const char digit : field) {
        if (digit < '0' || digit > '9')
            return 0;
        start = start * 10 + static_cast<std::uint64_t>(digit - '0');
    }
    return start;
}

}  // namespace tidemark::live
