// Files that appear under their names complete, and polling.
#include "backends/imagined/exchange.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "backends/imagined/api.h"
#include "core/base/stopwatch.h"

namespace tidemark::imagined {
namespace {

constexpr Nanoseconds kLongest = 120'000'000'000;
constexpr auto kNap = std::chrono::milliseconds(1), kLongestNap = std::chrono::milliseconds(16);
constexpr Nanoseconds kStill = 1'000'000'000;  // all wait and have done so for this long

std::optional<Exchange::Bytes> read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
        return std::nullopt;
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto bytes = std::as_bytes(std::span(text));
    return Exchange::Bytes(bytes.begin(), bytes.end());
}

void write_file(const std::filesystem::path& path, std::span<const std::byte> content) {
    static std::atomic<unsigned> number = 0;
    std::filesystem::path written = path;
    written += fmt::format(".{}-{}", ::getpid(), number++);
    std::error_code ignored;
    {
        std::ofstream file(written, std::ios::binary);
        file.write(reinterpret_cast<const char*>(content.data()),
                   static_cast<std::streamsize>(content.size()));
    }
    std::filesystem::rename(written, path, ignored);
}

}  // namespace

Exchange::Exchange(const Settings::Ranks& ranks) : ranks_(ranks) {}

Exchange* Exchange::get() {
    static Exchange* const kept =
        settings().ranks ? new Exchange(*settings().ranks) : nullptr;  // outlives every thread
    return kept;
}

std::filesystem::path Exchange::file(std::string_view name) const {
    return std::filesystem::path(ranks_.folder) / name;
}

void Exchange::put(std::string_view name, std::span<const std::byte> content) {
    write_file(file(name), content);
}

bool Exchange::ended(int rank) const {
    std::error_code ignored;
    return std::filesystem::exists(file(fmt::format("ended-{}", rank)), ignored);
}

bool Exchange::can_come(int from) const {
    if (from != kAnybody)
        return !ended(from);
    for (int rank = 0; rank < ranks_.count; ++rank)
        if (rank != ranks_.rank && !ended(rank))
            return true;
    return false;
}

std::optional<std::vector<std::string>> Exchange::waits() const {
    std::vector<std::string> found;
    for (int rank = 0; rank < ranks_.count; ++rank) {
        if (rank == ranks_.rank || ended(rank))
            continue;
        const auto waiting = read_file(file(fmt::format("waits-{}", rank)));
        if (!waiting)
            return std::nullopt;
        found.emplace_back(reinterpret_cast<const char*>(waiting->data()), waiting->size());
    }
    return found;
}

std::optional<Exchange::Bytes> Exchange::take(std::string_view name, int from) {
    static std::atomic<unsigned> number = 0;
    const std::filesystem::path wanted = file(name);
    if (auto found = read_file(wanted); found || alone_)
        return found;
    const std::string count = fmt::format("{}", number++);
    const std::filesystem::path waiting = file(fmt::format("waits-{}", ranks_.rank));
    write_file(waiting, std::as_bytes(std::span(count)));
    const Stopwatch stopwatch;
    Nanoseconds still_since = 0;
    std::optional<std::vector<std::string>> before;
    std::optional<Bytes> found;
    for (auto nap = kNap; !found; nap = std::min(2 * nap, kLongestNap)) {
        std::this_thread::sleep_for(nap);
        const bool more = can_come(from);
        if (found = read_file(wanted); found || !more)
            break;
        auto now = waits();
        if (!now || now != before)
            still_since = stopwatch.elapsed();
        before = std::move(now);
        alone_ = stopwatch.elapsed() > kLongest;
        if (alone_ || stopwatch.elapsed() - still_since > kStill)
            break;
    }
    std::error_code ignored;
    std::filesystem::remove(waiting, ignored);
    return found;
}

}  // namespace tidemark::imagined

using namespace tidemark::imagined;

// For the store of the Python package. A take returns the size, and copies at most `most` bytes;
// -1: there is nothing. Without other ranks, nothing happens.
IMAGINED(void, exchange_put)(const char* name, const std::byte* from, std::size_t size) {
    if (Exchange* const exchange = Exchange::get())
        exchange->put(name, {from, size});
}

IMAGINED(std::int64_t, exchange_take)(const char* name, std::byte* to, std::size_t most) {
    Exchange* const exchange = Exchange::get();
    const auto found = exchange ? exchange->take(name, Exchange::kAnybody) : std::nullopt;
    if (!found)
        return -1;
    std::copy_n(found->begin(), std::min(most, found->size()), to);
    return static_cast<std::int64_t>(found->size());
}
