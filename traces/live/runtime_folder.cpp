// Folders and processes, as Linux has them.
#include "traces/live/runtime_folder.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "traces/io/file_descriptor.h"

namespace tidemark::live {
namespace {

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
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

Result<void> make_private_folder(const std::string& path) {
    std::error_code ignored;
    const std::filesystem::path parent = std::filesystem::path(path).parent_path();
    if (!parent.empty())
        std::filesystem::create_directories(parent, ignored);
    if (::mkdir(path.c_str(), 0700) == 0)
        return {};
    if (errno != EEXIST)
        return io_error("cannot be made", path);

    struct stat status {};

    if (::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
        return fail(ErrorCode::io, "is not a folder", path);
    if (status.st_uid != ::geteuid() || (status.st_mode & 0022U) != 0)
        return fail(ErrorCode::io, "belongs to others, or others may write there", path,
                    "remove it, or name another by TIDEMARK_RUNTIME_DIR or TIDEMARK_RECORDINGS");
    return {};
}

std::string program_name() {
    std::error_code problem;
    const auto path = std::filesystem::read_symlink("/proc/self/exe", problem);
    return problem ? "program" : path.filename().string();
}

std::uint64_t process_start(std::uint32_t id) {
    std::ifstream file(fmt::format("/proc/{}/stat", id));
    std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    // "id (name) state ...": the name may hold anything, so count from its end.
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
