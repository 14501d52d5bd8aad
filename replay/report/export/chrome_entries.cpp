// The frame of the file.
#include "replay/report/export/chrome_entries.h"

#include <fmt/format.h>

#include "core/base/printable.h"
#include "replay/report/forms/json_values.h"

namespace tidemark::report {

std::string json_text(std::string_view text) {
    return printable_json(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace));
}

void ChromeEntries::begin(const Provenance& provenance, const Trace& trace) {
    out_.append(fmt::format(
        R"({{"otherData":{{"tidemark":{},"command":{},"trace_hash":{}}},"displayTimeUnit":"ms",)"
        R"("traceEvents":[)",
        json_text(provenance.version), json_text(provenance.command),
        json_text(hash_text(trace.recorded_hash()))));
    const auto name = [&](std::string_view what, std::size_t device, unsigned thread,
                          const std::string& text) {
        add('M', device, 0,
            fmt::format(R"(,"tid":{},"name":"{}","args":{{"name":{}}})", thread, what,
                        json_text(text)));
    };
    const std::size_t devices = trace.info().devices.size();
    for (std::size_t i = 0; i < devices; ++i) {
        const std::string& model = trace.info().devices[i].name;
        name("process_name", i, 0,
             trace.info().is_host(i)
                 ? model
                 : fmt::format("device {}{}{}", i, model.empty() ? "" : ": ", model));
        name("thread_name", i, kRangeThread, "ranges");
        name("thread_name", i, kOverlapThread, "ranges that overlap others");
    }
    if (devices > 1)
        name("process_name", devices, 0,
             trace.info().gpus() < devices ? "all GPUs" : "all devices");
}

void ChromeEntries::add_instant(std::size_t device, Nanoseconds time, std::string_view name,
                                std::string_view arguments) {
    add('i', device, time,
        fmt::format(R"(,"tid":{},"s":"p","name":{},"args":{{{}}})", kRangeThread, json_text(name),
                    arguments));
}

void ChromeEntries::add_slice(std::size_t device, Nanoseconds begin, Nanoseconds end,
                              std::string_view rest) {
    backwards_ += end < begin ? 1 : 0;
    const std::uint64_t length =
        end < begin ? 0 : static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin);
    add('X', device, begin,
        fmt::format(R"(,"dur":{}.{:03}{})", length / 1000, length % 1000, rest));
}

Result<void> ChromeEntries::end() {
    out_.append("\n]}\n");
    return out_.flush();
}

}  // namespace tidemark::report
