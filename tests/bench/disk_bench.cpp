// Disk store against plain direct I/O: how much of a disk's sequential speed is left when buffers
// are stored and read with checksums.
//
// Usage: disk_bench DIRECTORY... [--size BYTES] [--buffer BYTES] [--chunk BYTES] [--depth N]
//                   [--workers N] [--rounds N] [--engine automatic|io_uring|posix] [--json]
//
// Every round writes and reads the same bytes in turn: plainly (one file on each directory, blocks
// of the chunk's size, as many in flight as the store has, space allocated before the clock runs)
// and by the store, past the page cache both. A figure is the median of the rounds; a ratio, the
// median of each round's ratio.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "backends/disk/disk_files.h"
#include "core/base/stopwatch.h"
#include "core/base/text.h"
#include "core/tiers/disk/disk_chunks.h"
#include "core/tiers/disk/disk_store.h"

namespace tidemark {
namespace {

struct Settings {
    std::vector<std::string> directories;
    Bytes size = 1_GiB;  // moved in each direction of a round
    Bytes buffer = 64_MiB;
    DiskStoreOptions store;
    unsigned rounds = 5;
    DiskEngine engine = DiskEngine::automatic;
    bool json = false;
};

struct Rates {
    double write = 0;  // bytes a second
    double read = 0;
};

struct Median {
    std::vector<double> values;

