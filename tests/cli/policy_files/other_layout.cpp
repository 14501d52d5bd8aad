// One whose compiler gave an allocator another size.
#include "core/allocator/policy_file.h"

extern "C" __attribute__((visibility("default")))
const tidemark::PolicyFile tidemark_policy_file = {.sizes = {1}};
