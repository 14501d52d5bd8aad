// OwnFolder: a folder that only the user who runs this program may write in, open. What lies in a
// folder of somebody else, or in one that others may write in, is never read, written or deleted:
// its names may lead anywhere, and change between a look and the next. So the folder is opened
// once, and every file in it is reached through that descriptor.
//
// Not thread-safe, but for open_file.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/file_descriptor.h"
#include "core/base/result.h"

namespace tidemark {

// The file at `path`, in a folder that may be anyone's, as OwnFolder::open_file opens one: `path`
// itself is no link, the folders above may be. Thread-safe.
Result<FileDescriptor> open_own_file(const std::string& path, int flags);

class OwnFolder {
  public:
    // Errors: not_found: there is none; io: it is a link or no folder, belongs to another user, or
    // others may write in it.
    static Result<OwnFolder> open(const std::string& path);

    // The same, made first (0700, with the folders above it) where there is none.
    static Result<OwnFolder> make(const std::string& path);

    // A file `name` (no path) in it, opened with `flags` as open(2) has them; O_CREAT always comes
    // with O_EXCL, and the new file is for its owner only. Never waits, also not for a pipe's other
    // end. Errors: not_found; io: the system's, or it is a link, no regular file, belongs to
    // another user, or others may write it.
    Result<FileDescriptor> open_file(const std::string& name, int flags) const;

    // The folder `name` in it, on the same terms. Errors: as of open().
    Result<OwnFolder> open_folder(const std::string& name) const;

    // What lies in it, in no order, "." and ".." left out. Errors: io.
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
