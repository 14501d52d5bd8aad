// One folder per device.
#include "backends/topology/pci.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>

#include "backends/numa/sys_files.h"
#include "core/base/text.h"

namespace tidemark {
namespace {

constexpr const char* kPciDevices = "/sys/bus/pci/devices";
constexpr std::int64_t kNvidia = 0x10de;
constexpr std::int64_t kDisplay = 0x03;  // the class's highest byte: VGA and 3D controllers

// "16.0 GT/s PCIe" as 16; "Unknown" as 0.
double read_speed(const std::string& path) {
    const std::string text = read_sys_text(path).value_or("");
    double speed = 0;
    read_real(text.data(), text.data() + text.size(), speed);
    return speed;
}

unsigned read_width(const std::string& path) {
    const std::int64_t width = read_sys_number(path).value_or(0);
    return width > 0 && width <= 64 ? static_cast<unsigned>(width) : 0;
}

PciCard read_card(const std::string& folder, const std::string& address) {
    PciCard card;
    card.address = address;
    std::error_code none;
    const auto driver = std::filesystem::read_symlink(folder + "/driver", none);
    card.driver = none ? "" : driver.filename().string();
    card.numa_node = static_cast<int>(read_sys_number(folder + "/numa_node").value_or(-1));
    card.link = {read_speed(folder + "/current_link_speed"),
                 read_width(folder + "/current_link_width"), read_speed(folder + "/max_link_speed"),
                 read_width(folder + "/max_link_width")};
    return card;
}

}  // namespace

std::vector<PciCard> find_nvidia_cards(const std::string& root) {
    std::vector<PciCard> cards;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(root + kPciDevices, none)) {
        const std::string folder = entry.path().string();
        if (read_sys_number(folder + "/vendor") == kNvidia &&
            read_sys_number(folder + "/class").value_or(0) >> 16 == kDisplay)
            cards.push_back(read_card(folder, entry.path().filename().string()));
    }
    std::sort(cards.begin(), cards.end(),
              [](const PciCard& a, const PciCard& b) { return a.address < b.address; });
    return cards;
}

std::optional<PciCard> find_card(const std::string& address, const std::string& root) {
    std::string name = address;
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    const std::string folder = root + kPciDevices + "/" + name;
    if (name.empty() || name.find('/') != std::string::npos || !read_sys_number(folder + "/vendor"))
        return std::nullopt;
    return read_card(folder, name);
}

}  // namespace tidemark
