// Pages on a node: with a kernel that is not there, and with this one.
#include "backends/numa/numa_host.h"

#include <algorithm>
#include <cerrno>

#include <catch2/catch.hpp>

#include "backends/numa/node_thread.h"
#include "backends/numa/numa_bandwidth.h"
#include "tests/support/fake_root.h"
#include "tests/support/system_limits.h"

using namespace tidemark;
using support::FakeRoot;

namespace {

// A kernel that puts pages where it was told, or not.
struct FakeKernel {
    int node = -1;         // what the last mbind asked for
    int stray_after = -1;  // pages from this one on lie on node 0
    int refuse_bind = 0;   // errno of mbind
    int refuse_move = 0;   // errno of move_pages
    int page_status = 0;   // of every page, if below 0
};

FakeKernel kernel;

int available() {
    return 0;
}

long bind_pages(void*, unsigned long, int, const unsigned long* nodes, unsigned long, unsigned) {
    if (kernel.refuse_bind != 0) {
        errno = kernel.refuse_bind;
        return -1;
    }
    kernel.node = 0;
    while ((nodes[0] >> static_cast<unsigned>(kernel.node) & 1U) == 0)
        ++kernel.node;
    return 0;
}

long find_pages(int, unsigned long count, void**, const int*, int* status, int) {
    if (kernel.refuse_move != 0) {
        errno = kernel.refuse_move;
        return -1;
    }
    for (unsigned long i = 0; i < count; ++i) {
        const bool stray = kernel.stray_after >= 0 && static_cast<int>(i) >= kernel.stray_after;
        status[i] = kernel.page_status < 0 ? kernel.page_status : stray ? 0 : kernel.node;
    }
    return 0;
}

// A machine of two nodes on the fake kernel, which begins again.
struct TwoNodes {
    TwoNodes() {
        kernel = {};
        root.put("/sys/devices/system/node/online", "0-1");
        root.put_node(0, 256, "0", "10 20");
        root.put_node(1, 256, "1", "20 10");
    }

    NumaHost host() const {
        return NumaHost(root.path(), NumaCalls{available, bind_pages, find_pages});
    }

    FakeRoot root;
};

Error error_of(const Result<NumaPages>& pages) {
    REQUIRE_FALSE(pages);
    return pages.error();
}

}  // namespace

TEST_CASE("pages are asked for on the node and looked for there", "[numa]") {
    const TwoNodes machine;
    const NumaHost host = machine.host();

    const Result<NumaPages> pages = host.allocate(5_MiB + 1, 1);

    REQUIRE(pages);
    CHECK(kernel.node == 1);
    CHECK(pages->node() == 1);
    CHECK(pages->bytes().size() == 5_MiB + 1);
    CHECK(std::all_of(pages->bytes().begin(), pages->bytes().end(),
                      [](std::byte each) { return each == std::byte{0}; }));
    CHECK(host.where_is(pages->bytes().data()) == 1U);
}

TEST_CASE("a page that the kernel put elsewhere is an error, not a surprise", "[numa]") {
    const TwoNodes machine;
    kernel.stray_after = 1000;

    CHECK(machine.host().allocate(1_MiB, 1));
    const Error error = error_of(machine.host().allocate(8_MiB, 1));

    CHECK(error.code == ErrorCode::driver);
    CHECK(error.what.find("node 1 elsewhere") != std::string::npos);
}

TEST_CASE("a node without room refuses before any page is touched", "[numa]") {
    const TwoNodes machine;

    const Error error = error_of(machine.host().allocate(200_MiB, 1));

    CHECK(error.what == "node 1 has 128 MiB available, 200 MiB were requested");
    CHECK(kernel.node == -1);
}

TEST_CASE("a node that there is not is told with those that there are", "[numa]") {
    const TwoNodes machine;

    const Error error = error_of(machine.host().allocate(4096, 7));

    CHECK(error.code == ErrorCode::not_found);
    CHECK(error.hint == "there are 0, 1");
    CHECK(error_of(machine.host().allocate(0, 0)).code == ErrorCode::bad_option);
    CHECK(error_of(machine.host().allocate(kLargestRequest, 0)).code == ErrorCode::bad_option);
}

TEST_CASE("what the kernel refuses is told with its reason", "[numa]") {
    const TwoNodes machine;
    kernel.refuse_bind = EPERM;
    CHECK(error_of(machine.host().allocate(4096, 1)).hint.find("container") != std::string::npos);

    kernel = {};
    kernel.refuse_move = ENOSYS;
    CHECK(error_of(machine.host().allocate(4096, 1)).what.find("move_pages") == 0);

    kernel = {};
    kernel.page_status = -ENOENT;
    int here = 0;
    CHECK(machine.host().where_is(&here).error().code == ErrorCode::not_found);
    kernel.page_status = -EACCES;
    CHECK(machine.host().where_is(&here).error().code == ErrorCode::driver);
}

