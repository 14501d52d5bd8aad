// KernelTable: what is known of each kernel that a program launches: its name, and where its
// arguments are. Asked of the driver once for each.
//
// Thread-safe; a few ns for a kernel that the thread has launched before.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "replay/inject/driver_queries.h"

namespace tidemark::inject {

struct Kernel {
    std::string name;
    std::vector<KernelParameter> parameters;
    bool known = false;  // the parameters
    // Of Publisher::string; 0: not named yet. It is valid for all threads.
    mutable std::atomic<std::uint32_t> tag = 0;
    mutable std::atomic<std::uint32_t> checked = 0;  // KernelTable::unloads_ then
};

class KernelTable {
  public:
    // `driver` outlives it.
    explicit KernelTable(const DriverQueries& driver) : driver_(driver) {}

    // `symbol`: its name as CUPTI says it, or null. The answer stays.
    const Kernel& find(cuda::CUfunction function, const char* symbol);

    // A handle may be another kernel's from now on.
    void on_unload() { unloads_.fetch_add(1); }

  private:
    const Kernel& look_up(cuda::CUfunction function, const char* symbol);

    const DriverQueries& driver_;
    std::atomic<std::uint32_t> unloads_ = 0;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Kernel>> kernels_;  // also those that are gone: threads know them
    std::unordered_map<cuda::CUfunction, Kernel*> by_function_;
};

// A mangled name in readable form: without parameters, and of limited length.
std::string short_kernel_name(const char* symbol);

}  // namespace tidemark::inject
