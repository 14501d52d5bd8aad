// kept_fragmentation: two columns and a head in a history's folder.
#include "replay/scenario/kept_fragmentation.h"

#include <array>
#include <filesystem>
#include <utility>

#include <fcntl.h>

#include "replay/scenario/kept_file.h"
#include "traces/io/own_folder.h"

namespace tidemark {
namespace {

constexpr KeptMagic kHeldMagic{'t', 'm', 'k', '-', 'h', 'e', 'l', 'd'};
constexpr const char* kHeldFile = "held";
constexpr const char* kNodesFile = "held-nodes";
constexpr const char* kHeadOfHeld = "held-head";

// Nothing if it was cancelled.
std::optional<FragmentationHead> head_of(const History& history,
                                         const FragmentationColumns& columns,
                                         const std::atomic<bool>& cancelled) {
    const std::array all{std::as_bytes(columns.held.all()), std::as_bytes(columns.nodes.all())};
    const auto sums = checksums_of(all, &cancelled);
    if (!sums)
        return std::nullopt;
    return FragmentationHead{
        .history = std::filesystem::path(history.kept_in()).filename().string(),
        .events = columns.held.size(),
        .held_checksum = sums->front(),
        .nodes_checksum = sums->back()};
}

template <class T>
Result<MappedColumn<T>> open_column(const OwnFolder& folder, const char* name, std::size_t count) {
    TM_ASSIGN(const FileDescriptor file, folder.open_file(name, O_RDONLY));
    return MappedColumn<T>::open(file.get(), folder.path() + "/" + name, count);
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
    if (history->kept_in().empty() || !history->complete())
        return nullptr;
    const Result<OwnFolder> folder = OwnFolder::open(history->kept_in());
    if (!folder)
        return nullptr;
    const auto bytes = read_kept_head(*folder, kHeadOfHeld);
    const auto head = bytes ? decode_fragmentation_head(*bytes) : std::nullopt;
    const std::size_t events = history->counts().events;
    if (!head || head->events != events)
        return nullptr;
    auto held = open_column<Bytes>(*folder, kHeldFile, events);
    auto nodes = open_column<HeldNode>(*folder, kNodesFile, FragmentationColumns::nodes_of(events));
    if (!held || !nodes)
        return nullptr;
    FragmentationColumns columns{std::move(*held), std::move(*nodes)};
    if (head_of(*history, columns, cancelled) != head)
        return nullptr;
    return FragmentationCurve::of(history, std::move(columns));
}

Result<void> keep_fragmentation(const FragmentationCurve& curve, const History& history,
                                const std::atomic<bool>& cancelled) {
    const FragmentationColumns& columns = curve.all();
    const Result<OwnFolder> folder = OwnFolder::open(history.kept_in());
    if (!folder)
        return fail(ErrorCode::io, folder.error().what, folder.error().where);
    const auto head = head_of(history, columns, cancelled);
    if (!head)
        return fail(ErrorCode::cancelled, "was cancelled", folder->path());
    TM_TRY(write_kept_file(*folder, kHeldFile, std::as_bytes(columns.held.all()), &cancelled));
    TM_TRY(write_kept_file(*folder, kNodesFile, std::as_bytes(columns.nodes.all()), &cancelled));
    return write_kept_file(*folder, kHeadOfHeld, encode_fragmentation_head(*head), &cancelled);
}

}  // namespace tidemark
