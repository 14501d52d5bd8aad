// CUDA loads one library this way: ours, unless another tool's is set.
#include "replay/cli/recorder_library.h"

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "replay/cli/beside.h"
#include "replay/inject/process_report.h"

namespace tidemark::commands {

namespace fs = std::filesystem;

Result<void> check_unset(const char* variable) {
    const char* const other = std::getenv(variable);
    if (other == nullptr || *other == '\0')
        return {};
    return fail(ErrorCode::unsupported, fmt::format("is set already, to {}", other), variable,
                "CUDA loads only one such library: unset the variable, or use the other tool");
}

Result<std::string> find_recorder_library() {
    constexpr const char* kName = "libtidemark-record.so";
    if (const char* const other = std::getenv(inject::kInjectionVariable);
        other != nullptr && fs::path(other).filename() == kName)
        return fail(ErrorCode::unsupported,
                    "another `tidemark record` records this program already", "",
                    "leave this one out: the outer one records what programs start, too");
    TM_TRY(check_unset(inject::kInjectionVariable));
    if (const auto path = find_beside(kName))
        return *path;
    return fail(ErrorCode::unsupported, fmt::format("{} is missing", kName),
                program_folder().string(),
                "it is installed with the program: reinstall or rebuild Tidemark");
}

}  // namespace tidemark::commands
