// torch-snapshot: what torch.cuda.memory._dump_snapshot() writes, from PyTorch 1.13 to past 2.11.
//
// A pickle of plain data: the state of the caching allocator at the dump and, if history was
// recorded, what it did before. The way through: pickle.h reads it into torch_records.h, whose
// contents torch_history.h walks back to the begin and torch_events.h writes forward as events.
// Nothing in the file is ever executed. Time O(bytes); memory: 32 bytes an entry and 16 for what
// the pickle makes of it, less than the file.
#include <optional>
#include <utility>

#include "traces/readers/format.h"
#include "traces/readers/pickle.h"
#include "traces/readers/pickle_opcodes.h"
#include "traces/readers/torch_contents.h"
#include "traces/readers/torch_events.h"

namespace tidemark::formats {
namespace {

// Any pickle of protocol 2 or newer: no other format begins so, and for one that is no snapshot the
// reader has the better message.
bool recognises_torch(std::span<const std::byte> head) {
    return head.size() >= 2 && head[0] == std::byte{opcode::kProto} && head[1] >= std::byte{2} &&
           head[1] <= std::byte{32};
}

bool has_entries(const torch::Contents& contents) {
    for (const std::span<torch::Entry> trace : contents.traces) {
        if (!trace.empty())
            return true;
    }
    return false;
}

Result<TraceInfo> read_torch(ByteSource& source, TraceSink& sink, const ReadOptions& options) {
    PickleObjects objects;
    torch::Records records(objects);
    std::optional<Error> end;  // where the file was cut off
    Value root;
    {
        Unpickler unpickler(source, objects, records, options.progress);
        Result<Value> read = unpickler.run();
        if (!read) {
            if (!unpickler.cut_off() || !options.lenient)
                return tl::make_unexpected(std::move(read).error());
            end = std::move(read).error();
            root = unpickler.close_open();
        } else {
            root = *read;
        }
    }
    if (!records.whole())
        return fail(ErrorCode::unsupported, "more than 500 million entries", source.name(),
                    "record less with max_entries");
    Result<torch::Contents> contents = torch::resolve(records, root, source.name());
    if (end && (!contents || !has_entries(*contents)))
        return tl::make_unexpected(std::move(*end));
    if (!contents)
        return tl::make_unexpected(std::move(contents).error());

    TraceInfo info;
    info.format = "torch-snapshot";
    info.source = contents->source;
    info.settings = contents->settings;
    info.devices.resize(contents->device_count);
    info.cut_off = end.has_value();
    TM_TRY(torch::write_events(records, *contents, sink, options, source.name(), info));
    return info;
}

}  // namespace

FormatInfo torch_snapshot() {
    return {"torch-snapshot", "PyTorch memory snapshot (torch.cuda.memory._dump_snapshot)",
            recognises_torch, read_torch};
}

}  // namespace tidemark::formats
