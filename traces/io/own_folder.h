// OwnFolder: an open folder that only the user who runs this program may write in. Files in a
// folder that belongs to another user, or that others may write in, are never read, written or
// deleted: their names may lead anywhere, and may change between two looks. So the folder is opened
// once, and every file in it is reached through that descriptor.
//
// Not thread-safe, except for open_file.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/file_descriptor.h"
#include "core/base/result.h"

namespace tidemark {

// The file at `path`, in a folder that may belong to anyone, opened as by OwnFolder::open_file:
// `path` itself may not be a link, but the folders above it may. Thread-safe.
Result<FileDescriptor> open_own_file(const std::string& path, int flags);

class OwnFolder {
  public:
    // Errors: not_found: it does not exist; io: it is a link or not a folder, belongs to another
    // user, or others may write in it.
    static Result<OwnFolder> open(const std::string& path);

    // The same, but creates it first if it is missing (0700, with the folders above it).
    static Result<OwnFolder> make(const std::string& path);

    // A file `name` (not a path) in it, opened with `flags` as in open(2); O_CREAT always comes
    // with O_EXCL, and the new file is for its owner only. Never waits, not even for the other end
    // of a pipe. Errors: not_found; io: the system's, or it is a link, not a regular file, belongs
    // to another user, or others may write it.
    Result<FileDescriptor> open_file(const std::string& name, int flags) const;

    // The folder `name` in it, under the same conditions. Errors: as of open().
    Result<OwnFolder> open_folder(const std::string& name) const;

    // The names in it, in no order, without "." and "..". Errors: io.
    Result<std::vector<std::string>> names() const;

    int descriptor() const { return folder_.get(); }

    const std::string& path() const { return path_; }

  private:
    OwnFolder(std::string path, FileDescriptor folder)
        : path_(std::move(path)), folder_(std::move(folder)) {}

    std::string path_;
    FileDescriptor folder_;
};

}  // namespace tidemark
