// What became of the processes that `tidemark record` recorded.
#pragma once

#include "replay/cli/command.h"
#include "replay/inject/process_report.h"
#include "replay/report/runs/record_report.h"

namespace tidemark::commands {

// What a process left in memory when it was killed becomes the end of its recording, which is then
// read.
RecordedProcess look_at_recorded(Front& front, const inject::ProcessReport& report);

}  // namespace tidemark::commands
