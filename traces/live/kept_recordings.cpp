// The session in their headers shows which pieces belong together.
#include "traces/live/kept_recordings.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file_descriptor.h"
#include "traces/live/recording_file.h"

namespace tidemark::live {
namespace {

// The file's lock, if nobody else has it.
class FileLock {
  public:
    explicit FileLock(Result<FileDescriptor> file)
        : file_(std::move(file)), held_(file_ && ::flock(file_->get(), LOCK_EX | LOCK_NB) == 0) {}

    bool held() const { return held_; }

  private:
    Result<FileDescriptor> file_;
    bool held_;
};

std::string name_of(const std::string& path) {
    return std::filesystem::path(path).filename().string();
}

// The name of the piece that would follow the last; "" if none is allowed.
std::string piece_after(const KeptRecording& recording) {
    const std::string last = name_of(recording.files.back());
    const std::string ending = fmt::format("-{:06}.tml", recording.header.segment);
    if ((recording.header.flags & kSegmented) == 0 || !last.ends_with(ending))
        return {};
    return fmt::format("{}-{:06}.tml", last.substr(0, last.size() - ending.size()),
                       recording.header.segment + 1);
}

RecordingState state_of(const KeptRecording& recording, std::span<const LiveProgram> programs) {
    if (is_alive(recording.header) ||
        !FileLock(open_own_file(recording.files.back(), O_RDONLY)).held())
        return RecordingState::in_use;
    const bool left = std::any_of(programs.begin(), programs.end(), [&](const auto& program) {
        return program.header.session == recording.header.session;
    });
    return left ? RecordingState::unrecovered : RecordingState::ended;
}

Result<void> remove_file(const OwnFolder& folder, const std::string& name) {
    if (::unlinkat(folder.descriptor(), name.c_str(), 0) == 0 || errno == ENOENT)
        return {};
    return io_error("cannot be removed", folder.path() + "/" + name);
}

// A file of a recording.
struct Piece {
    std::string path;
    Header header;
    Bytes bytes = 0;
    std::int64_t written = 0;  // ns since the epoch
};

Result<Piece> read_piece(const std::string& path) {
    TM_ASSIGN(const RecordingFile file, RecordingFile::open(path, Owner::oneself));

    struct stat status {};

    if (::fstat(file.descriptor().get(), &status) != 0)
        return io_error("cannot be examined", path);
    return Piece{path, file.header(), static_cast<Bytes>(status.st_size),
                 status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec};
}

KeptRecording put_together(const std::map<std::uint32_t, Piece>& pieces) {
    KeptRecording recording{.header = pieces.rbegin()->second.header};
    std::int64_t written = 0;
    for (const auto& [number, piece] : pieces) {
        recording.files.push_back(piece.path);
        recording.bytes += piece.bytes;
        written = std::max(written, piece.written);
    }
    recording.age = std::max<Nanoseconds>(unix_now() - written, 0);
    return recording;
}

}  // namespace

std::vector<KeptRecording> list_recordings(const std::string& folder,
                                           std::span<const LiveProgram> programs,
                                           std::vector<Error>* skipped) {
    namespace fs = std::filesystem;
    std::map<std::uint64_t, std::map<std::uint32_t, Piece>> sessions;
    std::error_code problem;
    for (const auto& entry : fs::directory_iterator(folder, problem)) {
        if (entry.path().extension() != ".tml")
            continue;
        Result<Piece> piece = read_piece(entry.path().string());
        if (piece) {
            const Header& header = piece->header;
            sessions[header.session][header.segment] = std::move(*piece);
        } else if (skipped != nullptr && piece.error().code != ErrorCode::not_found) {
            skipped->push_back(piece.error());
        }
    }
    std::vector<KeptRecording> recordings;
    for (const auto& [session, pieces] : sessions) {
        recordings.push_back(put_together(pieces));
        recordings.back().state = state_of(recordings.back(), programs);
    }
    std::sort(recordings.begin(), recordings.end(),
              [](const KeptRecording& a, const KeptRecording& b) { return a.age > b.age; });
    return recordings;
}

Result<bool> remove_recording(const OwnFolder& folder, const KeptRecording& recording) {
    if (recording.state != RecordingState::ended)
        return false;
    const FileLock lock(folder.open_file(name_of(recording.files.back()), O_RDONLY));
    if (!lock.held())
        return false;
    // A program locks the next piece before it unlocks the last one.
    if (const std::string next = piece_after(recording); !next.empty()) {
        const std::string unnamed = next + ".part";
        const auto is_there = [&folder](const std::string& name) {
            return ::faccessat(folder.descriptor(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
        };
        if (is_there(next))
            return false;
        if (is_there(unnamed)) {
            if (!FileLock(folder.open_file(unnamed, O_RDONLY)).held())
                return false;
            TM_TRY(remove_file(folder, unnamed));
        }
    }
    for (const std::string& path : recording.files)
        TM_TRY(remove_file(folder, name_of(path)));
    return true;
}

}  // namespace tidemark::live
