// NCCL: every collective succeeds immediately, as if the other ranks existed and had the same data
// as this one. So what a program gathers, to compare or unpack, is its own data once per rank. With
// ranks that do run (messages.h), small pieces are theirs: sizes, splits, pickled objects.
#include <atomic>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "backends/imagined/api.h"
#include "backends/imagined/exchange.h"
#include "backends/imagined/machine.h"
#include "backends/imagined/messages.h"

extern "C" int imagined_cudaMalloc(void** out, std::size_t size);
extern "C" int imagined_cudaFree(void* at);

namespace tidemark::imagined {
namespace {

constexpr std::size_t kUniqueId = 128;

// ncclUniqueId, which is passed by value.
struct UniqueId {
    char bytes[kUniqueId];
};

int open(Communicator** out, int ranks, int rank, const UniqueId& id) {
    *out = new Communicator;
    (*out)->ranks = ranks;
    (*out)->rank = rank;
    join(**out, {id.bytes, kUniqueId});
    return kSuccess;
}

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

int forget(void* to, std::size_t size, const void* handle) {
    Lock machine;
    machine->contents.forget(reinterpret_cast<Pointer>(to), size);
    machine->run(machine->stream_of(handle, current_device()));
    return kSuccess;
}

}  // namespace
}  // namespace tidemark::imagined

using namespace tidemark::imagined;

IMAGINED(int, ncclGetVersion)(int* version) {
    *version = 22809;
    return kSuccess;
}

IMAGINED(int, ncclGetUniqueId)(UniqueId* id) {
    std::memset(id->bytes, 0, kUniqueId);
    if (const Exchange* const exchange = Exchange::get()) {
        static std::atomic<int> number = 0;
        fmt::format_to_n(id->bytes, kUniqueId, "{} of rank {}", number++, exchange->rank());
    }
    return kSuccess;
}

IMAGINED(int, ncclCommInitRank)(Communicator** out, int ranks, UniqueId id, int rank) {
    return open(out, ranks, rank, id);
}

IMAGINED(int, ncclCommInitRankConfig)(Communicator** out, int ranks, UniqueId id, int rank, void*) {
    return open(out, ranks, rank, id);
}

IMAGINED(int, ncclCommInitRankScalable)

(Communicator** out, int ranks, int rank, int, UniqueId* ids, void*) {
    return open(out, ranks, rank, ids[0]);
}

// One rank doesn't know how many others join it. The Python package makes PyTorch call
// ncclCommInitRankConfig instead (predicting/ranks.py).
IMAGINED(int, ncclCommSplit)(Communicator* from, int, int, Communicator** out, void*) {
    return open(out, from->ranks, from->rank, {});
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
    const std::size_t size = count * size_of(type);
    const int done = spread(from, to, size, one->ranks, stream);
    gather(*one, from, to, size);
    return done;
}

IMAGINED(int, ncclAllReduce)

(const void* from, void* to, std::size_t count, int type, int how, Communicator* one,
 void* stream) {
    use_collectively(one);
    const std::size_t size = count * size_of(type);
    const int done = spread(from, to, size, 1, stream);
    reduce_all(*one, to, size, type, how);
    return done;
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

(const void* from, void* to, std::size_t count, int type, int root, Communicator* one,
 void* stream) {
    use_collectively(one);
    const std::size_t size = count * size_of(type);
    const int done = spread(from, to, size, 1, stream);
    broadcast(*one, from, to, size, root);
    return done;
}

IMAGINED(int, ncclBcast)

(void* at, std::size_t count, int type, int root, Communicator* one, void* stream) {
    use_collectively(one);
    const std::size_t size = count * size_of(type);
    const int done = spread(at, at, size, 1, stream);
    broadcast(*one, at, at, size, root);
    return done;
}

IMAGINED(int, ncclAlltoAll)

(const void* from, void* to, std::size_t count, int type, Communicator* one, void* stream) {
    use_in_pairs(one);
    const std::size_t size = count * size_of(type);
    const int done = spread(from, to, size * static_cast<std::size_t>(one->ranks), 1, stream);
    exchange_all(*one, from, to, size);
    return done;
}

IMAGINED(int, ncclSend)

(const void* from, std::size_t count, int type, int to, Communicator* one, void* stream) {
    use_in_pairs(one);
    send(*one, from, count * size_of(type), to);
    return spread(nullptr, nullptr, 0, 0, stream);
}

IMAGINED(int, ncclRecv)

(void* to, std::size_t count, int type, int from, Communicator* one, void* stream) {
    use_in_pairs(one);
    const std::size_t size = count * size_of(type);
    const int done = forget(to, size, stream);
    receive(*one, to, size, from);
    return done;
}

IMAGINED(int, ncclGroupStart)() {
    begin_group();
    return kSuccess;
}

IMAGINED(int, ncclGroupEnd)() {
    end_group();
    return kSuccess;
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
