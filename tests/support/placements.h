// One small program, by hand, that tells allocators apart: where a policy puts each allocation.
#pragma once

#include <string>

#include "core/allocator/allocator.h"

namespace tidemark::support {

// "A=s0+0K B=s1+2097208 C=refused ...": of each allocation the segment, numbered as they were
// taken, and the offset in it, in KiB where it is whole. The program uses streams 1 and 2, and
// frees on other streams than an allocation's own.
std::string placements(Allocator& policy);

}  // namespace tidemark::support
