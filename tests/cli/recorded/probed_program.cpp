// A program that allocates by a library with probes, once somebody listens:
//   probed_program THREADS ALLOCATIONS   and no more, when SIGUSR1 has come as well: a probe counts
//                                        as listened to before its listener hears it
//   probed_program forever               until it is killed
// Half of the threads begin before anybody listens. Thread t asks for (t + 1) * 2^24 + i bytes in
// its allocation i, on device t % 2 and stream 256 * (t + 1), frees what is seven allocations old,
// and keeps the last seven. Three blocks live before, and are freed afterwards.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tests/cli/recorded/probed_library.h"

namespace {

constexpr unsigned long kKept = 7;

void wait_for_listener() {
    while (!probed_by_someone())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

std::atomic<bool> begun = false;

void wait_for_begin() {
    wait_for_listener();
    while (!begun)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void work(unsigned long thread, unsigned long allocations) {
    wait_for_begin();
    std::vector<unsigned long> addresses(allocations);
    for (unsigned long i = 0; i < allocations; ++i) {
        addresses[i] = probed_malloc(((thread + 1) << 24U) + i,
                                     static_cast<signed char>(thread % 2), 256 * (thread + 1));
        if (i >= kKept)
            probed_free(addresses[i - kKept]);
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 2)
        return 2;
    const bool forever = std::string(arguments[1]) == "forever";
    std::signal(SIGUSR1, [](int) { begun = true; });
    unsigned long before[3];
    for (unsigned long& each : before)
        each = probed_malloc(1, 0, 0);
    std::puts("ready");
    std::fflush(stdout);
    if (forever) {
        for (;;) {
            wait_for_listener();
            probed_free(probed_malloc(4096, 0, 0));
        }
    }
    const unsigned long threads = std::strtoul(arguments[1], nullptr, 10);
    const unsigned long allocations = count > 2 ? std::strtoul(arguments[2], nullptr, 10) : 0;
    std::vector<std::thread> running;
    for (unsigned long i = 0; i < threads; ++i) {
        if (i == threads / 2)
            wait_for_begin();
        running.emplace_back(work, i, allocations);
    }
    for (std::thread& each : running)
        each.join();
    for (const unsigned long each : before)
        probed_free(each);
    return 0;
}
