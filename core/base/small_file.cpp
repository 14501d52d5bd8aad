// One open, one read to the end; the text of a pipe is found by the pipe's identity.
#include "core/base/small_file.h"

#include <cerrno>
#include <map>
#include <mutex>
#include <system_error>
#include <tuple>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file_descriptor.h"

namespace tidemark {
namespace {

using PipeName = std::tuple<dev_t, ino_t, std::string>;

struct Kept {
    std::mutex mutex;
    std::size_t wanted = 0;
    std::map<PipeName, Result<std::string>> texts;
};

Kept& kept() {
    static Kept& all = *new Kept;  // for readers while the program ends
    return all;
}

tl::unexpected<Error> refused(ErrorCode code, int number, const std::string& path) {
    return fail(code, "cannot be read: " + std::generic_category().message(number), path);
}

Result<std::string> read_all(const std::string& path, std::size_t most) {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid())
        return refused(errno == EACCES ? ErrorCode::io : ErrorCode::not_found, errno, path);
    constexpr std::size_t kPiece = std::size_t{64} << 10U;
    std::string text;
    while (text.size() <= most) {
        const std::size_t before = text.size();
        text.resize(before + kPiece);
        const ssize_t count = ::read(file.get(), text.data() + before, kPiece);
        const int number = errno;
        text.resize(before + static_cast<std::size_t>(count > 0 ? count : 0));
        if (count < 0 && number == EINTR)
            continue;
        if (count < 0)
            return refused(ErrorCode::io, number, path);
        if (count == 0)
            return text;
    }
    return fail(ErrorCode::bad_input, "is too large", path);
}

}  // namespace

KeptPipes::KeptPipes() {
    const std::lock_guard lock(kept().mutex);
    ++kept().wanted;
}

KeptPipes::~KeptPipes() {
    const std::lock_guard lock(kept().mutex);
    if (--kept().wanted == 0)
        kept().texts.clear();
}

Result<std::string> read_small_file(const std::string& path, std::size_t most) {
    struct stat status {};

    if (::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode))
        return read_all(path, most);
    const PipeName name{status.st_dev, status.st_ino, path};
    // Held while reading: another thread that needs the same pipe must not take half of it.
    const std::lock_guard lock(kept().mutex);
    if (kept().wanted == 0)
        return read_all(path, most);
    if (const auto found = kept().texts.find(name); found != kept().texts.end())
        return found->second;
    return kept().texts.emplace(name, read_all(path, most)).first->second;
}

}  // namespace tidemark
