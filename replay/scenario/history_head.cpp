// history_head: numbers and texts, with a checksum over all of them in front.
#include "replay/scenario/history_head.h"

#include <utility>

#include <fcntl.h>

#include "core/base/check.h"
#include "replay/scenario/kept_file.h"
#include "replay/scenario/kept_run.h"
#include "replay/timeline/history_check.h"
#include "replay/timeline/history_columns.h"
#include "traces/tmk/wire.h"

namespace tidemark {
namespace {

constexpr KeptMagic kMagic{'t', 'm', 'k', '-', 'h', 'i', 's', 't'};

void put_names(tmk::ByteWriter& writer, const History::Columns& columns) {
    const HistoryNames& names = *columns.names.load();
    const auto list = [&writer](const auto& texts, auto&& put) {
        writer.put(std::uint64_t{texts.size()});
        for (const auto& name : texts)
            put(name);
    };
    const auto text = [&writer](const std::string& name) { writer.put_text(name); };
    list(names.streams, [&writer](std::uint64_t stream) { writer.put(stream); });
    list(names.pools, text);
    list(names.devices, text);
    writer.put(names.capacity);
    writer.put(names.limit);
    writer.put(std::uint64_t{columns.strings.size()});
    for (std::uint32_t i = 1; i < columns.strings.size(); ++i)
        writer.put_text(columns.strings[i]);
    writer.put(std::uint64_t{columns.stacks.size()});
    for (std::uint32_t i = 1; i < columns.stacks.size(); ++i) {
        const std::span<const Frame> frames = columns.stacks[i];
        writer.put(std::uint64_t{frames.size()});
        writer.put_bytes(std::as_bytes(frames));
    }
}

void get_stacks(tmk::ByteReader& reader, StackTable& stacks) {
    const auto count = reader.get<std::uint64_t>();
    std::vector<Frame> frames;
    for (std::uint64_t i = 1; i < count && reader.ok(); ++i) {
        const auto length = reader.get<std::uint64_t>();
        if (length > reader.left() / sizeof(Frame))
            return;
        frames.resize(static_cast<std::size_t>(length));
        for (Frame& frame : frames)
            frame = reader.get<Frame>();
        stacks.intern(frames);
    }
}

void get_names(tmk::ByteReader& reader, History::Columns& columns) {
    HistoryNames names;
    const auto list = [&reader](auto& into, auto&& get) {
        into.clear();
        const auto count = reader.get<std::uint64_t>();
        for (std::uint64_t i = 0; i < count && reader.ok(); ++i)
            into.push_back(get());
    };
    const auto text = [&reader] { return std::string(reader.get_text()); };
    list(names.streams, [&reader] { return reader.get<std::uint64_t>(); });
    list(names.pools, text);
    list(names.devices, text);
    names.capacity = reader.get<Bytes>();
    names.limit = reader.get<Bytes>();
    columns.set_names(std::move(names));
    const auto strings = reader.get<std::uint64_t>();
    for (std::uint64_t i = 1; i < strings && reader.ok(); ++i)
        columns.strings.intern(reader.get_text());
    get_stacks(reader, columns.stacks);
}

HistoryCounts get_counts(tmk::ByteReader& reader) {
    HistoryCounts counts;
    for (std::size_t* const count :
         {&counts.events, &counts.blocks, &counts.segments, &counts.annotations, &counts.marks,
          &counts.sites, &counts.launches, &counts.executions})
        *count = static_cast<std::size_t>(reader.get<std::uint64_t>());
    return counts;
}

}  // namespace

std::vector<std::byte> make_head(History::Columns& columns, const HistoryKey& key, const Run& run) {
    tmk::ByteWriter writer;
    writer.put(kHistoryFormat);
    writer.put(key.trace_hash);
    writer.put(key.file_hash);
    writer.put_text(key.scenario);
    put_run(writer, run);
    put_names(writer, columns);
    const HistoryCounts counts = columns.counts.get();
    for (const std::size_t count :
         {counts.events, counts.blocks, counts.segments, counts.annotations, counts.marks,
          counts.sites, counts.launches, counts.executions})
        writer.put(std::uint64_t{count});
    std::vector<std::span<const std::byte>> all;
    static_cast<void>(columns.for_each(
        [&all](const char* /*name*/, const auto& column, std::size_t) -> Result<void> {
            all.push_back(std::as_bytes(column.all()));
            return {};
        }));
    const auto sums = checksums_of(all);
    TM_CHECK(sums && sums->size() == all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        writer.put(std::uint64_t{all[i].size()});
        writer.put((*sums)[i]);
    }
    return seal(kMagic, writer.bytes());
}

bool read_history(std::span<const std::byte> head, const OwnFolder& folder, const HistoryKey& key,
                  History::Columns& columns, Run& run, const std::atomic<bool>* cancelled) {
    std::optional<tmk::ByteReader> reader = unseal(kMagic, kHistoryFormat, head);
    if (!reader || reader->get<std::uint64_t>() != key.trace_hash ||
        reader->get<std::uint64_t>() != key.file_hash || reader->get_text() != key.scenario)
        return false;
    run = get_run(*reader);
    get_names(*reader, columns);
    const HistoryCounts counts = get_counts(*reader);
    std::vector<std::span<const std::byte>> all;
    std::vector<std::uint64_t> sums;
    if (!columns.for_each([&](const char* name, auto& column, std::size_t most) -> Result<void> {
            using Column = std::remove_reference_t<decltype(column)>;
            const auto bytes = reader->get<std::uint64_t>();
            sums.push_back(reader->get<std::uint64_t>());
            const std::string path = folder.path() + "/" + name;
            if (!reader->ok() || bytes / sizeof(column[0]) > most || bytes % sizeof(column[0]) != 0)
                return fail(ErrorCode::bad_input, "is damaged", path);
            TM_ASSIGN(const FileDescriptor file, folder.open_file(name, O_RDONLY));
            TM_ASSIGN(column, Column::open(file.get(), path,
                                           static_cast<std::size_t>(bytes / sizeof(column[0]))));
            all.push_back(std::as_bytes(column.all()));
            return {};
        }))
        return false;
    if (!reader->ok() || reader->left() != 0 || checksums_of(all, cancelled) != sums ||
        !columns_fit(counts, columns))
        return false;
    columns.counts.set(counts);
    columns.complete = true;
    return true;
}

std::optional<HeadSummary> summary_of_head(std::span<const std::byte> head) {
    std::optional<tmk::ByteReader> reader = unseal(kMagic, kHistoryFormat, head);
    if (!reader)
        return std::nullopt;
    HeadSummary summary;
    summary.trace_hash = reader->get<std::uint64_t>();
    static_cast<void>(reader->get<std::uint64_t>());  // of the file
    static_cast<void>(reader->get_text());            // the scenario, for programs
    const Run run = get_run(*reader);
    if (!reader->ok())
        return std::nullopt;
    summary.trace = run.scenario.trace;
    summary.policy = run.scenario.policy;
    summary.events = run.summary.events;
    return summary;
}

}  // namespace tidemark
