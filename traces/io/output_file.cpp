// Buffered writing by descriptor; the temporary file is renamed at the end.
#include "traces/io/output_file.h"

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tidemark {
namespace {

constexpr std::size_t kBufferSize = std::size_t{1} << 18U;

tl::unexpected<Error> io_error(const char* what, int code, const std::string& path) {
    return fail(ErrorCode::io, what + (": " + std::generic_category().message(code)), path);
}

// A new file beside `target`. The name tells a person who finds it after a crash what it was.
int create_beside(const std::string& target, std::string& name) {
    constexpr int kAttempts = 100;
    for (int i = 0; i < kAttempts; ++i) {
        name = target + ".partial-" + std::to_string(::getpid()) + "-" + std::to_string(i);
        const int descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                                      S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH);
        if (descriptor >= 0 || errno != EEXIST)
            return descriptor;
    }
    return -1;
}

}  // namespace

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
        file->descriptor_ = create_beside(file->path_, file->temporary_);
    }
    if (file->descriptor_ < 0) {
        const int code = errno;
        file->temporary_.clear();
        return io_error("cannot be written", code, path);
    }
    if (exists && !file->temporary_.empty() &&
        ::fchmod(file->descriptor_, status.st_mode & 07777U) != 0)
        return io_error("cannot be given the old file's permissions", errno, path);
    return file;
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
            return io_error("cannot be written", errno, path_);
        rest.remove_prefix(static_cast<std::size_t>(count));
    }
    buffer_.clear();
    return {};
}

Result<void> OutputFile::commit() {
    TM_TRY(flush());
    if (temporary_.empty()) {
        committed_ = true;
        return {};
    }
    if (::fsync(descriptor_) != 0)
        return io_error("cannot be written", errno, path_);
    if (::close(std::exchange(descriptor_, -1)) != 0)
        return io_error("cannot be written", errno, path_);
    if (::rename(temporary_.c_str(), path_.c_str()) != 0)
        return io_error("cannot take its name", errno, path_);
    committed_ = true;
    return {};
}

}  // namespace tidemark
