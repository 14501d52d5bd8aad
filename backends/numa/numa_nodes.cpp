// One folder per node.
#include "backends/numa/numa_nodes.h"

#include <algorithm>
#include <sstream>

#include "backends/numa/sys_files.h"

namespace tidemark {
namespace {

constexpr unsigned kHere = 10;  // the kernel's distance of a node to itself

// What an allocation could get from a node: the kernel drops file pages first.
void read_memory(const std::string& path, NumaNode& node) {
    const std::string text = read_sys_text(path).value_or("");
    node.total = find_meminfo(text, "MemTotal").value_or(0);
    node.free = find_meminfo(text, "MemFree").value_or(0);
    const Bytes cached = find_meminfo(text, "Active(file)").value_or(0) +
                         find_meminfo(text, "Inactive(file)").value_or(0);
    node.available = std::min(node.total, node.free + cached);
}

NumaNode read_node(const std::string& folder, unsigned id) {
    NumaNode node;
    node.id = id;
    read_memory(folder + "/meminfo", node);
    node.cpus = parse_number_list(read_sys_text(folder + "/cpulist").value_or(""));
    std::istringstream distances(read_sys_text(folder + "/distance").value_or(""));
    for (unsigned distance = 0; distances >> distance;)
        node.distances.push_back(distance);
    return node;
}

NumaNode whole_machine(const std::string& root) {
    NumaNode node;
    read_memory(root + "/proc/meminfo", node);
    node.cpus =
        parse_number_list(read_sys_text(root + "/sys/devices/system/cpu/online").value_or(""));
    node.distances = {kHere};
    return node;
}

}  // namespace

const NumaNode* HostNodes::find(unsigned id) const {
    const auto found = std::find_if(nodes.begin(), nodes.end(),
                                    [id](const NumaNode& node) { return node.id == id; });
    return found == nodes.end() ? nullptr : &*found;
}

HostNodes read_host_nodes(const std::string& root) {
    const std::string folder = root + "/sys/devices/system/node";
    HostNodes host;
    for (const unsigned id : parse_number_list(read_sys_text(folder + "/online").value_or("")))
        host.nodes.push_back(read_node(folder + "/node" + std::to_string(id), id));
    host.known_by_kernel = !host.nodes.empty();
    if (host.nodes.empty())
        host.nodes.push_back(whole_machine(root));
    // A virtual machine that is given memory as it uses it reports the total only there.
    NumaNode whole = host.nodes.front();
    read_memory(root + "/proc/meminfo", whole);
    if (host.nodes.size() == 1 && whole.total > host.nodes.front().total)
        host.nodes.front() = whole;
    for (NumaNode& node : host.nodes) {
        if (node.distances.size() == host.nodes.size())
            continue;
        node.distances.clear();  // a kernel without distances: only the own node is known
        for (const NumaNode& other : host.nodes)
            node.distances.push_back(other.id == node.id ? kHere : 2 * kHere);
    }
    return host;
}

}  // namespace tidemark
