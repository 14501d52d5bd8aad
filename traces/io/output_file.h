// OutputFile: a file that appears completely or not at all. Bytes go to a nameless file next to the
// target (or, where the file system has no such files, to a temporary one), which gets the target's
// name at `commit`. Without a commit nothing is left behind. "-" is standard output (without this
// guarantee). Not thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "traces/io/output_target.h"

namespace tidemark {

class OutputFile {
  public:
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;
    ~OutputFile();  // removes the temporary file if commit() was not reached

    // A file that the user named. Errors: those of check_rule; io (the folder is missing, not
    // writable, ...), with the path.
    static Result<std::unique_ptr<OutputFile>> create(const OutputTarget& target);

    // A file that Tidemark named, in a folder of its own: any existing file is replaced. Errors:
    // io.
    static Result<std::unique_ptr<OutputFile>> create(const std::string& path);

    // Errors (io): those that `create` would return now, found before the work whose result goes
    // there. Leaves nothing behind, and doesn't open pipes: the reader would see the pipe end.
    static Result<void> check(const std::string& path);

    // Buffered. Errors: io (no space, ...).
    Result<void> write(std::span<const std::byte> bytes);
    Result<void> write(std::string_view text);

    // Flushes, syncs, renames, syncs the folder. Errors: io; those of check_rule, if another file
    // has appeared there meanwhile. The target is then unchanged. Not `synced`: it doesn't wait for
    // the disk, and after a power cut the file may be empty.
    Result<void> commit(bool synced = true);

  private:
    explicit OutputFile(std::string path) : path_(std::move(path)) {}

    Result<void> flush();

    std::string path_;
    std::optional<OutputTarget> target_;  // none: an internal file
    std::string temporary_;               // its name before commit, if it has one
    std::string buffer_;
    int descriptor_ = -1;
    bool replaces_ = false;  // replaces path_ at commit; else writes there directly
    bool committed_ = false;
};

}  // namespace tidemark
