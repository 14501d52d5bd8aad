// tidemark record --attach: a process that runs already, recorded from outside (replay/attach).
#pragma once

#include <string>

#include "replay/cli/command.h"

namespace tidemark::commands {

struct AttachOptions {
    int process = 0;
    std::string output;      // the recording; "" = one in the folder of recordings
    bool overwrite = false;  // replace an existing file
    std::string name;        // of the process in lists; "" = its program's
    Bytes history_limit = 0;
    bool live = false;
    bool json = false;
};

// Until the process ends, or we are told to: Ctrl-C, SIGTERM, SIGHUP. Errors: those of
// find_torch_probes, ProbeRing::open and Publisher::start.
Result<ExitCode> record_attached(Context& context, const AttachOptions& options);

}  // namespace tidemark::commands
