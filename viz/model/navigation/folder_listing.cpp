// Folders, through std::filesystem.
#include "viz/model/navigation/folder_listing.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <tuple>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/wording.h"
#include "traces/open.h"

namespace tidemark::viz {
namespace {

namespace fs = std::filesystem;

std::string home_folder() {
    const char* const home = std::getenv("HOME");
    return home == nullptr ? std::string() : home;
}

// "/" for "//", "/a" for "/a/.".
std::string whole_path(const fs::path& path) {
    fs::path normal = path.lexically_normal();
    if (!normal.has_filename() && normal.has_relative_path())
        normal = normal.parent_path();
    return normal.string();
}

FolderEntry entry_of(const fs::directory_entry& found, fs::file_time_type now) {
    FolderEntry entry;
    entry.name = found.path().filename().string();
    std::error_code error;
    entry.is_folder = found.is_directory(error);
    entry.is_file = !error && found.is_regular_file(error);
    if (entry.is_file) {
        const std::uintmax_t bytes = found.file_size(error);
        entry.bytes = error ? 0 : bytes;
    }
    const fs::file_time_type changed = found.last_write_time(error);
    if (!error)
        entry.age = std::chrono::duration_cast<std::chrono::seconds>(now - changed).count();
    return entry;
}

// The longest part of a path that exists.
std::string nearest_folder(fs::path path) {
    std::error_code error;
    while (path.has_relative_path() && !fs::is_directory(path, error))
        path = path.parent_path();
    return path.string();
}

Error why_not_listed(const std::string& folder, const std::error_code& error) {
    if (error == std::errc::no_such_file_or_directory)
        return {ErrorCode::not_found, "there is no such folder", shown_path(folder),
                fmt::format("the nearest that exists is {}", shown_path(nearest_folder(folder)))};
    if (error == std::errc::not_a_directory)
        return {ErrorCode::bad_option, "is a file, not a folder", shown_path(folder),
                "Enter opens it"};
    if (error == std::errc::permission_denied)
        return {ErrorCode::io, "you may not read this folder", shown_path(folder),
                "ask its owner for access (chmod), or choose another one"};
    return {ErrorCode::io, error.message(), shown_path(folder), {}};
}

}  // namespace

FolderListing list_folder(const std::string& folder, const Cancelled& cancelled) {
    FolderListing listing;
    listing.folder = folder;
    std::error_code error;
    fs::directory_iterator entry(folder, error);
    const auto now = fs::file_time_type::clock::now();
    for (const fs::directory_iterator end; !error && entry != end && !cancelled.load();
         entry.increment(error)) {
        if (listing.entries.size() == kMostFolderEntries) {
            listing.is_cut = true;
            break;
        }
        listing.entries.push_back(entry_of(*entry, now));
    }
    if (error)
        listing.error = why_not_listed(folder, error);
    std::ranges::sort(listing.entries, {}, [](const FolderEntry& each) {
        return std::tuple(!each.is_folder, each.age, std::string_view(each.name));
    });
    return listing;
}

std::vector<bool> recordings_among(const FolderListing& listing, std::size_t first,
                                   std::size_t count, const Cancelled& cancelled) {
    const std::size_t end = std::min(listing.entries.size(), first + count);
    std::vector<bool> recordings;
    for (std::size_t i = first; i < end; ++i) {
        const FolderEntry& entry = listing.entries[i];
        recordings.push_back(entry.is_file && entry.bytes > 0 && !cancelled.load() &&
                             is_trace_file((fs::path(listing.folder) / entry.name).string()));
    }
    return recordings;
}

TypedPath typed_path(std::string_view text, const std::string& folder) {
    const std::string home = home_folder();
    std::string whole(trimmed(text));
    if (!home.empty() && (whole == "~" || whole.starts_with("~/")))
        whole = whole.size() == 1 ? home + "/" : home + whole.substr(1);
    if (whole == ".." || whole.ends_with("/.."))
        whole += "/";
    const std::size_t slash = whole.rfind('/');
    if (slash == std::string::npos)
        return {whole_path(folder), whole};
    return {whole_path(fs::path(folder) / whole.substr(0, slash + 1)), whole.substr(slash + 1)};
}

std::string folder_above(const std::string& folder) {
    return whole_path(fs::path(folder) / "..");
}

std::string shown_path(const std::string& path) {
    const std::string home = home_folder();
    const bool is_below = home.size() > 1 && path.starts_with(home) &&
                          (path.size() == home.size() || path[home.size()] == '/');
    return printable(is_below ? "~" + path.substr(home.size()) : path);
}

std::string age_text(std::int64_t seconds) {
    constexpr std::int64_t kMinute = 60;
    constexpr std::int64_t kHour = 60 * kMinute;
    constexpr std::int64_t kDay = 24 * kHour;
    constexpr std::int64_t kMonth = 30 * kDay;
    constexpr std::int64_t kYear = 365 * kDay;
    if (seconds < kMinute)
        return "now";
    if (seconds < kHour)
        return fmt::format("{} min", seconds / kMinute);
    if (seconds < 2 * kDay)
        return fmt::format("{} h", seconds / kHour);
    if (seconds < 2 * kMonth)
        return fmt::format("{} days", seconds / kDay);
    if (seconds < 2 * kYear)
        return fmt::format("{} months", seconds / kMonth);
    return fmt::format("{} years", seconds / kYear);
}

}  // namespace tidemark::viz
