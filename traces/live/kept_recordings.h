// KeptRecordings: the recordings in a folder, their owners, and how to remove those that nobody
// writes any longer. Thread-safe.
//
// A program locks the piece of its recording that it writes (flock), so other containers or
// computers, which can't see its process, know that it is running.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "traces/io/own_folder.h"
#include "traces/live/programs.h"
#include "traces/live/wire.h"

namespace tidemark::live {

enum class RecordingState : std::uint8_t {
    in_use,       // its program is running, or somebody writes it
    unrecovered,  // its program died, and its last events are still in shared memory
    ended,
};

struct KeptRecording {
    Header header;                        // of the newest piece
    std::vector<std::string> files = {};  // its pieces, oldest first
    Bytes bytes = 0;
    Nanoseconds age = 0;  // since it was last written
    RecordingState state = RecordingState::ended;
};

// The user's recordings in `folder`, the most recently written one at the end. Other files, and
// other users' files, are left out; `skipped` is told which and why. `programs`: all known
// programs, including dead ones. O(files).
std::vector<KeptRecording> list_recordings(const std::string& folder,
                                           std::span<const LiveProgram> programs,
                                           std::vector<Error>* skipped = nullptr);

// Removes all pieces of an ended recording that was listed in `folder`. False: it hasn't ended, or
// somebody has started to write it since. Errors: io; some pieces may be gone then.
Result<bool> remove_recording(const OwnFolder& folder, const KeptRecording& recording);

}  // namespace tidemark::live
