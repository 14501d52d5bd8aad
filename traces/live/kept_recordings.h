// KeptRecordings: the recordings that lie in a folder, whose they are, and removing those that
// nobody writes any more. Thread-safe.
//
// A program locks the piece of its recording that it writes (flock), so that it is known for alive
// also from another container or computer, where its process can't be seen.
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
    in_use,       // its program lives, or somebody writes it
    unrecovered,  // its program died, and what it published last is still in shared memory
    ended,
};

struct KeptRecording {
    Header header;                        // of the newest piece
    std::vector<std::string> files = {};  // its pieces, oldest first
    Bytes bytes = 0;
    Nanoseconds age = 0;  // since it was last written
    RecordingState state = RecordingState::ended;
};

// The user's recordings in `folder`, the one that was written last at the end. Files that are none,
// or somebody else's, are left out; `skipped` is told which and why. `programs`: all that are
// known, dead ones included. O(files).
std::vector<KeptRecording> list_recordings(const std::string& folder,
                                           std::span<const LiveProgram> programs,
                                           std::vector<Error>* skipped = nullptr);

// Removes all pieces of an ended recording that was listed in `folder`. False: it isn't an ended
// one, or somebody has begun to write it since. Errors: io; some pieces may be gone then.
Result<bool> remove_recording(const OwnFolder& folder, const KeptRecording& recording);

}  // namespace tidemark::live
