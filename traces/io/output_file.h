// OutputFile: a file that appears whole or not at all. Bytes go to a temporary file beside the
// target, which takes its name at `commit`; without a commit nothing is left behind.
// "-" is standard output (no such promise). Not thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace tidemark {

class OutputFile {
  public:
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;
    ~OutputFile();  // removes the temporary file if commit() was not reached

    // Errors: io (the folder is missing, not writable, ...), with the path.
    static Result<std::unique_ptr<OutputFile>> create(const std::string& path);

    // Buffered. Errors: io (no space, ...).
    Result<void> write(std::span<const std::byte> bytes);
    Result<void> write(std::string_view text);

    // Flushes, syncs, renames. Errors: io; the target is then as it was before.
    Result<void> commit();

  private:
    explicit OutputFile(std::string path) : path_(std::move(path)) {}

    Result<void> flush();

    std::string path_;
    std::string temporary_;
    std::string buffer_;
    int descriptor_ = -1;
    bool committed_ = false;
};

}  // namespace tidemark
