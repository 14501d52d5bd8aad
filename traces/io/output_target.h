// OutputTarget: a file that is to be written, with what decides whether it may be. Every output of
// ours to a file that somebody named passes this rule (OutputFile::create takes nothing else):
// - a file that is read at the same time is never written, by whatever name it goes;
// - a file that is there is replaced only by one of the same kind, and a recording never, unless
//   `force` says so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "traces/io/file_kind.h"

namespace tidemark {

// Which file it is, whatever its path: links and hard links lead to the same one.
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
    bool force = false;                     // what is there may be replaced, but if it is read
    std::vector<FileIdentity> inputs = {};  // what is read at the same time

    bool wanted() const { return !path.empty(); }
};

// The kind of what is in a file: compressed or not, a recording is one; all else that is
// compressed is unknown. Errors: io.
Result<FileKind> kind_of_file(const std::string& path);

// Whether the rule lets it be written now. Nothing there, an empty file that isn't read, what is no
// file (a pipe, /dev/null), "-" and "" may. Changes nothing. Errors: bad_option; io, where it can't
// be looked at.
Result<void> check_rule(const OutputTarget& target);

// The same, and whether it can be written at all, to be asked before work that takes long. Errors:
// also those of OutputFile::check.
Result<void> check_target(const OutputTarget& target);

}  // namespace tidemark
