// Memory nodes from trees that are not this machine's.
#include "backends/numa/numa_nodes.h"

#include <catch2/catch.hpp>

#include "backends/numa/sys_files.h"
#include "tests/support/fake_root.h"

using namespace tidemark;
using support::FakeRoot;

TEST_CASE("lists of numbers are read, and broken ones to where they break", "[numa]") {
    using List = std::vector<unsigned>;

    CHECK(parse_number_list("0-3,8") == List{0, 1, 2, 3, 8});
    CHECK(parse_number_list("5") == List{5});
    CHECK(parse_number_list("") == List{});
    CHECK(parse_number_list("1,x") == List{1});
    CHECK(parse_number_list("3-1") == List{});
    CHECK(parse_number_list("0-99999999999").empty());
    CHECK(parse_number_list("7-") == List{});
}

TEST_CASE("meminfo is found by its whole key", "[numa]") {
    const std::string text =
        "Node 1 MemTotal:   2048 kB\nNode 1 Active(file): 7 kB\nNode 1 file): 9 kB";

    CHECK(find_meminfo(text, "MemTotal") == 2_MiB);
    CHECK(find_meminfo(text, "Active(file)") == 7_KiB);
    CHECK(find_meminfo(text, "file)") == 9_KiB);
    CHECK_FALSE(find_meminfo(text, "Total"));
    CHECK_FALSE(find_meminfo(text, "MemFree"));
}

TEST_CASE("files of a number are read in decimal and in hexadecimal", "[numa]") {
    FakeRoot root;
    root.put("/a", "-1");
    root.put("/b", "0x10de");
    root.put("/c", "12 apples");

    CHECK(read_sys_number(root.path() + "/a") == -1);
    CHECK(read_sys_number(root.path() + "/b") == 0x10de);
    CHECK_FALSE(read_sys_number(root.path() + "/c"));
    CHECK_FALSE(read_sys_number(root.path() + "/none"));
    CHECK_FALSE(read_sys_text(root.path()));  // a folder
}

TEST_CASE("each memory node is read with its processors, memory and distances", "[numa]") {
    FakeRoot root;
    root.put("/sys/devices/system/node/online", "0,2");
    root.put_node(0, 1024, "0-1,4", "10 21");
    root.put_node(2, 4096, "", "21 10");  // memory alone

    const HostNodes host = read_host_nodes(root.path());

    CHECK(host.known_by_kernel);
    REQUIRE(host.nodes.size() == 2);
    CHECK(host.nodes[0].cpus == std::vector<unsigned>{0, 1, 4});
    CHECK(host.nodes[0].total == 1_GiB);
    CHECK(host.nodes[0].free == 256_MiB);
    CHECK(host.nodes[0].available == 512_MiB);
    CHECK(host.nodes[1].id == 2);
    CHECK(host.nodes[1].cpus.empty());
    CHECK(host.nodes[1].distances == std::vector<unsigned>{21, 10});
    CHECK(host.find(2) == &host.nodes[1]);
    CHECK(host.find(1) == nullptr);
}

TEST_CASE("a kernel that shows no nodes gives one with the whole machine", "[numa]") {
    FakeRoot root;
    root.put("/proc/meminfo", "MemTotal: 4096 kB\nMemFree: 1024 kB");
    root.put("/sys/devices/system/cpu/online", "0-7");

    const HostNodes host = read_host_nodes(root.path());

    CHECK_FALSE(host.known_by_kernel);
    REQUIRE(host.nodes.size() == 1);
    CHECK(host.nodes[0].total == 4_MiB);
    CHECK(host.nodes[0].cpus.size() == 8);
    CHECK(host.nodes[0].distances == std::vector<unsigned>{10});
}

TEST_CASE("the only node has all memory of a machine that grows", "[numa]") {
    FakeRoot root;
    root.put("/proc/meminfo", "MemTotal: 8192 kB\nMemFree: 6144 kB");
    root.put("/sys/devices/system/node/online", "0");
    root.put_node(0, 4, "0-1", "10");

    const HostNodes host = read_host_nodes(root.path());

    REQUIRE(host.nodes.size() == 1);
    CHECK(host.nodes[0].total == 8_MiB);
    CHECK(host.nodes[0].free == 6_MiB);
    CHECK(host.nodes[0].cpus.size() == 2);
}

TEST_CASE("a machine that tells nothing gives one empty node", "[numa]") {
    FakeRoot root;

    const HostNodes host = read_host_nodes(root.path());

    REQUIRE(host.nodes.size() == 1);
    CHECK(host.nodes[0].total == 0);
    CHECK(host.nodes[0].cpus.empty());
}

TEST_CASE("distances that do not fit the nodes are replaced by near and far", "[numa]") {
    FakeRoot root;
    root.put("/sys/devices/system/node/online", "0-1");
    root.put_node(0, 64, "0", "");
    root.put_node(1, 64, "1", "21 10 33");

    const HostNodes host = read_host_nodes(root.path());

    CHECK(host.nodes[0].distances == std::vector<unsigned>{10, 20});
    CHECK(host.nodes[1].distances == std::vector<unsigned>{20, 10});
}
