// own_file: may a file be written over? What Tidemark wrote itself may: a trace, a report, a
// profile, a picture. What a person or another program made is kept, unless it is given up with
// --force.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace tidemark {

// Whether a file that begins so (4 KiB are enough) was written by Tidemark: .tmk, or a mark that
// each of our other formats has near its front. Exports in the format of another program (RMM's
// CSV) have none and are nobody's. O(size).
bool is_own_content(std::string_view head);

// Nothing there, an empty file, what is no file (a pipe, /dev/null), "-" and "" may be written;
// and folders, which are others' business. Errors (bad_option): a file that isn't ours without
// `force`.
Result<void> allow_replacing(const std::string& target, bool force);

}  // namespace tidemark
