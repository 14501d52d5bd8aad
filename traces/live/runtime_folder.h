// Where running programs keep their shared files, and where recordings without a path go. Folders
// belong to one user: 0700.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "traces/io/own_folder.h"

namespace tidemark::live {

// Where to find programs, the folder for new ones first: $TIDEMARK_RUNTIME_DIR if it is set, else
// $XDG_RUNTIME_DIR/tidemark and /dev/shm/tidemark-UID.
std::vector<std::string> runtime_folders();

// Where recordings are kept: $TIDEMARK_RECORDINGS, else $XDG_STATE_HOME/tidemark/live, else
// /var/tmp/tidemark-UID.
std::string recordings_folder();

// Such a folder, open, created if it is missing. Errors: those of OwnFolder, with what to do.
Result<OwnFolder> open_live_folder(const std::string& path);
Result<OwnFolder> make_live_folder(const std::string& path);

// The file name of the running program, without folders.
std::string program_name();

// When process `id` started, in the system's ticks; 0: there is no such process, or it has ended
// and only waits for its parent. No other process has the same id and start.
std::uint64_t process_start(std::uint32_t id);

}  // namespace tidemark::live
