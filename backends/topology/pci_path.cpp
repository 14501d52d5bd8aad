// The folders of /sys/devices are the bus: a device lies in its bridge's folder.
#include "backends/topology/pci_path.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include "backends/numa/sys_files.h"

namespace tidemark {
namespace {

constexpr const char* kPciPathDevices = "/sys/bus/pci/devices/";
constexpr std::array<std::string_view, 6> kNames{"X", "PIX", "PXB", "PHB", "NODE", "SYS"};

// "0000:1b:00.0", or with a longer domain.
bool is_address(std::string_view text) {
    constexpr std::string_view kShape = "xxxx:xx:xx.x";
    if (text.size() < kShape.size())
        return false;
    const std::string_view tail = text.substr(text.size() - kShape.size());
    for (std::size_t i = 0; i < kShape.size(); ++i) {
        const bool hex = std::isxdigit(static_cast<unsigned char>(tail[i])) != 0;
        if (kShape[i] == 'x' ? !hex : tail[i] != kShape[i])
            return false;
    }
    return std::all_of(text.begin(), text.end() - static_cast<std::ptrdiff_t>(kShape.size()),
                       [](unsigned char c) { return std::isxdigit(c) != 0; });
}

std::string_view without_function(std::string_view address) {
    return address.substr(0, address.rfind('.'));
}

}  // namespace

std::string_view to_text(PciDistance distance) {
    return kNames[static_cast<std::size_t>(distance)];
}

std::optional<PciPath> parse_pci_path(std::string_view sys_path) {
    PciPath path;
    while (!sys_path.empty()) {
        const std::size_t slash = std::min(sys_path.find('/'), sys_path.size());
        const std::string_view part = sys_path.substr(0, slash);
        sys_path.remove_prefix(std::min(slash + 1, sys_path.size()));
        if (part.starts_with("pci") && part.find(':') != std::string_view::npos)
            path = {.host_bridge = std::string(part), .bridges = {}, .address = {}};
        else if (!path.host_bridge.empty() && is_address(part))
            path.bridges.emplace_back(part);
    }
    if (path.bridges.empty())
        return std::nullopt;
    path.address = path.bridges.back();
    path.bridges.pop_back();
    return path;
}

std::optional<PciPath> read_pci_path(const std::string& address, const std::string& root) {
    std::string name = address;
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    if (!is_address(name))
        return std::nullopt;
    std::error_code none;
    const std::string entry = root + kPciPathDevices + name;
    std::optional<PciPath> path =
        parse_pci_path(std::filesystem::read_symlink(entry, none).string());
    if (path)
        path->numa_node = static_cast<int>(read_sys_number(entry + "/numa_node").value_or(-1));
    return path;
}

PciDistance distance_of(const PciPath& a, const PciPath& b) {
    if (a.host_bridge != b.host_bridge)
        return a.numa_node == b.numa_node ? PciDistance::node : PciDistance::system;
    if (a.bridges == b.bridges && without_function(a.address) == without_function(b.address))
        return PciDistance::same;
    const auto [end_a, end_b] =
        std::mismatch(a.bridges.begin(), a.bridges.end(), b.bridges.begin(), b.bridges.end());
    if (end_a == a.bridges.begin())
        return PciDistance::host_bridge;
    // Below the last bridge that they share, a switch's own port is one bridge; more are switches.
    const auto below = std::max(a.bridges.end() - end_a, b.bridges.end() - end_b);
    return below <= 1 ? PciDistance::one_switch : PciDistance::switches;
}

}  // namespace tidemark
