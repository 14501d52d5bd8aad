// OutputTarget: an output file, with everything that decides whether it may be written. Every
// output of Tidemark to a file that the user named follows this rule (OutputFile::create takes
// nothing else):
// - a file that is being read is never written, under any name;
// - an existing file is replaced only by one of the same kind, and a recording never, unless
//   `force` is set.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "traces/io/file_kind.h"

namespace tidemark {

// The identity of a file, whatever its path: links and hard links lead to the same one.
struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;

    bool operator==(const FileIdentity&) const = default;
};

// Of a plain file at the end of all links; "-" is standard input. None: there is no plain file.
std::optional<FileIdentity> file_identity(const std::string& path);

struct OutputTarget {
    std::string path = {};  // "" = nothing is written; "-" = standard output
    FileKind kind = FileKind::unknown;
    // an existing file may be replaced, unless it is being read
    bool force = false;
    std::vector<FileIdentity> inputs = {};  // what is read at the same time

    bool wanted() const { return !path.empty(); }
};

// The kind of a file's content: a recording counts as one whether or not it is compressed; other
// compressed files are unknown. Errors: io.
Result<FileKind> kind_of_file(const std::string& path);

// Whether the rule allows writing it now. It does for a missing file, an empty file that isn't
// read, anything that is not a file (a pipe, /dev/null), "-" and "". Changes nothing. Errors:
// bad_option; io, if it can't be examined.
Result<void> check_rule(const OutputTarget& target);

// The same, and whether it can be written at all; call it before long work. Errors: also those of
// OutputFile::check.
Result<void> check_target(const OutputTarget& target);

}  // namespace tidemark
