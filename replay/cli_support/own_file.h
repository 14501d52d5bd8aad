// own_file: may a file be written? What Tidemark wrote itself may be written over: a trace, a
// report, a profile, a chart. What a person or another program made is kept, unless --force is
// given.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace tidemark {

// Whether a file that begins so (4 KiB are enough) was written by Tidemark: .tmk, or a mark that
// each of our other formats has near its front. Exports in the format of another program (RMM's
// CSV) have none and are nobody's. O(size).
bool is_own_content(std::string_view head);

// Whether a command may and can write `target`, to be checked before its work, which may be long.
// Nothing there, an empty file, what is no file (a pipe, /dev/null), "-" and "" may be written.
// Changes nothing. Errors: bad_option (a file that isn't ours without `force`); those of
// OutputFile::check.
Result<void> check_target(const std::string& target, bool force);

}  // namespace tidemark
