// UnitFolder: results of a sweep's units, a file each, called HASH.json. Files appear whole, by
// renaming, so a sweep that is killed at any moment leaves only results; nobody waits for the disk,
// so after a power cut some may be empty, and are computed again. Folders of several machines are
// merged by copying.
#pragma once

#include <optional>
#include <string>

#include "core/base/result.h"
#include "replay/report/sweep/unit_line.h"

namespace tidemark {

class UnitFolder {
  public:
    // Makes it if it is missing. Errors: io.
    static Result<UnitFolder> open(const std::string& path);

    const std::string& path() const { return path_; }

    // The result of that unit; none if there is no such file. Errors: io; bad_input for a file that
    // is something else.
    Result<std::optional<UnitResult>> find(const std::string& unit) const;

    // Writes the line, and reads it as anybody else would. Errors: io.
    Result<UnitResult> keep(const std::string& unit, const std::string& line) const;

  private:
    explicit UnitFolder(std::string path) : path_(std::move(path)) {}

    std::string file_of(const std::string& unit) const { return path_ + "/" + unit + ".json"; }

    std::string path_;
};

}  // namespace tidemark
