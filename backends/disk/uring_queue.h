// UringQueue: transfers by io_uring, through liburing. One ring per queue: it needs no threads of
// ours, and rings of different workers share nothing (defect 19).
//
// Containers and hardened kernels often refuse io_uring; then there is no such queue, and the
// reason is reported. Only in builds that found liburing.
#pragma once

#include <memory>

#include "core/tiers/disk/block_files.h"

namespace tidemark {

// For up to `depth` transfers. Errors: the kernel's (EPERM, ENOSYS, ENOMEM), or ENOSYS in a build
// without liburing.
FileResult<std::unique_ptr<BlockQueue>> make_uring_queue(unsigned depth);

}  // namespace tidemark
