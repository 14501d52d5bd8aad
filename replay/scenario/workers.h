// Workers: independent jobs on a few threads, started in order.
#pragma once

#include <cstddef>
#include <functional>

namespace tidemark {

// Calls `job(0)`, `job(1)`, ... `job(count - 1)`, each once, on at most `threads` threads (0 = one
// for each core), the caller's among them. Jobs start in that order; when one returns false none
// is started any more, but all that were started finish: the first failure is always the same.
// Where the system gives no thread there are fewer of them. `job` is called by several threads at
// once. O(count).
void run_jobs(std::size_t count, unsigned threads,
              const std::function<bool(std::size_t index)>& job);

}  // namespace tidemark
