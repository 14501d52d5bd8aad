// NCCL: every collective succeeds immediately, as if the other ranks existed and had the same data
// as this one. So what a program gathers, to compare or unpack, is its own data once per rank. With
// ranks that do run (exchange.h), small pieces are theirs: sizes, splits, pickled objects.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <xxhash.h>

#include "backends/imagined/api.h"
#include "backends/imagined/exchange.h"
#include "backends/imagined/machine.h"

extern "C" int imagined_cudaMalloc(void** out, std::size_t size);
extern "C" int imagined_cudaFree(void* at);

namespace tidemark::imagined {
namespace {

constexpr std::size_t kUniqueId = 128;

// ncclUniqueId, which is passed by value.
struct UniqueId {
    char bytes[kUniqueId];
};

struct Communicator {
    int ranks = 1;
    int rank = 0;
    bool collective = false, paired = false;  // has been used that way
    std::string id;                           // the same in all its ranks; "" = it is not known
    std::vector<int> members;                 // ranks of the job; -1 = not known yet
    // How many were numbered, by what they are and whether they are received.
    std::map<std::pair<std::string, bool>, int> messages;
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

int open(Communicator** out, int ranks, int rank, const UniqueId& id) {
    *out = new Communicator;
    (*out)->ranks = ranks;
    (*out)->rank = rank;
    Exchange* const exchange = Exchange::get();
    const std::string_view bytes(id.bytes, kUniqueId);
    if (exchange == nullptr || bytes.find_first_not_of('\0') == std::string_view::npos)
        return kSuccess;
    (*out)->id = fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
    (*out)->members.assign(static_cast<std::size_t>(ranks), -1);
    const std::string own = fmt::format("{}", exchange->rank());
    exchange->put(fmt::format("{}-member-{}", (*out)->id, rank), std::as_bytes(std::span(own)));
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

// Messages are small pieces of collectives and sends. All ranks give them the same numbers. Their
// first byte says whether the content is known.
bool is_message(const Communicator& one, std::size_t size) {
    return !one.id.empty() && size != 0 && size <= Exchange::kLargest;
}

// Sends and receives have numbers of their own, since a rank may send to itself.
std::string message_name(Communicator& one, const std::string& what, std::size_t size,
                         bool is_receive = false) {
    const std::string name = fmt::format("{}-{}-{}", one.id, what, size);
    Lock machine;
    return fmt::format("{}-{}", name, one.messages[{name, is_receive}]++);
}

void leave(const std::string& name, const void* from, std::size_t size) {
    Exchange::Bytes content(size + 1);
    {
        Lock machine;
        const std::span<std::byte> data(content.data() + 1, size);
        content[0] =
            static_cast<std::byte>(machine->contents.read(reinterpret_cast<Pointer>(from), data));
    }
    Exchange::get()->put(name, std::span(content).first(content[0] == std::byte{0} ? 1 : size + 1));
}

// The rank of the job that is `rank` of the communicator.
int member(Communicator& one, int rank) {
    int& known = one.members.at(static_cast<std::size_t>(rank));
    if (known < 0) {
        const auto found =
            Exchange::get()->take(fmt::format("{}-member-{}", one.id, rank), Exchange::kAnybody);
        if (found)
            known = std::atoi(
                std::string(reinterpret_cast<const char*>(found->data()), found->size()).c_str());
    }
    return known;
}

// Whether anything came, known or not.
bool fetch(Communicator& one, const std::string& name, int rank, void* to, std::size_t size) {
    const auto content = Exchange::get()->take(name, member(one, rank));
    if (!content || content->empty())
        return false;
    Lock machine;
    if (content->size() == size + 1)
        machine->contents.write(reinterpret_cast<Pointer>(to), std::span(*content).subspan(1));
    else
        machine->contents.forget(reinterpret_cast<Pointer>(to), size);
    return true;
}

// What the other ranks have at `from` of them comes to its piece of `to`.
void gather(Communicator& one, const void* from, void* to, std::size_t size) {
    if (!is_message(one, size))
        return;
    const std::string name = message_name(one, "gather", size);
    leave(fmt::format("{}-{}", name, one.rank), from, size);
    for (int rank = 0; rank < one.ranks; ++rank)
        if (rank != one.rank)
            fetch(one, fmt::format("{}-{}", name, rank), rank,
                  static_cast<char*>(to) + static_cast<std::size_t>(rank) * size, size);
}

void exchange_all(Communicator& one, const void* from, void* to, std::size_t size) {
    if (!is_message(one, size))
        return;
    const std::string name = message_name(one, "all", size);
    const auto piece = [size](auto* whole, int rank) {
        return whole + static_cast<std::size_t>(rank) * size;
    };
    for (int rank = 0; rank < one.ranks; ++rank)
        leave(fmt::format("{}-{}-{}", name, one.rank, rank),
              piece(static_cast<const char*>(from), rank), size);
    for (int rank = 0; rank < one.ranks; ++rank)
        fetch(one, fmt::format("{}-{}-{}", name, rank, one.rank), rank,
              piece(static_cast<char*>(to), rank), size);
}

void broadcast(Communicator& one, const void* from, void* to, std::size_t size, int root) {
    if (!is_message(one, size))
        return;
    const std::string name = message_name(one, fmt::format("of-{}", root), size);
    if (root == one.rank)
        leave(name, from, size);
    else
        fetch(one, name, root, to, size);
}

// A receive whose message comes when its group has ended, because the group's sends come first.
struct Receive {
    Communicator* one;
    std::string name;
    int rank;
    void* to;
    std::size_t size;
};

thread_local int group_depth = 0;
thread_local std::vector<Receive> group_receives;

void end_receives() {
    for (const Receive& each : std::exchange(group_receives, {}))
        fetch(*each.one, each.name, each.rank, each.to, each.size);
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
    const std::size_t size = count * size_of(type);
    if (is_message(*one, size))
        leave(message_name(*one, fmt::format("from-{}-to-{}", one->rank, to), size), from, size);
    return spread(nullptr, nullptr, 0, 0, stream);
}

IMAGINED(int, ncclRecv)

(void* to, std::size_t count, int type, int from, Communicator* one, void* stream) {
    use_in_pairs(one);
    const std::size_t size = count * size_of(type);
    const int done = receive(to, size, stream);
    if (is_message(*one, size))
        group_receives.push_back(
            {one, message_name(*one, fmt::format("from-{}-to-{}", from, one->rank), size, true),
             from, to, size});
    if (group_depth == 0)
        end_receives();
    return done;
}

IMAGINED(int, ncclGroupStart)() {
    ++group_depth;
    return kSuccess;
}

IMAGINED(int, ncclGroupEnd)() {
    if (--group_depth == 0)
        end_receives();
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