TEST_CASE("several nodes without libnuma place nothing and say why", "[numa]") {
    const TwoNodes machine;
    const NumaHost host(machine.root.path(), load_numa("/no/such/libnuma.so"));

    REQUIRE(host.obstacle());
    CHECK(host.obstacle()->what == "/no/such/libnuma.so cannot be loaded");
    CHECK(error_of(host.allocate(4096, 0)).code == ErrorCode::unsupported);
    CHECK_FALSE(host.where_is(&machine));
}

TEST_CASE("one node needs no libnuma: every page is on it", "[numa]") {
    FakeRoot root;
    root.put("/proc/meminfo", "MemTotal: 1048576 kB\nMemFree: 1048576 kB");
    const NumaHost host(root.path(), load_numa("/no/such/libnuma.so"));

    CHECK_FALSE(host.obstacle());
    const Result<NumaPages> pages = host.allocate(1_MiB, 0);
    REQUIRE(pages);
    CHECK(host.where_is(pages->bytes().data()) == 0U);
    CHECK(error_of(host.allocate(4096, 1)).code == ErrorCode::not_found);
}

TEST_CASE("a library that is no libnuma is refused by the function it lacks", "[numa]") {
    const Result<NumaCalls> calls = load_numa("libc.so.6");

    REQUIRE_FALSE(calls);
    CHECK(calls.error().what == "it has no function numa_available");
}

TEST_CASE("pages go with the value that holds them, once", "[numa]") {
    const TwoNodes machine;
    Result<NumaPages> first = machine.host().allocate(1_MiB, 1);
    Result<NumaPages> second = machine.host().allocate(2_MiB, 0);
    REQUIRE(first);
    REQUIRE(second);

    NumaPages taken = std::move(*first);
    CHECK(taken.bytes().size() == 1_MiB);
    taken = std::move(*second);

    CHECK(taken.bytes().size() == 2_MiB);
    taken.bytes().back() = std::byte{7};
    CHECK(taken.node() == 0);
}

TEST_CASE("this computer places pages on each node with memory, and finds them there",
          "[numa][host]") {
    const NumaHost host = NumaHost::open();
    if (const auto why = host.obstacle()) {
        WARN("skipped: " << to_text(*why));
        return;
    }
    for (const NumaNode& node : host.nodes().nodes) {
        if (node.available < 64_MiB)
            continue;
        INFO("node " << node.id);
        const Result<NumaPages> pages = host.allocate(4_MiB + 5, node.id);
        REQUIRE(pages);
        CHECK(host.where_is(&pages->bytes().back()) == node.id);
    }
}

TEST_CASE("bandwidth is measured in bounded time on this computer", "[numa][host]") {
    const NumaHost host = NumaHost::open();
    const NumaNode& node = host.nodes().nodes.front();
    if (host.obstacle() || node.cpus.empty()) {
        WARN("skipped: pages cannot be placed, or the first node has no processors");
        return;
    }

    const Result<NumaBandwidth> measured =
        measure_bandwidth(host, {node.id, node.id, 1_MiB, 2'000'000});

    REQUIRE(measured);
    CHECK(measured->rounds >= 1);
    CHECK(measured->bytes_per_second > 1e6);
    CHECK(measured->cpu_node == node.id);
}

TEST_CASE("a copy between nodes takes its ends from both", "[numa]") {
    const TwoNodes machine;
    const NumaHost host = machine.host();
    const BandwidthQuestion question{
        .cpu_node = 0, .memory_node = 1, .size = 1_MiB, .budget = 1, .source_node = 0};

    const Result<NumaBandwidth> measured = measure_bandwidth(host, question);

    REQUIRE(measured);
    CHECK(kernel.node == 1);  // the target came last
    CHECK(measured->memory_node == 1);
    kernel.refuse_bind = EPERM;
    CHECK_FALSE(measure_bandwidth(host, question));
}

TEST_CASE("work on a node runs on its processors, or not at all", "[numa][host]") {
    const NumaHost host = NumaHost::open();
    const NumaNode& here = host.nodes().nodes.front();
    unsigned runs = 0;
    const bool ran = run_on_node(here, [&runs] { ++runs; });
    CHECK(runs == (ran ? 1U : 0U));

    NumaNode nowhere = here;
    nowhere.cpus.clear();
    CHECK_FALSE(run_on_node(nowhere, [&runs] { runs = 100; }));
    const support::ThreadLimit limit(0);
    CHECK_FALSE(run_on_node(here, [&runs] { runs = 100; }));
    CHECK(runs < 100);
}

TEST_CASE("pages that the system does not map are an error", "[numa]") {
    const TwoNodes machine;
    const support::NoMappings none;
    CHECK(error_of(machine.host().allocate(1_MiB, 1)).what.find("mmap") != std::string::npos);
}

TEST_CASE("a node without processors copies nothing", "[numa]") {
    FakeRoot root;
    root.put("/proc/meminfo", "MemTotal: 1048576 kB\nMemFree: 1048576 kB");
    const NumaHost host(root.path(), load_numa("/no/such/libnuma.so"));

    const Result<NumaBandwidth> measured = measure_bandwidth(host, {0, 0, 4096, 0});

    REQUIRE_FALSE(measured);
    CHECK(measured.error().what == "node 0 has no processors");
}
