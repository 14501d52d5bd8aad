// A table of marks, and the message of an out-of-memory error.
#include "traces/readers/foreign_files.h"

#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "core/base/text.h"

namespace tidemark {
namespace {

constexpr std::string_view kRecordPyTorch =
    "record the allocator's history: torch.cuda.memory._record_memory_history() at the start, "
    "torch.cuda.memory._dump_snapshot(\"snapshot.pickle\") after the out-of-memory error";
constexpr std::string_view kRecordAny =
    "record the program's calls of the CUDA driver: tidemark record -- PROGRAM";
constexpr std::string_view kLackOfMemory = "out of memory. Tried to allocate ";

struct Foreign {
    std::string_view ending;  // of the file's name; "" = any
    std::string_view mark;    // in the text; "" = any
    std::string_view what;
    std::string_view hint;
};

constexpr std::array kForeign{
    Foreign{".nsys-rep", "", "a report of Nsight Systems, in a form that only nsys can read",
            "export it: nsys export --type sqlite FILE, and give the .sqlite (record with "
            "--cuda-memory-usage=true)"},
    Foreign{".qdrep", "", "a report of Nsight Systems, in a form that only nsys can read",
            "export it: nsys export --type sqlite FILE, and give the .sqlite"},
    Foreign{".ncu-rep", "", "a report of Nsight Compute, which has no allocations", kRecordAny},
    Foreign{"", "CUDA memory summary",
            "the text of torch.cuda.memory_summary(): totals at one moment, no allocations",
            kRecordPyTorch},
    Foreign{"", "[bfc_allocator.cc", "a log of TensorFlow's BFC allocator: bins at one moment",
            kRecordAny},
    Foreign{"", "BFCAllocator dump", "a dump of a BFC allocator: bins at one moment", kRecordAny},
    Foreign{"", "Vulkan Memory Allocator,Calls recording",
            "a recording of Vulkan Memory Allocator's calls, whose objects have no sizes",
            "write its allocations as JSON lines (docs/format-jsonl.md)"},
    Foreign{"", "\"VulkanApiVersion\"",
            "statistics of Vulkan Memory Allocator: the state at one moment",
            "write its allocations as JSON lines (docs/format-jsonl.md)"},
    Foreign{"", "\"Correlation_Id\"", "a table of rocprof, which has no allocations",
            "record the allocator's history: torch.cuda.memory._record_memory_history()"},
    Foreign{"", "\"KernelName\"", "a table of rocprof, which has no allocations",
            "record the allocator's history: torch.cuda.memory._record_memory_history()"},
    Foreign{"", "rocprofiler", "a profile of rocprof, which has no allocations",
            "record the allocator's history: torch.cuda.memory._record_memory_history()"},
};

bool is_timeline(std::string_view begin) {
    begin.remove_prefix(std::min(begin.find_first_not_of(" \t\r\n"), begin.size()));
    if (!begin.starts_with("[["))
        return begin.starts_with("<") && begin.find("data:image/png;base64") != begin.npos &&
               begin.find("emory") != begin.npos;
    begin.remove_prefix(2);
    return !begin.empty() && (begin[0] == '-' || (begin[0] >= '0' && begin[0] <= '9'));
}

// The size at the start of `text`: "2.00 GiB". False: there is none.
bool parse_size(std::string_view text, Bytes& size) {
    double number = 0;
    const auto [end, code] = read_real(text.data(), text.data() + text.size(), number);
    if (code != std::errc() || !(number >= 0 && number < 1e9))
        return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    const double unit = text.starts_with(" GiB")     ? 1073741824.0
                        : text.starts_with(" MiB")   ? 1048576.0
                        : text.starts_with(" KiB")   ? 1024.0
                        : text.starts_with(" bytes") ? 1.0
                                                     : 0.0;
    size = static_cast<Bytes>(std::llround(number * unit));
    return unit > 0;
}

std::size_t begin_of_number(std::string_view text, std::size_t unit_end) {
    const std::size_t space = text.rfind(' ', unit_end);
    const std::size_t before = space == text.npos ? text.npos : text.rfind(' ', space - 1);
    return before == text.npos ? 0 : before + 1;
}

// The size before `phrase`, in "79.15 GiB is free", or "" behind it.
std::optional<Bytes> size_before(std::string_view message, std::string_view phrase) {
    const std::size_t at = message.find(phrase);
    Bytes size = 0;
    if (at == message.npos || at < 4)
        return {};
    const std::size_t begin = begin_of_number(message, at - 1);
    return parse_size(message.substr(begin), size) ? std::optional(size) : std::nullopt;
}

std::optional<Bytes> size_after(std::string_view message, std::string_view phrase) {
    const std::size_t at = message.find(phrase);
    Bytes size = 0;
    if (at == message.npos || !parse_size(message.substr(at + phrase.size()), size))
        return {};
    return size;
}

std::optional<Bytes> either(std::optional<Bytes> one, std::optional<Bytes> other) {
    return one ? one : other;
}

}  // namespace

// Since 2.1: "GPU 0 has a total capacity of 79.15 GiB of which 1.50 GiB is free. ... Of the
// allocated memory 75.00 GiB is allocated by PyTorch, and 1.20 GiB is reserved by PyTorch but
// unallocated." Before: "(GPU 0; 7.93 GiB total capacity; 6.54 GiB already allocated; 12.31 MiB
// free; 6.60 GiB reserved in total by PyTorch)".
std::string out_of_memory_sentence(std::string_view text) {
    const std::size_t begin = text.rfind(kLackOfMemory);
    if (begin == text.npos)
        return {};
    constexpr std::size_t kMessageMax = 2048;
    const std::string_view message = text.substr(begin, kMessageMax);
    Bytes requested = 0;
    if (!parse_size(message.substr(kLackOfMemory.size()), requested))
        return {};
    const auto allocated = either(size_before(message, " is allocated by PyTorch"),
                                  size_before(message, " already allocated"));
    const auto total =
        either(size_after(message, "total capacity of "), size_before(message, " total capacity"));
    const auto free = either(size_before(message, " is free"), size_before(message, " free;"));
    auto unused = size_before(message, " is reserved by PyTorch but unallocated");
    if (const auto reserved = size_before(message, " reserved in total by PyTorch");
        reserved && allocated && *reserved >= *allocated)
        unused = *reserved - *allocated;

    std::string sentence = fmt::format("{} requested", format_bytes(requested));
    if (allocated)
        sentence += fmt::format(", {} allocated", format_bytes(*allocated));
    if (unused)
        sentence += fmt::format(", {} reserved and unused", format_bytes(*unused));
    if (free)
        sentence += fmt::format(", {} free", format_bytes(*free));
    if (free && total)
        sentence += fmt::format(" of {}", format_bytes(*total));
    if (unused && free && *unused + *free < requested)
        sentence += fmt::format(
            ". Even in one piece, the free memory is {} too small: no allocator setting alone "
            "would have helped",
            format_bytes(requested - *unused - *free));
    else if (unused && free)
        sentence +=
            ". Unused and free memory together were enough: only a recording can show whether "
            "another setting would have helped";
    return sentence;
}

std::optional<Error> explain_foreign_file(const std::string& name, std::string_view begin) {
    for (const Foreign& known : kForeign) {
        const bool named = known.ending.empty() || name.ends_with(known.ending);
        const bool marked = known.mark.empty() || begin.find(known.mark) != begin.npos;
        if (named && marked)
            return Error{ErrorCode::unsupported, "is " + std::string(known.what), name,
                         std::string(known.hint)};
    }
    if (is_timeline(begin))
        return Error{ErrorCode::unsupported,
                     "is a memory timeline of torch.profiler: totals over time, no allocations",
                     name, std::string(kRecordPyTorch)};
    if (const std::string sentence = out_of_memory_sentence(begin); !sentence.empty())
        return Error{
            ErrorCode::unsupported,
            "is not a recording, but contains the message of an out-of-memory error: " + sentence,
            name, std::string(kRecordPyTorch)};
    return {};
}

}  // namespace tidemark