    double value() const {
        std::vector<double> sorted = values;
        std::sort(sorted.begin(), sorted.end());
        return sorted[sorted.size() / 2];
    }
};

[[noreturn]] void stop(const std::string& why) {
    std::fprintf(stderr, "disk_bench: %s\n", why.c_str());
    std::exit(1);
}

template <class T>
T must(Result<T> result) {
    if (!result)
        stop(to_text(result.error()));
    if constexpr (!std::is_void_v<T>)
        return std::move(*result);
}

template <class T>
T must(FileResult<T> result, const std::string& path) {
    if (!result)
        stop(path + ": " + to_text(result.error()));
    if constexpr (!std::is_void_v<T>)
        return std::move(*result);
}

double rate(Bytes bytes, const Stopwatch& watch) {
    return static_cast<double>(bytes) * 1e9 / static_cast<double>(watch.elapsed());
}

// Plain sequential transfers of `memory` on files that take turns, `depth` in flight.
double move_plainly(BlockQueue& queue, BlockTransfer::Kind kind, const std::vector<OpenFile>& files,
                    std::span<std::byte> memory, Bytes block) {
    const Stopwatch watch;
    std::vector<MemoryPiece> pieces(queue.depth());
    std::vector<unsigned> free;
    for (unsigned slot = 0; slot < queue.depth(); ++slot)
        free.push_back(slot);
    const std::uint64_t blocks = memory.size() / block;
    std::vector<BlockCompletion> done(queue.depth());
    for (std::uint64_t next = 0; next < blocks || free.size() < queue.depth();) {
        for (; next < blocks && !free.empty(); ++next, free.pop_back()) {
            pieces[free.back()] = {memory.data() + next * block, block};
            const BlockTransfer transfer{kind, files[next % files.size()].id,
                                         next / files.size() * block,
                                         std::span(pieces).subspan(free.back(), 1), free.back()};
            queue.submit(std::span(&transfer, 1));
        }
        const std::size_t count = queue.wait(done);
        for (std::size_t i = 0; i < count; ++i) {
            if (done[i].moved != block)
                stop("a plain transfer failed: " + to_text(FileError{done[i].error}));
            free.push_back(static_cast<unsigned>(done[i].tag));
        }
    }
    return rate(memory.size(), watch);
}

Rates run_plainly(BlockFiles& files, const Settings& settings, std::span<std::byte> memory) {
    const auto buffers = static_cast<unsigned>(memory.size() / settings.buffer);
    const auto directories = static_cast<unsigned>(settings.directories.size());
    const auto queue = files.make_queue(std::min(settings.store.workers, buffers) *
                                        settings.store.depth * directories);
    std::vector<OpenFile> open;
    for (const std::string& directory : settings.directories) {
        open.push_back(must(files.create_scratch(directory), directory));
        if (open.back().memory_alignment == 1)
            stop(directory + ": has no direct transfers: this would measure the page cache");
        must(files.allocate(open.back().id, 0,
                            memory.size() / settings.directories.size() + settings.store.chunk),
             directory);
    }
    Rates rates;
    rates.write =
        move_plainly(*queue, BlockTransfer::Kind::write, open, memory, settings.store.chunk);
    rates.read =
        move_plainly(*queue, BlockTransfer::Kind::read, open, memory, settings.store.chunk);
    for (const OpenFile& file : open)
        must(files.close(file.id), "closing");
    return rates;
}

Rates run_store(BlockFiles& files, const Settings& settings, std::span<std::byte> memory) {
    const auto store = must(DiskStore::open(files, settings.store));
    const auto buffers = static_cast<std::uint32_t>(memory.size() / settings.buffer);
    Rates rates;
    std::vector<DiskWriter> writers;
    std::vector<DiskTicket> tickets;
    const Stopwatch write;
    for (std::uint32_t id = 0; id < buffers; ++id) {
        const std::array<std::span<const std::byte>, 1> source{
            memory.subspan(id * settings.buffer, settings.buffer)};
        writers.push_back(must(store->begin_write(BufferId{id}, settings.buffer)));
        tickets.push_back(store->write_part(writers.back(), 0, source));
    }
    for (std::uint32_t id = 0; id < buffers; ++id) {
        must(tickets[id].wait());
        must(store->commit(writers[id]));
    }
    rates.write = rate(buffers * settings.buffer, write);
    tickets.clear();
    writers.clear();
    const Stopwatch read;
    for (std::uint32_t id = 0; id < buffers; ++id) {
        const std::array<std::span<std::byte>, 1> target{
            memory.subspan(id * settings.buffer, settings.buffer)};
        tickets.push_back(store->read_async(BufferId{id}, target));
    }
    for (const DiskTicket& ticket : tickets)
        must(ticket.wait());
    rates.read = rate(buffers * settings.buffer, read);
    return rates;
}

void print(const Settings& settings, std::string_view engine, const char* direction,
           const std::vector<std::pair<double, double>>& rounds) {
    Median plain;
    Median store;
    Median ratio;
    for (const auto& [p, s] : rounds) {
        plain.values.push_back(p);
        store.values.push_back(s);
        ratio.values.push_back(s / p);
    }
    const auto [least, most] = std::minmax_element(ratio.values.begin(), ratio.values.end());
    if (settings.json) {
        std::printf(
            "{\"direction\": \"%s\", \"engine\": \"%s\", \"buffer\": %llu, \"chunk\": %llu, "
            "\"depth\": %u, \"workers\": %u, \"directories\": %zu, "
            "\"plain_bytes_per_second\": %.0f, \"store_bytes_per_second\": %.0f, "
            "\"ratio\": %.3f, \"ratio_least\": %.3f, \"ratio_most\": %.3f}\n",
            direction, std::string(engine).c_str(),
            static_cast<unsigned long long>(settings.buffer),
            static_cast<unsigned long long>(settings.store.chunk), settings.store.depth,
            settings.store.workers, settings.directories.size(), plain.value(), store.value(),
            ratio.value(), *least, *most);
        return;
    }
    std::printf("%-6s %-9s %9s %9s %4ux%-2u  %8.3f GB/s %8.3f GB/s   %.3f (%.3f to %.3f)\n",
                direction, std::string(engine).c_str(), format_bytes(settings.buffer).c_str(),
                format_bytes(settings.store.chunk).c_str(), settings.store.workers,
                settings.store.depth, plain.value() / 1e9, store.value() / 1e9, ratio.value(),
                *least, *most);
}

Settings read_arguments(int count, char** arguments) {
    Settings settings;
    for (int i = 1; i < count; ++i) {
        const std::string word = arguments[i];
        const auto value = [&]() -> std::string {
            if (++i == count)
                stop(word + " needs a value");
            return arguments[i];
        };
        if (word == "--size")
            settings.size = must(parse_bytes(value()));
        else if (word == "--buffer")
            settings.buffer = must(parse_bytes(value()));
        else if (word == "--chunk")
            settings.store.chunk = must(parse_bytes(value()));
        else if (word == "--depth")
            settings.store.depth = static_cast<unsigned>(must(parse_count(value())));
        else if (word == "--workers")
            settings.store.workers = static_cast<unsigned>(must(parse_count(value())));
        else if (word == "--rounds")
            settings.rounds = static_cast<unsigned>(must(parse_count(value())));
        else if (word == "--engine")
            settings.engine = value() == "posix"                        ? DiskEngine::posix
                              : std::string(arguments[i]) == "io_uring" ? DiskEngine::io_uring
                                                                        : DiskEngine::automatic;
        else if (word == "--json")
            settings.json = true;
        else if (word.starts_with("--"))
            stop("unknown option " + word);
        else
            settings.directories.push_back(word);
    }
    settings.store.directories = settings.directories;
    if (settings.directories.empty() || settings.rounds == 0)
        stop("give a directory, and a round");
    if (settings.buffer % settings.store.chunk != 0 || settings.size % settings.buffer != 0)
        stop("the size must be a multiple of the buffer, and that of the chunk");
    return settings;
}

}  // namespace

int run(int count, char** arguments) {
    const Settings settings = read_arguments(count, arguments);
    const DiskFiles disk = must(open_disk_files(settings.engine));
    if (!disk.note.empty())
        std::fprintf(stderr, "%s\n", disk.note.c_str());
    AlignedMemory memory;
    if (!memory.grow(settings.size))
        stop("no memory");
    const std::span<std::byte> bytes = memory.first(settings.size);
    for (Bytes at = 0; at < bytes.size(); at += sizeof at)  // no zeros that a disk might leave out
        std::memcpy(bytes.data() + at, &at, sizeof at);
    std::vector<std::pair<double, double>> writes;
    std::vector<std::pair<double, double>> reads;
    for (unsigned round = 0; round < settings.rounds; ++round) {
        const bool first = round % 2 == 0;  // who comes first takes turns
        Rates plain;
        if (first)
            plain = run_plainly(*disk.files, settings, bytes);
        const Rates store = run_store(*disk.files, settings, bytes);
        if (!first)
            plain = run_plainly(*disk.files, settings, bytes);
        writes.emplace_back(plain.write, store.write);
        reads.emplace_back(plain.read, store.read);
    }
    if (!settings.json)
        std::printf("%-6s %-9s %9s %9s  %4s   %13s %13s   %s\n", "", "engine", "buffer", "chunk",
                    "flight", "plain", "store", "ratio");
    print(settings, disk.files->name(), "write", writes);
    print(settings, disk.files->name(), "read", reads);
    return 0;
}

}  // namespace tidemark

int main(int count, char** arguments) {
    return tidemark::run(count, arguments);
}
