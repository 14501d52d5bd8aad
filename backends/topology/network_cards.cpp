// A folder a card.
#include "backends/topology/network_cards.h"

#include <algorithm>
#include <filesystem>

#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "backends/numa/sys_files.h"

namespace tidemark {
namespace {

namespace fs = std::filesystem;

constexpr const char* kClass = "/sys/class/infiniband";

std::vector<std::string> interfaces_with_address() {
    std::vector<std::string> names;
    ifaddrs* all = nullptr;
    if (getifaddrs(&all) != 0)
        return names;
    for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
        const bool has = each->ifa_addr != nullptr && (each->ifa_addr->sa_family == AF_INET ||
                                                       each->ifa_addr->sa_family == AF_INET6);
        if (has)
            names.emplace_back(each->ifa_name);
    }
    freeifaddrs(all);
    return names;
}

// "4: ACTIVE" of any port.
bool has_active_port(const std::string& folder) {
    const std::vector<std::string> ports = list_sys_folder(folder + "/ports");
    return std::any_of(ports.begin(), ports.end(), [&](const std::string& port) {
        const std::string state = read_sys_text(folder + "/ports/" + port + "/state").value_or("");
        return state == "4: ACTIVE" || state == "ACTIVE";
    });
}

bool can_be_opened(const std::string& folder, const std::string& root) {
    const std::vector<std::string> verbs = list_sys_folder(folder + "/device/infiniband_verbs");
    return std::any_of(verbs.begin(), verbs.end(), [&](const std::string& name) {
        std::error_code none;
        return fs::exists(root + "/dev/infiniband/" + name, none);
    });
}

NetworkCard read_card(const std::string& name, const std::string& root,
                      const std::vector<std::string>& with_address) {
    const std::string folder = root + kClass + "/" + name;
    std::error_code none;
    NetworkCard card{.name = name,
                     .path = parse_pci_path(fs::canonical(folder + "/device", none).string()),
                     .interfaces = list_sys_folder(folder + "/device/net")};
    if (card.path)
        card.path->numa_node =
            static_cast<int>(read_sys_number(folder + "/device/numa_node").value_or(-1));
    if (!has_active_port(folder) || !can_be_opened(folder, root))
        return card;
    const bool addressed = std::any_of(
        card.interfaces.begin(), card.interfaces.end(), [&](const std::string& interface) {
            return std::find(with_address.begin(), with_address.end(), interface) !=
                   with_address.end();
        });
    card.level = addressed ? NetworkLevel::active_with_ip : NetworkLevel::active;
    return card;
}

}  // namespace

std::vector<NetworkCard> find_network_cards(const NetworkQuestion& question) {
    const std::vector<std::string> with_address =
        question.with_address ? *question.with_address : interfaces_with_address();
    std::vector<NetworkCard> cards;
    for (const std::string& name : list_sys_folder(question.root + kClass)) {
        NetworkCard card = read_card(name, question.root, with_address);
        if (card.level >= question.level)
            cards.push_back(std::move(card));
    }
    return cards;
}

std::vector<NearCard> cards_near(const PciPath& gpu, const std::vector<NetworkCard>& cards) {
    std::vector<NearCard> near;
    for (const NetworkCard& card : cards) {
        if (card.path)
            near.push_back({card.name, distance_of(gpu, *card.path)});
    }
    std::sort(near.begin(), near.end(), [](const NearCard& a, const NearCard& b) {
        return a.distance != b.distance ? a.distance < b.distance : a.name < b.name;
    });
    return near;
}

}  // namespace tidemark
