// NCCL: every collective succeeds immediately, as if the other ranks existed and had the same data
// as this one. So what a program gathers, to compare or unpack, is its own data once per rank.
#include <cstdint>
#include <cstring>
#include <utility>

#include "backends/imagined/api.h"
#include "backends/imagined/machine.h"

extern "C" int imagined_cudaMalloc(void** out, std::size_t size);
extern "C" int imagined_cudaFree(void* at);

namespace tidemark::imagined {
namespace {

struct Communicator {
    int ranks = 1;
    int rank = 0;
    bool collective = false, paired = false;  // has been used that way
};

// A communicator takes its memory at its first use, at addresses of its own.
void use_collectively(Communicator* one) {
    static bool is_first = true;
    Lock machine;
    if (one->collective || one->ranks < 2)
        return;
    one->collective = true;
    const CommunicatorMemory& memory = settings().card.communicators;
    machine->hold(current_device(), std::exchange(is_first, false) ? memory.first : memory.next, 0);
}

void use_in_pairs(Communicator* one) {
    Lock machine;
    if (one->paired || one->ranks < 2)
        return;
    one->paired = true;
    const CommunicatorMemory& memory = settings().card.communicators;
    machine->hold(current_device(), one->collective ? memory.exchange : memory.pair, 0);
}

int open(Communicator** out, int ranks, int rank) {
    *out = new Communicator{ranks, rank};
    return kSuccess;
}

// Of ncclDataType_t.
std::size_t size_of(int type) {
    constexpr std::size_t kSizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return type >= 0 && type < 12 ? kSizes[type] : 1;
}

// `copies` pieces of `size` bytes from `from` are now at `to`, and the stream has work.
int spread(const void* from, void* to, std::size_t size, int copies, const void* handle) {
    Lock machine;
    const auto source = reinterpret_cast<Pointer>(from);
    auto target = reinterpret_cast<Pointer>(to);
    for (int copy = 0; copy < copies; ++copy, target += size)
        if (target != source)
            machine->contents.copy(target, source, size);
    machine->run(machine->stream_of(handle, current_device()));
    return kSuccess;
}

int receive(void* to, std::size_t size, const void* handle) {
    Lock machine;
    machine->contents.forget(reinterpret_cast<Pointer>(to), size);
    machine->run(machine->stream_of(handle, current_device()));
    return kSuccess;
}

constexpr std::size_t kUniqueId = 128;

// ncclUniqueId, which is passed by value.
struct UniqueId {
    char bytes[kUniqueId];
};

}  // namespace
}  // namespace tidemark::imagined

using namespace tidemark::imagined;

IMAGINED(int, ncclGetVersion)(int* version) {
    *version = 22809;
    return kSuccess;
}

IMAGINED(int, ncclGetUniqueId)(UniqueId* id) {
    std::memset(id->bytes, 0, kUniqueId);
    return kSuccess;
}

IMAGINED(int, ncclCommInitRank)(Communicator** out, int ranks, UniqueId, int rank) {
    return open(out, ranks, rank);
}

IMAGINED(int, ncclCommInitRankConfig)(Communicator** out, int ranks, UniqueId, int rank, void*) {
    return open(out, ranks, rank);
}

IMAGINED(int, ncclCommInitRankScalable)

(Communicator** out, int ranks, int rank, int, UniqueId*, void*) {
    return open(out, ranks, rank);
}

IMAGINED(int, ncclCommSplit)(Communicator* from, int, int, Communicator** out, void*) {
    return open(out, from->ranks, from->rank);
}

IMAGINED(int, ncclCommDestroy)(Communicator* one) {
    delete one;
    return kSuccess;
}

IMAGINED(int, ncclCommAbort)(Communicator* one) {
    delete one;
    return kSuccess;
}

IMAGINED(int, ncclCommCount)(Communicator* one, int* count) {
    *count = one->ranks;
    return kSuccess;
}

IMAGINED(int, ncclCommUserRank)(Communicator* one, int* rank) {
    *rank = one->rank;
    return kSuccess;
}

IMAGINED(int, ncclCommCuDevice)(Communicator*, int* device) {
    *device = 0;
    return kSuccess;
}

IMAGINED(int, ncclAllGather)

(const void* from, void* to, std::size_t count, int type, Communicator* one, void* stream) {
    use_collectively(one);
    return spread(from, to, count * size_of(type), one->ranks, stream);
}

IMAGINED(int, ncclAllReduce)

(const void* from, void* to, std::size_t count, int type, int, Communicator* one, void* stream) {
    use_collectively(one);
    return spread(from, to, count * size_of(type), 1, stream);
}

IMAGINED(int, ncclReduce)

(const void* from, void* to, std::size_t count, int type, int, int root, Communicator* one,
 void* stream) {
    use_collectively(one);
    return spread(from, to, count * size_of(type), root == one->rank ? 1 : 0, stream);
}

IMAGINED(int, ncclReduceScatter)

(const void* from, void* to, std::size_t count, int type, int, Communicator* one, void* stream) {
    use_collectively(one);
    const std::size_t size = count * size_of(type);
    return spread(static_cast<const char*>(from) + static_cast<std::size_t>(one->rank) * size, to,
                  size, 1, stream);
}

IMAGINED(int, ncclBroadcast)

(const void* from, void* to, std::size_t count, int type, int, Communicator* one, void* stream) {
    use_collectively(one);
    return spread(from, to, count * size_of(type), 1, stream);
}

IMAGINED(int, ncclBcast)

(void* at, std::size_t count, int type, int, Communicator* one, void* stream) {
    use_collectively(one);
    return spread(at, at, count * size_of(type), 1, stream);
}

IMAGINED(int, ncclAlltoAll)

(const void* from, void* to, std::size_t count, int type, Communicator* one, void* stream) {
    use_in_pairs(one);
    return spread(from, to, count * size_of(type) * static_cast<std::size_t>(one->ranks), 1,
                  stream);
}

IMAGINED(int, ncclSend)(const void*, std::size_t, int, int, Communicator* one, void* stream) {
    use_in_pairs(one);
    return spread(nullptr, nullptr, 0, 0, stream);
}

IMAGINED(int, ncclRecv)

(void* to, std::size_t count, int type, int, Communicator* one, void* stream) {
    use_in_pairs(one);
    return receive(to, count * size_of(type), stream);
}

IMAGINED(int, ncclMemAlloc)(void** out, std::size_t size) {
    return imagined_cudaMalloc(out, size);
}

IMAGINED(int, ncclMemFree)(void* at) {
    return imagined_cudaFree(at);
}

IMAGINED(int, ncclCommGetAsyncError)(Communicator*, int* error) {
    *error = kSuccess;
    return kSuccess;
}

IMAGINED(const char*, ncclGetErrorString)(int) {
    return "refused by the imagined GPU";
}

IMAGINED(const char*, ncclGetLastError)(void*) {
    return "";
}
