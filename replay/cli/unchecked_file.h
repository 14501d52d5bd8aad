// UncheckedFile: what is written before it is known whether it will be wanted as it is.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "core/base/file_descriptor.h"
#include "core/base/result.h"
#include "core/base/small_file.h"
#include "replay/cli/written_files.h"
#include "traces/io/output_target.h"

namespace tidemark::commands {

// A file in a folder of its own, which goes away with it: its content becomes the target's only if
// all went well.
class UncheckedFile {
  public:
    // Of the same name, beside `target`. Errors: io.
    static Result<UncheckedFile> beside(const std::string& target) {
        const std::filesystem::path path(target);
        std::string folder = (path.parent_path() / ".unchecked-XXXXXX").string();
        if (::mkdtemp(folder.data()) == nullptr)
            return io_error("cannot make a folder next to it", target);
        return UncheckedFile(folder, folder + "/" + path.filename().string());
    }

    UncheckedFile(const UncheckedFile&) = delete;
    UncheckedFile& operator=(const UncheckedFile&) = delete;

    UncheckedFile(UncheckedFile&& other) noexcept
        : folder_(std::exchange(other.folder_, {})), path_(std::move(other.path_)) {}

    UncheckedFile& operator=(UncheckedFile&&) = delete;

    ~UncheckedFile() {
        std::error_code none;
        if (!folder_.empty())
            std::filesystem::remove_all(folder_, none);
    }

    const std::string& path() const { return path_; }

    Result<void> become(const OutputTarget& target) const {
        TM_ASSIGN(const std::string bytes, read_small_file(path_, SIZE_MAX));
        return write_whole(target, bytes);
    }

  private:
    UncheckedFile(std::filesystem::path folder, std::string path)
        : folder_(std::move(folder)), path_(std::move(path)) {}

    std::filesystem::path folder_;
    std::string path_;
};

}  // namespace tidemark::commands
