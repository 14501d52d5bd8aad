// Bind, copy, time.
#include "backends/numa/numa_bandwidth.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "backends/numa/node_thread.h"
#include "core/base/stopwatch.h"

namespace tidemark {
namespace {

// The compiler must not see that the copy is never read.
void copy(std::span<std::byte> target, std::span<const std::byte> source) {
    std::memcpy(target.data(), source.data(), source.size());
    asm volatile("" : : "r"(target.data()) : "memory");
}

NumaBandwidth copy_until(std::span<std::byte> target, std::span<const std::byte> source,
                         Nanoseconds budget) {
    NumaBandwidth result;
    Nanoseconds fastest = std::numeric_limits<Nanoseconds>::max();
    const Stopwatch all;
    do {
        const Stopwatch one;
        copy(target, source);
        fastest = std::min(fastest, one.elapsed());
        ++result.rounds;
    } while (all.elapsed() < budget);
    result.bytes_per_second = static_cast<double>(source.size()) * 1e9 /
                              static_cast<double>(std::max<Nanoseconds>(fastest, 1));
    return result;
}

}  // namespace

Result<NumaBandwidth> measure_bandwidth(const NumaHost& host, const BandwidthQuestion& question) {
    const NumaNode* node = host.nodes().find(question.cpu_node);
    if (node == nullptr || node->cpus.empty())
        return fail(ErrorCode::not_found,
                    fmt::format("node {} has no processors", question.cpu_node), "NUMA");
    TM_ASSIGN(const NumaPages source,
              host.allocate(question.size, question.source_node.value_or(question.memory_node)));
    TM_ASSIGN(const NumaPages target, host.allocate(question.size, question.memory_node));
    NumaBandwidth result;
    if (!run_on_node(*node,
                     [&] { result = copy_until(target.bytes(), source.bytes(), question.budget); }))
        return fail(ErrorCode::driver,
                    fmt::format("this process may not run on node {}", question.cpu_node), "NUMA");
    result.cpu_node = question.cpu_node;
    result.memory_node = question.memory_node;
    return result;
}

}  // namespace tidemark
