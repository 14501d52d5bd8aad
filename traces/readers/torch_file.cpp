// The forms in which snapshots are stored, and those that are pickles.
#include "traces/readers/torch_file.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "traces/readers/pickle.h"
#include "traces/readers/pickle_bytes.h"
#include "traces/readers/pickle_opcodes.h"

namespace tidemark::torch {
namespace {

constexpr std::array kForms{
    Form{"a pickle", begins_pickle, read_pickles},
    Form{"an archive of torch.save", begins_torch_archive, read_torch_archive},
    Form{"a page of _memory_viz", begins_memory_page, read_memory_page},
    Form{"JSON", begins_snapshot_json, read_snapshot_json},
};

std::string_view text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// One pickle. Adds what it contains; after an Error, what was added before stays.
Result<void> read_pickle(ByteSource& source, File& file, const ReadOptions& options) {
    Unpickler unpickler(source, file.objects, file.records, options.progress);
    Result<Value> read = unpickler.run();
    Value root;
    if (read) {
        root = *read;
        unpickler.consume();
    } else {
        // Only whole snapshots are kept after the first.
        if (!unpickler.cut_off() || !options.lenient || !file.parts.empty())
            return tl::make_unexpected(std::move(read).error());
        file.end = std::move(read).error();
        root = unpickler.close_open();
    }
    std::vector<Part> parts = find_parts(file.records, root);
    std::ranges::move(parts, std::back_inserter(file.parts));
    return {};
}

}  // namespace

const Form* find_form(std::string_view head) {
    const auto* const found =
        std::ranges::find_if(kForms, [head](const Form& form) { return form.recognises(head); });
    return found == kForms.end() ? nullptr : found;
}

// Protocol 2 or newer names its number. Older ones start with a container: "(dp0\n", "(lp0\n",
// "}q\0(", "]q\0", or with a class that is a dict.
bool begins_pickle(std::string_view head) {
    if (head.size() >= 2 && static_cast<unsigned char>(head[0]) == opcode::kProto)
        return head[1] >= 2 && head[1] <= 32;
    if (head.size() < 4)
        return false;
    if (head[0] == '(')
        return (head[1] == 'd' || head[1] == 'l') && (head[2] == 'p' || head[2] == 'q');
    if (head[0] == '}' || head[0] == ']')
        return head[1] == 'q' && head[2] == 0;
    return head.starts_with("ccollections\n");
}

Result<void> read_pickles(ByteSource& source, File& file, const ReadOptions& options) {
    for (;;) {
        const std::uint64_t begin = source.offset();
        Result<void> read = read_pickle(source, file, options);
        if (!read && (file.parts.empty() || options.strict))
            return read;
        if (!read)
            file.warnings.push_back(
                fmt::format("the bytes after the snapshots, at {:#x}, can't be read: {}", begin,
                            read.error().what));
        if (!read || file.end)
            return {};
        TM_TRY(source.need(4));
        if (!begins_pickle(text_of(source.window())))
            return {};
    }
}

// A local header of a zip file (PKWARE's APPNOTE 4.3.7): 30 bytes, the name, extra fields.
bool begins_torch_archive(std::string_view head) {
    constexpr std::size_t kHeader = 30;
    if (!head.starts_with("PK\x03\x04") || head.size() < kHeader)
        return false;
    const auto* const bytes = reinterpret_cast<const unsigned char*>(head.data());
    return head.substr(kHeader, load(bytes + 26, 2)).ends_with("/data.pkl");
}

Result<void> read_torch_archive(ByteSource& source, File& file, const ReadOptions& options) {
    constexpr std::size_t kHeader = 30;
    TM_TRY(source.need(kHeader));
    const auto* const bytes = reinterpret_cast<const unsigned char*>(source.window().data());
    if (load(bytes + 8, 2) != 0)
        return fail(ErrorCode::unsupported, "the archive is compressed", source.name(),
                    "unpack it, and give the data.pkl in it");
    const std::size_t before = kHeader + load(bytes + 26, 2) + load(bytes + 28, 2);
    TM_TRY(source.need(before));
    source.consume(std::min(before, source.window().size()));
    return read_pickle(source, file, options);
}

}  // namespace tidemark::torch
