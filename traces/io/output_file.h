// OutputFile: a file that appears whole or not at all. Bytes go to a file beside the target that
// has no name (or, where the file system knows no such files, a temporary one), and that takes the
// target's name at `commit`; without a commit nothing is left behind.
// "-" is standard output (no such promise). Not thread-safe.
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

    // A file that somebody named. Errors: those of check_rule; io (the folder is missing, not
    // writable, ...), with the path.
    static Result<std::unique_ptr<OutputFile>> create(const OutputTarget& target);

    // A file that we named ourselves, in a folder of our own: whatever is there is replaced.
    // Errors: io.
    static Result<std::unique_ptr<OutputFile>> create(const std::string& path);

    // Errors (io): those that `create` would return now, found before the work whose result goes
    // there. Leaves nothing behind, and opens no pipe: its reader would see it end.
    static Result<void> check(const std::string& path);

    // Buffered. Errors: io (no space, ...).
    Result<void> write(std::span<const std::byte> bytes);
    Result<void> write(std::string_view text);

    // Flushes, syncs, renames, syncs the folder. Errors: io; those of check_rule, of what has come
    // to be there meanwhile; the target is then as it was before.
    // Not `synced`: it doesn't wait for the disk, and after a power cut the file may be empty.
    Result<void> commit(bool synced = true);

  private:
    explicit OutputFile(std::string path) : path_(std::move(path)) {}

    Result<void> flush();

    std::string path_;
    std::optional<OutputTarget> target_;  // none: ours alone
    std::string temporary_;               // its name until then, if it has one
    std::string buffer_;
    int descriptor_ = -1;
    bool replaces_ = false;  // takes the place of path_ at the end; else writes there directly
    bool committed_ = false;
};

}  // namespace tidemark
