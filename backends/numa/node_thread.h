// Work on a node's own processors: memory that is first touched there is placed there, and so is
// what a driver pins for a thread that runs there.
#pragma once

#include <functional>

#include "backends/numa/numa_nodes.h"

namespace tidemark {

// Runs `work` on a thread that is bound to the processors of `node`, and waits for its end. False:
// this process may not run there or has no thread for it, and nothing was run.
bool run_on_node(const NumaNode& node, const std::function<void()>& work);

}  // namespace tidemark
