// Where living programs leave their shared files, and the recordings that nobody gave a path.
// Folders belong to one user: 0700, and nobody else's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "traces/io/own_folder.h"

namespace tidemark::live {

// Where programs may be found, the one for new ones first: $TIDEMARK_RUNTIME_DIR if it is set, else
// $XDG_RUNTIME_DIR/tidemark and /dev/shm/tidemark-UID.
std::vector<std::string> runtime_folders();

// Where recordings are kept: $TIDEMARK_RECORDINGS, else $XDG_STATE_HOME/tidemark/live, else
// /var/tmp/tidemark-UID.
std::string recordings_folder();

// Such a folder, open, or made where there is none. Errors: those of OwnFolder, with what to do.
Result<OwnFolder> open_live_folder(const std::string& path);
Result<OwnFolder> make_live_folder(const std::string& path);

// The file name of the running program, without folders.
std::string program_name();

// When process `id` began, in the system's ticks; 0: there is no such process, or it has ended and
// only waits for its parent. No other process has the same id and begin.
std::uint64_t process_start(std::uint32_t id);

}  // namespace tidemark::live
