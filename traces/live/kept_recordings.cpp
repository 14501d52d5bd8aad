// Pieces are put together by the session in their headers.
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

#include "traces/io/file_descriptor.h"
#include "traces/live/recording_file.h"

namespace tidemark::live {
namespace {

// The file's lock, if nobody else has it.
class FileLock {
  public:
    explicit FileLock(const std::string& path)
        : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)),
          held_(file_.valid() && ::flock(file_.get(), LOCK_EX | LOCK_NB) == 0) {}

    bool held() const { return held_; }

  private:
    FileDescriptor file_;
    bool held_;
};

// The piece that would follow the last; "" if none may.
std::string piece_after(const KeptRecording& recording) {
    const std::string& last = recording.files.back();
    const std::string ending = fmt::format("-{:06}.tml", recording.header.segment);
    if ((recording.header.flags & kSegmented) == 0 || !last.ends_with(ending))
        return {};
    return fmt::format("{}-{:06}.tml", last.substr(0, last.size() - ending.size()),
                       recording.header.segment + 1);
}

RecordingState state_of(const KeptRecording& recording, std::span<const LiveProgram> programs) {
    if (is_alive(recording.header) || !FileLock(recording.files.back()).held())
        return RecordingState::in_use;
    const bool left = std::any_of(programs.begin(), programs.end(), [&](const auto& program) {
        return program.header.session == recording.header.session;
    });
    return left ? RecordingState::unrecovered : RecordingState::ended;
}

Result<void> remove_file(const std::string& path) {
    if (::unlink(path.c_str()) == 0 || errno == ENOENT)
        return {};
    return io_error("cannot be removed", path);
}

void add_size_and_age(KeptRecording& recording) {
    std::int64_t written = 0;
    for (const std::string& path : recording.files) {
        struct stat status {};

        if (::stat(path.c_str(), &status) != 0)
            continue;
        recording.bytes += static_cast<Bytes>(status.st_size);
        written = std::max(written, status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec);
    }
    recording.age = std::max<Nanoseconds>(unix_now() - written, 0);
}

}  // namespace

std::vector<KeptRecording> list_recordings(const std::string& folder,
                                           std::span<const LiveProgram> programs) {
    namespace fs = std::filesystem;
    std::map<std::uint64_t, std::map<std::uint32_t, std::pair<std::string, Header>>> pieces;
    std::error_code problem;
    for (const auto& entry : fs::directory_iterator(folder, problem)) {
        if (entry.path().extension() != ".tml" || !entry.is_regular_file(problem))
            continue;
        const std::string path = entry.path().string();
        if (const auto file = RecordingFile::open(path))
            pieces[file->header().session][file->header().segment] = {path, file->header()};
    }
    std::vector<KeptRecording> recordings;
    for (const auto& [session, of_session] : pieces) {
        KeptRecording recording{.header = of_session.rbegin()->second.second};
        for (const auto& [number, piece] : of_session)
            recording.files.push_back(piece.first);
        add_size_and_age(recording);
        recording.state = state_of(recording, programs);
        recordings.push_back(std::move(recording));
    }
    std::sort(recordings.begin(), recordings.end(),
              [](const KeptRecording& a, const KeptRecording& b) { return a.age > b.age; });
    return recordings;
}

Result<bool> remove_recording(const KeptRecording& recording) {
    if (recording.state != RecordingState::ended)
        return false;
    const FileLock lock(recording.files.back());
    if (!lock.held())
        return false;
    // A program locks the next piece before it leaves the last one.
    if (const std::string next = piece_after(recording); !next.empty()) {
        const std::string unnamed = next + ".part";
        if (::access(next.c_str(), F_OK) == 0)
            return false;
        if (::access(unnamed.c_str(), F_OK) == 0) {
            if (!FileLock(unnamed).held())
                return false;
            TM_TRY(remove_file(unnamed));
        }
    }
    for (const std::string& path : recording.files)
        TM_TRY(remove_file(path));
    return true;
}

}  // namespace tidemark::live
