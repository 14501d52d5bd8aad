// Network cards: what counts at which level, and which is near a GPU.
#include "backends/topology/network_cards.h"

#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/support/fake_root.h"

using namespace tidemark;

namespace {

constexpr const char* kSwitch = "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0";

struct Card {
    std::string name;
    std::string device;  // its folder
    std::string state;
    std::string verbs;  // the node under /dev; empty: it has none
    std::string interface;
};

void put_card(support::FakeRoot& root, const Card& card) {
    const std::string folder = "/sys/class/infiniband/" + card.name;
    root.link(folder + "/device", card.device);
    root.put(folder + "/ports/1/state", "1: DOWN");
    root.put(folder + "/ports/2/state", card.state);
    root.put(card.device + "/numa_node", "0");
    root.put(card.device + "/infiniband_verbs/uverbs-" + card.name + "/dev", "231:0");
    root.put(card.device + "/net/" + card.interface + "/address", "00:00");
    if (!card.verbs.empty())
        root.put("/dev/infiniband/uverbs-" + card.verbs, "");
}

// One that is up and has an address, one without, one that is down, one that nobody may open.
void put_cards(support::FakeRoot& root) {
    const std::string ports = std::string(kSwitch) + "/0000:17:0";
    put_card(root, {"mlx5_0", "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0", "4: ACTIVE",
                    "mlx5_0", "ib0"});
    put_card(root, {"mlx5_1", ports + "0.0/0000:18:00.0", "4: ACTIVE", "mlx5_1", "ib1"});
    put_card(root, {"mlx5_2", ports + "1.0/0000:19:00.0", "1: DOWN", "mlx5_2", "ib2"});
    put_card(root, {"mlx5_3", ports + "2.0/0000:1a:00.0", "4: ACTIVE", "", "ib3"});
    put_card(root, {"rxe0", "/sys/devices/virtual/net/eth0", "4: ACTIVE", "rxe0", "eth0"});
}

std::vector<std::string> names(const support::FakeRoot& root, NetworkLevel level) {
    std::vector<std::string> all;
    for (const NetworkCard& card : find_network_cards(
             {.level = level, .root = root.path(), .with_address = {{"ib0", "ib2", "ib3", "lo"}}}))
        all.push_back(card.name);
    return all;
}

}  // namespace

TEST_CASE("Stricter levels find fewer network cards, and none that looser ones do not (A-T11)",
          "[topology]") {
    support::FakeRoot root;
    put_cards(root);

    CHECK(names(root, NetworkLevel::exists) ==
          std::vector<std::string>{"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "rxe0"});
    CHECK(names(root, NetworkLevel::active) ==
          std::vector<std::string>{"mlx5_0", "mlx5_1", "rxe0"});
    CHECK(names(root, NetworkLevel::active_with_ip) == std::vector<std::string>{"mlx5_0"});
    CHECK(NetworkQuestion{}.level == NetworkLevel::active_with_ip);
}

TEST_CASE("The cards near a GPU are those of its switch first, at every level (A-T11)",
          "[topology]") {
    support::FakeRoot root;
    put_cards(root);
    PciPath gpu = parse_pci_path(std::string(kSwitch) + "/0000:17:03.0/0000:1b:00.0").value();
    gpu.numa_node = 0;
    std::vector<std::vector<std::string>> lists;

    for (const NetworkLevel level :
         {NetworkLevel::exists, NetworkLevel::active, NetworkLevel::active_with_ip}) {
        const std::vector<NearCard> near = cards_near(
            gpu, find_network_cards(
                     {.level = level, .root = root.path(), .with_address = {{"ib0", "ib1"}}}));
        lists.emplace_back();
        for (const NearCard& card : near) {
            CHECK(card.distance ==
                  (card.name == "mlx5_0" ? PciDistance::node : PciDistance::one_switch));
            lists.back().push_back(card.name);
        }
    }

    CHECK(lists[0] == std::vector<std::string>{"mlx5_1", "mlx5_2", "mlx5_3", "mlx5_0"});
    CHECK(lists[1] == std::vector<std::string>{"mlx5_1", "mlx5_0"});
    CHECK(lists[2] == lists[1]);
}

TEST_CASE("A computer without such cards has none", "[topology]") {
    const support::FakeRoot root;

    CHECK(find_network_cards({.level = NetworkLevel::exists, .root = root.path()}).empty());
}

TEST_CASE("On this computer, too, stricter levels find fewer cards (A-T11)", "[topology]") {
    const auto count = [](NetworkLevel level) {
        return find_network_cards({.level = level}).size();
    };

    CHECK(count(NetworkLevel::active) <= count(NetworkLevel::exists));
    CHECK(count(NetworkLevel::active_with_ip) <= count(NetworkLevel::active));
}
