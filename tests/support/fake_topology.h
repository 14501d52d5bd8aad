// Machines that are not there, for tests of what is said about them.
#pragma once

#include "backends/topology/topology.h"

namespace tidemark::support {

// No GPU, no driver, no Python: one node of 16 GiB with four processors.
Topology plain_machine();

// Two GPUs that reach each other, two memory nodes, and all the software there is.
Topology full_machine();

}  // namespace tidemark::support
