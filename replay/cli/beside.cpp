// Two files may have this code inside: the program, and libtidemark.so in a process of others.
#include "replay/cli/beside.h"

#include <array>
#include <system_error>

#include <dlfcn.h>

namespace tidemark {
namespace {

namespace fs = std::filesystem;

// From the folder of the program or library. A build has the page one above, a prefix and a wheel
// have folders side by side.
constexpr std::array kFolders = {
    ".", "..", "../bin", "../lib", TIDEMARK_LIBRARY_FOLDER, "../share/tidemark"};

// Empty where the system gives it as it was named (the program itself), relative to who knows what.
fs::path library_folder() {
    Dl_info info{};
    if (dladdr(reinterpret_cast<const void*>(&library_folder), &info) == 0 ||
        info.dli_fname == nullptr)
        return {};
    const fs::path file = info.dli_fname;
    return file.is_absolute() ? file.parent_path() : fs::path();
}

}  // namespace

fs::path program_folder() {
    std::error_code ignored;
    return fs::read_symlink("/proc/self/exe", ignored).parent_path();
}

std::optional<std::string> find_beside(const std::string& name) {
    std::error_code ignored;
    for (const fs::path& from : {program_folder(), library_folder()}) {
        if (from.empty())
            continue;
        for (const char* const folder : kFolders) {
            const fs::path file = from / folder / name;
            if (fs::is_regular_file(file, ignored))
                return fs::weakly_canonical(file, ignored).string();
        }
    }
    return std::nullopt;
}

}  // namespace tidemark
