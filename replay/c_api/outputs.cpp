// The rule of what may be written, for programs that write files themselves.
#include <string>

#include "replay/c_api/errors.h"
#include "traces/io/output_target.h"

namespace tidemark::c_api {
namespace {

FileKind kind_of(tm_file_kind kind) {
    switch (kind) {
        case TM_FILE_RECORDING:
            return FileKind::recording;
        case TM_FILE_PICTURE:
            return FileKind::png;
        case TM_FILE_OTHER:
            break;
    }
    return FileKind::unknown;
}

}  // namespace
}  // namespace tidemark::c_api

tm_status tm_check_output(const char* path, tm_file_kind kind, int overwrite) {
    using namespace tidemark::c_api;
    return guarded([&] {
        if (path == nullptr || *path == '\0')
            return fail(TM_BAD_OPTION, "there is no path", "tm_check_output");
        return status_of(
            tidemark::check_target({.path = path, .kind = kind_of(kind), .force = overwrite != 0})
                .map_error([](tidemark::Error error) {
                    if (error.hint.find("--force") != std::string::npos)
                        error.hint = "choose another name, or pass overwrite";
                    return error;
                }));
    });
}
