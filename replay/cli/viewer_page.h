// The viewer in one file, for any browser, with recordings inside: who gets it has everything.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "replay/cli/command.h"
#include "replay/cli/trace_input.h"
#include "traces/io/output_target.h"

namespace tidemark::commands {

struct PageContent {
    std::vector<std::string> paths;  // recordings of any format; may be none
    std::string title = {};          // "" = the viewer's own
    std::string location = {};       // where it opens, as --goto of `tidemark view`; "" = overview
};

// The built page: next to the built program, or where it is installed. Errors
// (unsupported): there is none, with how to build one.
Result<std::string> find_page();

// Writes find_page() with the recordings in it, as .tmk, and reports that. Errors: those of
// find_page, of the recordings, and of writing; bad_input where the page is none.
Result<ExitCode> write_page(Context& context, const TraceInput& input, const PageContent& content,
                            const OutputTarget& output, bool json);

}  // namespace tidemark::commands
