// Buffered writing by descriptor; the temporary file is renamed at the end.
#include "traces/io/output_file.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file_descriptor.h"

namespace tidemark {
namespace {

constexpr std::size_t kBufferSize = std::size_t{1} << 18U;

constexpr mode_t kMode = S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;

// Calls attempt(name) with names next to `target`, which tell a person who finds such a file what
// it was, until it no longer fails with EEXIST. Returns its last result (negative = failure).
template <class Attempt>
int with_name_beside(const std::string& target, std::string& name, Attempt attempt) {
    constexpr int kAttempts = 100;
    int result = -1;
    for (int i = 0; i < kAttempts; ++i) {
        name = target + ".partial-" + std::to_string(::getpid()) + "-" + std::to_string(i);
        result = attempt(name.c_str());
        if (result >= 0 || errno != EEXIST)
            break;
    }
    return result;
}

// A file in the folder of `target` that has no name yet: however the program ends, nothing is left
// behind. -1 if the file system has no such files.
int create_nameless(const std::string& target) {
    const std::filesystem::path folder = std::filesystem::path(target).parent_path();
    return ::open(folder.empty() ? "." : folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, kMode);
}

int create_named(const std::string& target, std::string& name) {
    return with_name_beside(target, name, [](const char* candidate) {
        return ::open(candidate, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode);
    });
}

// Gives a nameless file a name next to `target`.
int give_name(int descriptor, const std::string& target, std::string& name) {
    const std::string self = "/proc/self/fd/" + std::to_string(descriptor);
    return with_name_beside(target, name, [&](const char* candidate) {
        return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, candidate, AT_SYMLINK_FOLLOW);
    });
}

// Without it a name may be lost in a power cut, and its file with it.
Result<void> sync_folder(const std::string& target) {
    const std::filesystem::path folder = std::filesystem::path(target).parent_path();
    const FileDescriptor opened(
        ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    // Some file systems can't, and a folder may be writable but not readable.
    if (opened.valid() && ::fsync(opened.get()) != 0 && errno == EIO)
        return io_error("its folder cannot be written", target);
    return {};
}

}  // namespace

Result<std::unique_ptr<OutputFile>> OutputFile::create(const OutputTarget& target) {
    TM_TRY(check_rule(target));
    TM_ASSIGN(std::unique_ptr<OutputFile> file, create(target.path));
    file->target_ = target;
    return file;
}

Result<std::unique_ptr<OutputFile>> OutputFile::create(const std::string& path) {
    std::unique_ptr<OutputFile> file(new OutputFile(path));
    if (path == "-") {
        file->path_ = "standard output";
        file->descriptor_ = STDOUT_FILENO;
        return file;
    }

    struct stat status {};

    const bool exists = ::stat(path.c_str(), &status) == 0;
    if (exists && S_ISDIR(status.st_mode))
        return fail(ErrorCode::io, "is a folder", path, "name a file in it");
    if (exists && !S_ISREG(status.st_mode)) {  // /dev/null, a pipe: not ours to replace
        file->descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    } else {
        std::error_code ignored;
        if (exists)  // a link stays a link
            file->path_ = std::filesystem::canonical(path, ignored).string();
        file->replaces_ = true;
        file->descriptor_ = create_nameless(file->path_);
        if (file->descriptor_ < 0)
            file->descriptor_ = create_named(file->path_, file->temporary_);
    }
    if (file->descriptor_ < 0) {
        const int code = errno;
        file->temporary_.clear();
        return io_error("cannot be written", path, code);
    }
    if (exists && file->replaces_ && ::fchmod(file->descriptor_, status.st_mode & 07777U) != 0)
        return io_error("cannot be given the old file's permissions", path);
    return file;
}

Result<void> OutputFile::check(const std::string& path) {
    struct stat status {};

    const bool exists = path != "-" && ::stat(path.c_str(), &status) == 0;
    if (exists && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
        if (::access(path.c_str(), W_OK) != 0)
            return io_error("cannot be written", path, errno);
        return {};
    }
    return create(path).map([](const auto&) {});
}

OutputFile::~OutputFile() {
    if (descriptor_ >= 0 && descriptor_ != STDOUT_FILENO)
        ::close(descriptor_);
    if (!committed_ && !temporary_.empty())
        ::unlink(temporary_.c_str());
}

Result<void> OutputFile::write(std::span<const std::byte> bytes) {
    return write(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

Result<void> OutputFile::write(std::string_view text) {
    buffer_ += text;
    return buffer_.size() < kBufferSize ? Result<void>{} : flush();
}

Result<void> OutputFile::flush() {
    std::string_view rest = buffer_;
    while (!rest.empty()) {
        const ssize_t count = ::write(descriptor_, rest.data(), rest.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return io_error("cannot be written", path_);
        rest.remove_prefix(static_cast<std::size_t>(count));
    }
    buffer_.clear();
    return {};
}

Result<void> OutputFile::commit(bool synced) {
    TM_TRY(flush());
    if (!replaces_) {
        committed_ = true;
        return {};
    }
    if (synced && ::fsync(descriptor_) != 0)
        return io_error("cannot be written", path_);
    if (target_)
        TM_TRY(check_rule(*target_));
    if (temporary_.empty() && give_name(descriptor_, path_, temporary_) < 0) {
        const int code = errno;
        temporary_.clear();
        return io_error("cannot be given a name", path_, code);
    }
    if (::close(std::exchange(descriptor_, -1)) != 0)
        return io_error("cannot be written", path_);
    if (::rename(temporary_.c_str(), path_.c_str()) != 0)
        return io_error("cannot be renamed to its name", path_);
    committed_ = true;
    return synced ? sync_folder(path_) : Result<void>{};
}

}  // namespace tidemark
