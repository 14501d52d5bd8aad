// One that forgot to say how its allocator is made.
#include "core/allocator/policy_file.h"

TIDEMARK_POLICY_FILE({.name = "none", .summary = "", .source = "", .options = {}, .make = nullptr})
