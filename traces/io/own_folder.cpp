// System calls on descriptors, so that nothing can be exchanged between a check and the use.
#include "traces/io/own_folder.h"

#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tidemark {
namespace {

constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;

// Whether it belongs to this user and nobody else may write it.
Result<void> check_owner(const struct stat& status, const std::string& path) {
    if (status.st_uid != ::geteuid())
        return fail(ErrorCode::io, "belongs to another user", path,
                    "it belongs to user " + std::to_string(status.st_uid));
    if ((status.st_mode & kOthersWrite) != 0)
        return fail(ErrorCode::io, "can be written by other users", path,
                    "chmod go-w '" + path + "' if everything in it is yours");
    return {};
}

Result<void> check_name(const std::string& name, const std::string& path) {
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos)
        return fail(ErrorCode::io, "is not a name in a folder", path);
    return {};
}

// A folder that is ours and that others can't write, by `path` from the open folder `from`.
Result<FileDescriptor> open_own(int from, const std::string& path, const std::string& shown) {
    FileDescriptor folder(
        ::openat(from, path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder.valid()) {
        const int code = errno;
        if (code == ENOENT)
            return fail(ErrorCode::not_found, "there is no such folder", shown);
        if (code == ENOTDIR || code == ELOOP)
            return fail(ErrorCode::io, "is not a folder (links to folders aren't followed)", shown);
        return io_error("cannot be opened", shown, code);
    }

    struct stat status {};

    if (::fstat(folder.get(), &status) != 0)
        return io_error("cannot be examined", shown);
    TM_TRY(check_owner(status, shown));
    return folder;
}

// The regular file `name` from the open folder `from`, which is ours and which others can't write.
Result<FileDescriptor> open_regular(int from, const std::string& name, int flags,
                                    const std::string& path) {
    const int exclusive = (flags & O_CREAT) != 0 ? O_EXCL : 0;
    // Not blocking: opening a pipe for reading would wait until somebody writes.
    FileDescriptor file(::openat(from, name.c_str(),
                                 flags | exclusive | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                                 S_IRUSR | S_IWUSR));
    if (!file.valid()) {
        const int code = errno;
        if (code == ENOENT)
            return fail(ErrorCode::not_found, "there is no such file", path);
        if (code == ELOOP)
            return fail(ErrorCode::io, "is a link, which isn't followed here", path);
        return io_error("cannot be opened", path, code);
    }

    struct stat status {};

    if (::fstat(file.get(), &status) != 0)
        return io_error("cannot be examined", path);
    if (!S_ISREG(status.st_mode))
        return fail(ErrorCode::io, "is not a regular file", path);
    TM_TRY(check_owner(status, path));
    return file;
}

struct CloseFolder {
    void operator()(DIR* folder) const { ::closedir(folder); }
};

}  // namespace

Result<FileDescriptor> open_own_file(const std::string& path, int flags) {
    return open_regular(AT_FDCWD, path, flags, path);
}

Result<OwnFolder> OwnFolder::open(const std::string& path) {
    TM_ASSIGN(FileDescriptor folder, open_own(AT_FDCWD, path, path));
    return OwnFolder(path, std::move(folder));
}

Result<OwnFolder> OwnFolder::open_folder(const std::string& name) const {
    std::string path = path_ + "/" + name;
    TM_TRY(check_name(name, path));
    TM_ASSIGN(FileDescriptor folder, open_own(folder_.get(), name, path));
    return OwnFolder(std::move(path), std::move(folder));
}

Result<std::vector<std::string>> OwnFolder::names() const {
    // A new descriptor: the read position belongs to an open file.
    const int file = ::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const std::unique_ptr<DIR, CloseFolder> folder(file < 0 ? nullptr : ::fdopendir(file));
    if (!folder) {
        const int code = errno;
        if (file >= 0)
            ::close(file);
        return io_error("cannot be listed", path_, code);
    }
    std::vector<std::string> names;
    errno = 0;
    for (const dirent* entry = ::readdir(folder.get()); entry != nullptr;
         entry = ::readdir(folder.get())) {
        std::string name = entry->d_name;
        if (name != "." && name != "..")
            names.push_back(std::move(name));
        errno = 0;
    }
    if (errno != 0)
        return io_error("cannot be listed", path_);
    return names;
}

Result<OwnFolder> OwnFolder::make(const std::string& path) {
    std::error_code ignored;  // mkdir reports what is wrong
    const std::filesystem::path parent = std::filesystem::path(path).parent_path();
    if (!parent.empty())
        std::filesystem::create_directories(parent, ignored);
    if (::mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST)
        return io_error("cannot be made", path);
    return open(path);
}

Result<FileDescriptor> OwnFolder::open_file(const std::string& name, int flags) const {
    const std::string path = path_ + "/" + name;
    TM_TRY(check_name(name, path));
    return open_regular(folder_.get(), name, flags, path);
}

}  // namespace tidemark
