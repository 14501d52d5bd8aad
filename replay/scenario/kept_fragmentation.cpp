// kept_fragmentation: two columns and a head in a history's folder.
#include "replay/scenario/kept_fragmentation.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <unistd.h>

#include "replay/scenario/kept_file.h"
#include "traces/io/output_file.h"

namespace tidemark {
namespace {

constexpr KeptMagic kHeldMagic{'t', 'm', 'k', '-', 'h', 'e', 'l', 'd'};
constexpr const char* kHeldFile = "/held";
constexpr const char* kNodesFile = "/held-nodes";
constexpr const char* kHeadFile = "/held-head";
constexpr std::size_t kBetweenLooks = std::size_t{1} << 20U;  // bytes; at `cancelled`

FragmentationHead head_of(const History& history, const FragmentationColumns& columns) {
    return {.history = std::filesystem::path(history.kept_in()).filename().string(),
            .events = columns.held.size(),
            .held_checksum = checksum_of_ends(std::as_bytes(columns.held.all())),
            .nodes_checksum = checksum_of_ends(std::as_bytes(columns.nodes.all()))};
}

// Every column of a chart reads a few places of both, anywhere.
template <class T>
void bring_in_column(const MappedColumn<T>& column, const std::atomic<bool>& cancelled) {
    constexpr std::size_t kShare = 8;  // of the machine's memory, at most
    const std::size_t bytes = column.size() * sizeof(T);
    const std::size_t memory = static_cast<std::size_t>(std::max(::sysconf(_SC_PHYS_PAGES), 0L)) *
                               static_cast<std::size_t>(std::max(::sysconf(_SC_PAGESIZE), 0L));
    if (bytes > memory / kShare)
        return;
    for (std::size_t begin = 0; begin < bytes && !cancelled.load(); begin += kBetweenLooks)
        column.bytes()->bring_in(begin, std::min(kBetweenLooks, bytes - begin));
}

Result<void> write_kept(const std::string& path, std::span<const std::byte> bytes,
                        const std::atomic<bool>& cancelled) {
    TM_ASSIGN(const std::unique_ptr<OutputFile> file, OutputFile::create(path));
    while (!bytes.empty()) {
        if (cancelled.load())
            return fail(ErrorCode::cancelled, "was cancelled", path);
        const std::size_t size = std::min(kBetweenLooks, bytes.size());
        TM_TRY(file->write(bytes.first(size)));
        bytes = bytes.subspan(size);
    }
    return file->commit(false);  // what a power cut leaves is known by the head
}

}  // namespace

std::vector<std::byte> encode_fragmentation_head(const FragmentationHead& head) {
    tmk::ByteWriter writer;
    writer.put(kFragmentationFormat);
    writer.put_text(head.history);
    writer.put(head.events);
    writer.put(head.held_checksum);
    writer.put(head.nodes_checksum);
    return seal(kHeldMagic, writer.bytes());
}

std::optional<FragmentationHead> decode_fragmentation_head(std::span<const std::byte> bytes) {
    std::optional<tmk::ByteReader> reader = unseal(kHeldMagic, kFragmentationFormat, bytes);
    if (!reader)
        return std::nullopt;
    FragmentationHead head;
    head.history = std::string(reader->get_text());
    head.events = reader->get<std::uint64_t>();
    head.held_checksum = reader->get<std::uint64_t>();
    head.nodes_checksum = reader->get<std::uint64_t>();
    if (!reader->ok() || reader->left() != 0)
        return std::nullopt;
    return head;
}

std::shared_ptr<FragmentationCurve> open_fragmentation(
    const std::shared_ptr<const History>& history, const std::atomic<bool>& cancelled) {
    const std::string& folder = history->kept_in();
    if (folder.empty() || !history->complete())
        return nullptr;
    const auto bytes = read_kept_head(folder + kHeadFile);
    const auto head = bytes ? decode_fragmentation_head(*bytes) : std::nullopt;
    const std::size_t events = history->counts().events;
    if (!head || head->events != events)
        return nullptr;
    auto held = MappedColumn<Bytes>::open(folder + kHeldFile, events);
    auto nodes =
        MappedColumn<HeldNode>::open(folder + kNodesFile, FragmentationColumns::nodes_of(events));
    if (!held || !nodes)
        return nullptr;
    FragmentationColumns columns{std::move(*held), std::move(*nodes)};
    if (head_of(*history, columns) != *head)
        return nullptr;
    bring_in_column(columns.nodes, cancelled);
    bring_in_column(columns.held, cancelled);
    return FragmentationCurve::of(history, std::move(columns));
}

Result<void> keep_fragmentation(const FragmentationCurve& curve, const History& history,
                                const std::atomic<bool>& cancelled) {
    const std::string& folder = history.kept_in();
    const FragmentationColumns& columns = curve.all();
    TM_TRY(write_kept(folder + kHeldFile, std::as_bytes(columns.held.all()), cancelled));
    TM_TRY(write_kept(folder + kNodesFile, std::as_bytes(columns.nodes.all()), cancelled));
    return write_kept(folder + kHeadFile, encode_fragmentation_head(head_of(history, columns)),
                      cancelled);
}

}  // namespace tidemark
