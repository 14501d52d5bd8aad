// The NVTX ranges and marks of a program, as ranges and marks of the recording. A range of a domain
// that has a name is called "domain: range". Ranges that are pushed nest within their thread and
// domain; those that are started end by their id, on any thread. Ranges with wide-character texts
// are left out.
//
// What begins before anything is recorded begins with the next range of its thread.
#pragma once

#include "replay/inject/memory_events.h"
#include "replay/inject/nvtx_api.h"

namespace tidemark::inject {

// Puts our functions into a program's tables. `target` returns where ranges go, null: nowhere now.
// False: we don't know these tables. From any thread.
bool follow_nvtx(nvtx::GetExportTable tables, MemoryEvents* (*target)());

}  // namespace tidemark::inject
