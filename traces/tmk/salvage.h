// What is left of a .tmk file without a valid end: all blocks up to the first that is cut off or
// damaged. Reads the file once.
#pragma once

#include <string>

#include "core/base/result.h"
#include "traces/model/trace.h"
#include "traces/tmk/chunk.h"
#include "traces/tmk/file_bytes.h"
#include "traces/tmk/index_block.h"

namespace tidemark::tmk {

struct Salvage {
    Index index;
    TraceInfo info;  // cut_off, with a warning that says what is missing
    std::uint64_t info_hash = 0;
};

// `file` starts with a valid header. Errors: bad_input, with `name`, for chunks that are complete
// but make no sense; those of FileBytes.
Result<Salvage> salvage(const FileBytes& file, const std::string& name);

}  // namespace tidemark::tmk
