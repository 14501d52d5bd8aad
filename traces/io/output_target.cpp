// Examines an existing file before it is replaced.
#include "traces/io/output_target.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "traces/io/byte_source.h"
#include "traces/io/output_file.h"

namespace tidemark {
namespace {

constexpr const char* kForceHint = "choose another name, or overwrite it with --force";

}  // namespace

std::optional<FileIdentity> file_identity(const std::string& path) {
    struct stat status {};

    const int failed = path == "-" ? ::fstat(STDIN_FILENO, &status) : ::stat(path.c_str(), &status);
    if (failed != 0 || !S_ISREG(status.st_mode))
        return std::nullopt;
    return FileIdentity{status.st_dev, status.st_ino};
}

Result<FileKind> kind_of_file(const std::string& path) {
    TM_ASSIGN(const std::unique_ptr<ByteSource> source, open_bytes(path));
    TM_TRY(source->need(kKindHead));
    const auto window = source->window();
    const FileKind kind = kind_of({reinterpret_cast<const char*>(window.data()), window.size()});
    return !source->compressed() || kind == FileKind::recording ? kind : FileKind::unknown;
}

Result<void> check_rule(const OutputTarget& target) {
    if (target.path.empty() || target.path == "-")
        return {};
    const std::optional<FileIdentity> there = file_identity(target.path);
    if (!there)
        return {};
    if (std::ranges::find(target.inputs, *there) != target.inputs.end())
        return fail(ErrorCode::bad_option, "is being read: it can't be written as well",
                    target.path, "choose another name");

    struct stat status {};

    if (target.force || (::stat(target.path.c_str(), &status) == 0 && status.st_size == 0))
        return {};
    // A file that can't be unpacked still belongs to somebody else.
    const Result<FileKind> looked = kind_of_file(target.path);
    if (!looked && looked.error().code == ErrorCode::io)
        return tl::make_unexpected(looked.error());
    const FileKind kind = looked.value_or(FileKind::unknown);
    if (kind == FileKind::recording)
        return fail(ErrorCode::bad_option, "exists and is a recording", target.path, kForceHint);
    if (kind == FileKind::unknown)
        return fail(ErrorCode::bad_option, "exists, and nothing in it shows that Tidemark wrote it",
                    target.path, kForceHint);
    if (kind == target.kind)
        return {};
    return fail(
        ErrorCode::bad_option,
        fmt::format("exists and is {}, which would become {}", to_text(kind), to_text(target.kind)),
        target.path, kForceHint);
}

Result<void> check_target(const OutputTarget& target) {
    if (target.path.empty())
        return {};
    TM_TRY(check_rule(target));
    return OutputFile::check(target.path);
}

}  // namespace tidemark
