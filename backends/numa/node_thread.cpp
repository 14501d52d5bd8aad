// A thread of its own: the caller's binding stays as it is.
#include "backends/numa/node_thread.h"

#include <sched.h>

#include "core/base/threads.h"

namespace tidemark {
namespace {

bool bind_this_thread(const NumaNode& node) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const unsigned cpu : node.cpus)
        if (cpu < CPU_SETSIZE)
            CPU_SET(cpu, &set);
    return sched_setaffinity(0, sizeof(set), &set) == 0;
}

}  // namespace

bool run_on_node(const NumaNode& node, const std::function<void()>& work) {
    bool bound = false;
    Result<Thread> thread = Thread::start("tm-numa", [&] {
        bound = bind_this_thread(node);
        if (bound)
            work();
    });
    if (thread) {
        thread->join();
        thread->rethrow();
    }
    return bound;
}

}  // namespace tidemark
