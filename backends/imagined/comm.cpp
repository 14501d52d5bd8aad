// NCCL: every call of a collective succeeds at once, as if the other ranks were there.
#include <cstdint>
#include <cstring>

#include "backends/imagined/api.h"

namespace tidemark::imagined {
namespace {

struct Communicator {
    int ranks = 1;
    int rank = 0;
};

int open(Communicator** out, int ranks, int rank) {
    *out = new Communicator{ranks, rank};
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

IMAGINED(int, ncclCommInitRankScalable)(Communicator** out, int ranks, int rank, int, UniqueId*,
                                        void*) {
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

IMAGINED(int, ncclCommGetAsyncError)(Communicator*, int* error) {
    *error = kSuccess;
    return kSuccess;
}

IMAGINED(const char*, ncclGetErrorString)(int) { return "refused by the imagined card"; }

IMAGINED(const char*, ncclGetLastError)(void*) { return ""; }
