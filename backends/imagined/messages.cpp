// One file of the exchange for each piece, under a name with a number that is the same in all
// ranks.
#include "backends/imagined/messages.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>

#include <fmt/format.h>
#include <xxhash.h>

#include "backends/imagined/exchange.h"
#include "backends/imagined/machine.h"

namespace tidemark::imagined {
namespace {

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

// Of ncclRedOp_t.
enum class Combining : int { sum = 0, product = 1, most = 2, least = 3, mean = 4 };

template <class Number>
Number combined(Number one, Number other, Combining how) {
    switch (how) {
        case Combining::product:
            return static_cast<Number>(one * other);
        case Combining::most:
            return std::max(one, other);
        case Combining::least:
            return std::min(one, other);
        default:
            return static_cast<Number>(one + other);
    }
}

// What the ranks' numbers are together; nothing if one of them is not known. Integers wrap around.
template <class Number>
std::optional<Exchange::Bytes> reduce_numbers(const std::vector<Exchange::Bytes>& pieces,
                                              Combining how) {
    std::vector<Number> result;
    for (const Exchange::Bytes& piece : pieces) {
        if (piece.size() <= 1)
            return std::nullopt;
        std::vector<Number> numbers((piece.size() - 1) / sizeof(Number));
        std::memcpy(numbers.data(), piece.data() + 1, numbers.size() * sizeof(Number));
        if (result.empty())
            result = std::move(numbers);
        else if (result.size() == numbers.size())
            std::ranges::transform(result, numbers, result.begin(),
                                   [how](Number a, Number b) { return combined(a, b, how); });
    }
    if (how == Combining::mean)
        for (Number& number : result)
            number = static_cast<Number>(number / static_cast<Number>(pieces.size()));
    const auto bytes = std::as_bytes(std::span(result));
    return Exchange::Bytes(bytes.begin(), bytes.end());
}

// Signed sums are unsigned ones in two's complement; an order needs the sign.
std::optional<Exchange::Bytes> reduced(const std::vector<Exchange::Bytes>& pieces, int type,
                                       Combining how) {
    constexpr int kTypeInt32 = 2, kTypeInt64 = 4, kTypeFloat = 7,
                  kTypeDouble = 8;  // ncclDataType_t
    const bool ordered = how == Combining::most || how == Combining::least;
    switch (type) {
        case kTypeInt32:
            return ordered ? reduce_numbers<std::int32_t>(pieces, how)
                           : reduce_numbers<std::uint32_t>(pieces, how);
        case kTypeInt64:
            return ordered ? reduce_numbers<std::int64_t>(pieces, how)
                           : reduce_numbers<std::uint64_t>(pieces, how);
        case kTypeFloat:
            return reduce_numbers<float>(pieces, how);
        case kTypeDouble:
            return reduce_numbers<double>(pieces, how);
        default:
            return std::nullopt;
    }
}

// A receive of a group that has not ended.
struct Receive {
    Communicator* one;
    std::string name;
    int rank;
    void* to;
    std::size_t size;
};

thread_local int group_depth = 0;
thread_local std::vector<Receive> group_receives;

void fetch_all() {
    for (const Receive& each : std::exchange(group_receives, {}))
        fetch(*each.one, each.name, each.rank, each.to, each.size);
}

}  // namespace

void join(Communicator& one, std::string_view unique_id) {
    Exchange* const exchange = Exchange::get();
    if (exchange == nullptr || unique_id.find_first_not_of('\0') == std::string_view::npos)
        return;
    one.id = fmt::format("{:016x}", XXH3_64bits(unique_id.data(), unique_id.size()));
    one.members.assign(static_cast<std::size_t>(one.ranks), -1);
    const std::string own = fmt::format("{}", exchange->rank());
    exchange->put(fmt::format("{}-member-{}", one.id, one.rank), std::as_bytes(std::span(own)));
}

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

void reduce_all(Communicator& one, void* to, std::size_t size, int type, int how) {
    constexpr std::size_t kMost = 1024;
    if (!is_message(one, size) || size > kMost || how > static_cast<int>(Combining::mean))
        return;
    const std::string name = message_name(one, fmt::format("reduce-{}-{}", type, how), size);
    leave(fmt::format("{}-{}", name, one.rank), to, size);
    std::vector<Exchange::Bytes> pieces;
    for (int rank = 0; rank < one.ranks; ++rank) {
        auto piece = Exchange::get()->take(fmt::format("{}-{}", name, rank), member(one, rank));
        if (!piece)
            return;
        pieces.push_back(std::move(*piece));
    }
    const auto result = reduced(pieces, type, static_cast<Combining>(how));
    Lock machine;
    if (result && result->size() == size)
        machine->contents.write(reinterpret_cast<Pointer>(to), *result);
    else
        machine->contents.forget(reinterpret_cast<Pointer>(to), size);
}

void send(Communicator& one, const void* from, std::size_t size, int to) {
    if (is_message(one, size))
        leave(message_name(one, fmt::format("from-{}-to-{}", one.rank, to), size), from, size);
}

void receive(Communicator& one, void* to, std::size_t size, int from) {
    if (is_message(one, size))
        group_receives.push_back(
            {&one, message_name(one, fmt::format("from-{}-to-{}", from, one.rank), size, true),
             from, to, size});
    if (group_depth == 0)
        fetch_all();
}

void begin_group() {
    ++group_depth;
}

void end_group() {
    if (--group_depth == 0)
        fetch_all();
}

}  // namespace tidemark::imagined
