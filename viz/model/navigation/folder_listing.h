// FolderListing: the contents of a folder, newest first, and which of it is a recording: for
// finding a file to open. Names are bytes as the file system has them: printable() shows them.
//
// Depends only on the file system; thread-safe. Folders may be slow: list them in a job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"
#include "viz/model/session/job.h"

namespace tidemark::viz {

struct FolderEntry {
    std::string name;
    bool is_folder = false;
    bool is_file = false;  // neither: a pipe, a device, a link to nothing
    Bytes bytes = 0;
    std::int64_t age = 0;  // seconds since it was changed
};

constexpr std::size_t kMostFolderEntries = 100'000;

struct FolderListing {
    std::string folder;
    std::vector<FolderEntry> entries;  // folders first; newest first, then by name
    bool is_cut = false;               // it has more than kMostFolderEntries
    std::optional<Error> error;        // why it cannot be listed
};

// O(entries * log entries). Cancelled: what was found so far.
FolderListing list_folder(const std::string& folder, const Cancelled& cancelled);

// Of `count` entries from `first` on, as far as there are that many, those that a reader recognises
// by their first bytes. O(count) files opened.
std::vector<bool> recordings_among(const FolderListing& listing, std::size_t first,
                                   std::size_t count, const Cancelled& cancelled);

// What a user who looks for a file typed: a folder, and a part of a name in it. "~" is the home
// folder; a relative path starts at the current folder.
struct TypedPath {
    std::string folder;
    std::string part;  // "" is all of it
};

TypedPath typed_path(std::string_view text, const std::string& folder);

// The folder that `folder` is in; of the topmost, itself.
std::string folder_above(const std::string& folder);

// `path` with "~" for the home folder, printable.
std::string shown_path(const std::string& path);

// "now", "5 min", "3 h", "12 days", "4 months", "2 years".
std::string age_text(std::int64_t seconds);

}  // namespace tidemark::viz
