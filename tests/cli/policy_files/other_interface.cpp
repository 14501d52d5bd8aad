// A policy's library of another version of Tidemark.
#include "core/allocator/policy_file.h"

extern "C" __attribute__((visibility("default")))
const tidemark::PolicyFile tidemark_policy_file = {.interface = tidemark::kPolicyInterface + 1};
