// torch-snapshot: what torch.cuda.memory._dump_snapshot() writes, from PyTorch 1.13 to past 2.11.
//
// Plain data in a pickle (or another form: torch_file.h): the state of the caching allocator at the
// dump and, if history was recorded, what it did before. The file is read into torch_records.h;
// torch_history.h walks the contents back to the start, and torch_events.h writes them forward as
// events. Nothing in the file is ever executed. Time O(bytes); memory: 32 bytes an entry and 16 for
// the unpickled values, less than the file.
#include <algorithm>
#include <utility>

#include "traces/readers/format.h"
#include "traces/readers/torch_contents.h"
#include "traces/readers/torch_events.h"
#include "traces/readers/torch_file.h"

namespace tidemark::formats {
namespace {

constexpr std::size_t kFormHead = 4096;

std::string_view head_of(std::span<const std::byte> bytes) {
    const std::span<const std::byte> head = bytes.first(std::min(bytes.size(), kFormHead));
    return {reinterpret_cast<const char*>(head.data()), head.size()};
}

bool recognises_torch(std::span<const std::byte> head) {
    return torch::find_form(head_of(head)) != nullptr;
}

bool has_entries(const torch::Contents& contents) {
    for (const std::span<torch::Entry> trace : contents.traces) {
        if (!trace.empty())
            return true;
    }
    return false;
}

Result<void> read_file(ByteSource& source, torch::File& file, const ReadOptions& options) {
    TM_TRY(source.need(kFormHead));
    const torch::Form* const form = torch::find_form(head_of(source.window()));
    // which reports what is wrong
    TM_TRY(form == nullptr ? torch::read_pickles(source, file, options)
                           : form->read(source, file, options));
    if (!file.records.whole() || !file.objects.lists.whole())
        return fail(ErrorCode::unsupported, "more than 500 million entries", source.name(),
                    "record less with max_entries");
    return {};
}

Result<TraceInfo> read_torch(ByteSource& source, TraceSink& sink, const ReadOptions& options) {
    torch::File file;
    TM_TRY(read_file(source, file, options));
    const auto chosen = torch::choose_part(file.parts.size(), options.part, source.name());
    if (!chosen)
        return tl::make_unexpected(file.end ? std::move(*file.end) : std::move(chosen).error());
    const torch::Part& part = file.parts[*chosen];
    Result<torch::Contents> contents = torch::resolve(file.records, part.snapshot, source.name());
    if (file.end && (!contents || !has_entries(*contents)))
        return tl::make_unexpected(std::move(*file.end));
    if (!contents)
        return tl::make_unexpected(std::move(contents).error());

    TraceInfo info;
    info.format = "torch-snapshot";
    info.source = contents->source;
    info.settings = contents->settings;
    info.metadata = part.beside;
    info.warnings = file.warnings;
    if (info.source.starts_with("torch 2.12"))
        info.warnings.emplace_back(
            "the rules of PyTorch 2.12 and later are taken from its sources: only recordings up to "
            "2.11 have been checked against them");
    info.devices.resize(contents->device_count);
    if (contents->has_host)
        info.devices.back().name = kHostMemory;
    info.cut_off = file.end.has_value();
    TM_TRY(torch::write_events(file.records, *contents, sink, options, source.name(), info));
    return info;
}

// PyTorch's own dump starts with its dict's first key. Such a file holds one snapshot unless
// another was appended. Only a small file is read twice to find that out; for a large one the
// reader warns.
bool is_large_dump(const ByteSource& source) {
    constexpr std::size_t kFirstKey = 64;
    constexpr std::uint64_t kSmall = std::uint64_t{8} << 20U;
    const std::string_view begin = head_of(source.window()).substr(0, kFirstKey);
    return source.raw_size() > kSmall && (begin.find("segments") != std::string_view::npos ||
                                          begin.find("device_traces") != std::string_view::npos);
}

Result<std::size_t> count_torch(ByteSource& source) {
    torch::File file;
    TM_TRY(source.need(kFormHead));
    if (is_large_dump(source))
        return std::size_t{1};
    TM_TRY(read_file(source, file, {}));
    return file.parts.size();
}

}  // namespace

FormatInfo torch_snapshot() {
    return {"torch-snapshot", "PyTorch memory snapshot (torch.cuda.memory._dump_snapshot)",
            recognises_torch, read_torch, count_torch};
}

}  // namespace tidemark::formats
