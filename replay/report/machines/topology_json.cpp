// Devices and capabilities as JSON.
#include <fmt/format.h>

#include "replay/report/forms/json_values.h"
#include "replay/report/machines/topology_report.h"

namespace tidemark {
namespace {

using report::Json;

Json features_of(const CudaDeviceInfo& gpu) {
    return {{"virtual_memory", gpu.virtual_memory},
            {"memory_pools", gpu.memory_pools},
            {"graphs", gpu.graphs},
            {"batch_copies", gpu.batch_copies},
            {"shared_handles", gpu.posix_handles},
            {"fabric_handles", gpu.fabric_handles},
            {"ipc", gpu.ipc},
            {"host_numa_memory", gpu.host_numa_memory}};
}

Json link_of(const std::optional<PciCard>& card) {
    if (!card)
        return {};
    return {{"speed_gts", card->link.speed_gts},
            {"lanes", card->link.width},
            {"fastest_speed_gts", card->link.fastest_speed_gts},
            {"fastest_lanes", card->link.max_width}};
}

Json node_or_null(int node) {
    return node < 0 ? Json() : Json(node);
}

Json gpu_of(const Gpu& gpu) {
    Json peers = report::list_of(
        gpu.cuda.peers, [&](const int peer) -> Json { return fmt::format("cuda:{}", peer); });
    return {{"device", fmt::format("cuda:{}", gpu.cuda.ordinal)},
            {"name", gpu.cuda.name},
            {"uuid", gpu.cuda.uuid},
            {"memory_bytes", gpu.cuda.total_memory},
            {"granularity_bytes", gpu.cuda.granularity},
            {"compute_capability",
             fmt::format("{}.{}", gpu.cuda.compute_major, gpu.cuda.compute_minor)},
            {"multiprocessors", gpu.cuda.multiprocessors},
            {"integrated", gpu.cuda.integrated},
            {"features", features_of(gpu.cuda)},
            {"peers", std::move(peers)},
            {"pci_address", gpu.cuda.pci_address},
            {"numa_node", node_or_null(gpu.cuda.numa_node)},
            {"link", link_of(gpu.card)},
            {"nvlinks", report::or_null(gpu.nvlinks)}};
}

Json driver_of(const Topology& topology) {
    const bool here = topology.cuda.has_value();
    return {{"cuda_version", here ? Json(cuda_version_text(topology.cuda->version)) : Json()},
            {"driver_version", topology.nvml ? Json(*topology.nvml) : Json()},
            {"library", here ? Json(topology.cuda->library) : Json()},
            {"problem", here ? Json() : Json(to_text(topology.cuda.error()))}};
}

Json host_of(const Topology& topology) {
    Json nodes = report::list_of(topology.host.nodes, [&](const NumaNode& node) -> Json {
        return {{"node", node.id},         {"memory_bytes", node.total},
                {"free_bytes", node.free}, {"available_bytes", node.available},
                {"processors", node.cpus}, {"distances", node.distances}};
    });
    return {{"processor", topology.processor},
            {"processors", topology.processors},
            {"memory_bytes", topology.memory},
            {"available_bytes", topology.memory_available},
            {"placement_problem",
             topology.numa_obstacle ? Json(to_text(*topology.numa_obstacle)) : Json()},
            {"nodes", std::move(nodes)}};
}

Json finding_of(const Finding& finding) {
    return {{"name", finding.name},  {"use", finding.use}, {"here", finding.here},
            {"what", finding.what},  {"why", finding.why}, {"hint", finding.hint},
            {"needs", finding.needs}};
}

}  // namespace

std::string devices_json(const Topology& topology, std::span<const CostProfile> profiles,
                         std::span<const NumaBandwidth> bandwidths, const Provenance& provenance) {
    const auto card_of = [](const PciCard& card) -> Json {
        return {{"pci_address", card.address},
                {"kernel_driver", card.driver},
                {"numa_node", node_or_null(card.numa_node)}};
    };
    const auto bandwidth_of = [](const NumaBandwidth& each) -> Json {
        return {{"processor_node", each.cpu_node},
                {"memory_node", each.memory_node},
                {"bytes_per_second", each.bytes_per_second}};
    };
    const auto simulated_of = [](const CostProfile& profile) -> Json {
        return {{"device", "sim:" + profile.name},
                {"name", profile.device},
                {"memory_bytes", profile.memory}};
    };
    return report::text_of(
        {{"gpus", topology.cuda ? report::list_of(topology.cuda->gpus, gpu_of) : Json::array()},
         {"driver", driver_of(topology)},
         {"cards", report::list_of(topology.cards, card_of)},
         {"host", host_of(topology)},
         {"bandwidths", report::list_of(bandwidths, bandwidth_of)},
         {"simulated", report::list_of(profiles, simulated_of)},
         {"provenance", report::provenance_of(provenance)}});
}

std::string doctor_json(std::span<const Finding> findings,
                        std::span<const std::string_view> required, const Provenance& provenance) {
    return report::text_of({{"capabilities", report::list_of(findings, finding_of)},
                            {"required", required},
                            {"missing", missing_of(findings, required)},
                            {"provenance", report::provenance_of(provenance)}});
}

}  // namespace tidemark
