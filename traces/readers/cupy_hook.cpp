// cupy-hook: the output of CuPy's memory_hooks.DebugPrintHook, one JSON object per line:
//
//   {"hook":"malloc","device_id":0,"size":900,"mem_size":1024,"mem_ptr":140000000000000,...}
//   {"hook":"free","device_id":0,"mem_size":1024,"mem_ptr":140000000000000,...}
//
// "alloc" is what the pool reserved from the driver; the program's requests are malloc and free.
// There are no times.
#include <string_view>

#include <nlohmann/json.hpp>

#include "traces/readers/allocation_lines.h"
#include "traces/readers/format.h"

namespace tidemark::formats {
namespace {

constexpr std::uint64_t kCupyDevicesMax = 256;

LineMeaning parse_hook_line(const nlohmann::json& line, AddressEvent& event) {
    const std::string hook = line.value("hook", nlohmann::json()).is_string()
                                 ? line["hook"].get<std::string>()
                                 : std::string();
    if (hook == "alloc")
        return LineMeaning::nothing;
    std::uint64_t device = 0;
    take_whole_number(line, "device_id", device);
    const bool is_free = hook == "free";
    event.kind = is_free ? EventKind::free : EventKind::allocate;
    event.device = static_cast<std::uint16_t>(device % kCupyDevicesMax);
    const bool whole = take_whole_number(line, "mem_ptr", event.address) &&
                       take_whole_number(line, is_free ? "mem_size" : "size", event.size) &&
                       device < kCupyDevicesMax && (is_free || hook == "malloc");
    return whole ? LineMeaning::event : LineMeaning::malformed;
}

bool recognises_hook_lines(std::span<const std::byte> head) {
    const std::string_view line = first_line(head);
    return line.starts_with('{') && line.find("\"hook\"") != std::string_view::npos &&
           line.find("\"mem_ptr\"") != std::string_view::npos;
}

Result<TraceInfo> read_hook_lines(ByteSource& source, TraceSink& sink, const ReadOptions& options) {
    TraceInfo info;
    info.format = "cupy-hook";
    info.source = "CuPy's DebugPrintHook";
    return read_allocation_lines(source, sink, options, std::move(info), parse_hook_line);
}

}  // namespace

FormatInfo cupy_hook() {
    return {"cupy-hook", "lines of CuPy's DebugPrintHook", recognises_hook_lines, read_hook_lines};
}

}  // namespace tidemark::formats
