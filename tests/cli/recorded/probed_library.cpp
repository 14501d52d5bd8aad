// What `tidemark record --attach` is tried on: an allocator with the probes of PyTorch's, in the
// same order (malloc's after the allocation, free's before) and with the same kinds of arguments:
// in registers of 8 bytes and of 1, and in memory. Its addresses are nowhere; what is freed is
// given out again at once, to whichever thread comes first.
#include "tests/cli/recorded/probed_library.h"

#include <mutex>
#include <vector>

extern "C" {
__attribute__((section(".probes"), visibility("hidden"))) volatile unsigned short malloc_semaphore =
    0;
__attribute__((section(".probes"), visibility("hidden"))) volatile unsigned short free_semaphore =
    0;
}

// A probe as <sys/sdt.h> makes one: an instruction that does nothing, and a note that says where.
#define PROBE(name, arguments, ...)                                             \
    asm volatile(                                                               \
        "990: nop\n"                                                            \
        ".pushsection .note.stapsdt,\"?\",\"note\"\n"                           \
        ".balign 4\n"                                                           \
        ".4byte 992f-991f, 994f-993f, 3\n"                                      \
        "991: .asciz \"stapsdt\"\n"                                             \
        "992: .balign 4\n"                                                      \
        "993: .8byte 990b, _.stapsdt.base, " #name                              \
        "_semaphore\n"                                                          \
        ".asciz \"pytorch\", \"" #name "\", \"" arguments                       \
        "\"\n"                                                                  \
        "994: .balign 4\n"                                                      \
        ".popsection\n"                                                         \
        ".ifndef _.stapsdt.base\n"                                              \
        ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
        ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n"                        \
        "_.stapsdt.base: .space 1\n"                                            \
        ".size _.stapsdt.base,1\n"                                              \
        ".popsection\n.endif\n" ::__VA_ARGS__)

namespace {

constexpr unsigned long kBegin = 0x7f0000000000;
constexpr unsigned long kStep = 2UL << 20U;

std::mutex mutex;
std::vector<unsigned long> vacant;
unsigned long used = 0;

}  // namespace

unsigned long probed_malloc(unsigned long size, signed char device, unsigned long stream) {
    unsigned long address = 0;
    {
        const std::lock_guard lock(mutex);
        if (vacant.empty()) {
            address = kBegin + used++ * kStep;
        } else {
            address = vacant.back();
            vacant.pop_back();
        }
    }
    if (malloc_semaphore != 0)
        PROBE(malloc, "-8@%0 -1@%b1 -8@%2 -8@%3", "r"(address), "q"(device), "r"(size),
              "m"(stream));
    return address;
}

void probed_free(unsigned long address) {
    if (free_semaphore != 0)
        PROBE(free, "-8@%0", "r"(address));
    const std::lock_guard lock(mutex);
    vacant.push_back(address);
}

bool probed_by_someone() {
    return malloc_semaphore != 0 && free_semaphore != 0;
}
