// Read, merge, write under a lock on the folder: the file itself is another one after each change.
#include "traces/notes/notes_file.h"

#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "core/base/file_descriptor.h"
#include "traces/io/output_file.h"
#include "traces/notes/notes_json.h"

namespace tidemark {
namespace {

constexpr std::string_view kEnding = ".notes.json";
constexpr int kAttempts = 200;
constexpr std::chrono::milliseconds kBetweenAttempts{10};

// Empty if there is no such file.
Result<std::optional<std::string>> content_of(const std::string& path) {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file.valid() && errno == ENOENT)
        return std::optional<std::string>{};

    struct stat status {};

    if (!file.valid() || ::fstat(file.get(), &status) != 0)
        return io_error("cannot be read", path);
    if (!S_ISREG(status.st_mode))
        return fail(ErrorCode::io, "is no file", path);
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (size > kLargestNotesFile)
        return fail(ErrorCode::bad_input, "is larger than 16 MiB", path);
    std::string text(size, '\0');
    TM_ASSIGN(const std::size_t read,
              file.read_at(0, std::as_writable_bytes(std::span(text)), path));
    text.resize(read);
    return std::optional(std::move(text));
}

Result<std::vector<Note>> notes_of(const std::optional<std::string>& text,
                                   const std::string& path) {
    if (!text)
        return std::vector<Note>{};
    return parse_notes(*text).map_error([&](Error error) {
        error.where = path;
        return error;
    });
}

// A lock on the folder for as long as the descriptor lives. Where the file system has none, one
// goes on without it: what is written is whole all the same.
Result<FileDescriptor> locked_folder(const std::string& path) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    FileDescriptor opened(
        ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!opened.valid())
        return io_error("its folder cannot be opened", path);
    for (int i = 0; i < kAttempts; ++i) {
        if (::flock(opened.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
            return opened;
        std::this_thread::sleep_for(kBetweenAttempts);
    }
    return fail(ErrorCode::io, "somebody else has locked its folder", path);
}

}  // namespace

std::string notes_path(const std::string& trace_path) {
    return trace_path + std::string(kEnding);
}

Result<std::vector<Note>> read_notes(const std::string& path) {
    TM_ASSIGN(const auto text, content_of(path));
    return notes_of(text, path);
}

Result<std::vector<Note>> merge_into_notes_file(const std::string& path, std::vector<Note> mine) {
    TM_ASSIGN(const FileDescriptor lock, locked_folder(path));
    TM_ASSIGN(const auto there, content_of(path));
    TM_ASSIGN(std::vector<Note> theirs, notes_of(there, path));
    std::vector<Note> all = merged_notes(theirs, std::move(mine));
    if (all == theirs)
        return all;
    if (all.size() > kMostNotes)
        return fail(ErrorCode::bad_input, "would have more than 2000 bookmarks", path);
    std::string trace = std::filesystem::path(path).filename().string();
    trace.resize(trace.size() - std::min(kEnding.size(), trace.size()));
    // What is there has just been read as notes.
    TM_ASSIGN(const auto file,
              OutputFile::create({.path = path, .kind = FileKind::notes, .force = true}));
    TM_TRY(file->write(notes_text(all, trace)));
    TM_TRY(file->commit());
    return all;
}

}  // namespace tidemark
