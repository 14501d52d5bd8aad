// The catalogue of writers: every line of writers.inc, and finding one.
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "traces/writers/writer.h"

namespace tidemark {

namespace writers {
#define TIDEMARK_WRITER(name) WriterInfo name();
#include "traces/writers/writers.inc"
#undef TIDEMARK_WRITER
}  // namespace writers

std::span<const WriterInfo> all_writers() {
    static const std::array kWriters{
#define TIDEMARK_WRITER(name) writers::name(),
#include "traces/writers/writers.inc"
#undef TIDEMARK_WRITER
    };
    return kWriters;
}

Result<const WriterInfo*> find_writer(std::string_view name_or_path) {
    std::vector<std::string> known;
    for (const WriterInfo& writer : all_writers()) {
        if (name_or_path == writer.name || name_or_path.ends_with(writer.extension))
            return &writer;
        known.push_back(fmt::format("{} ({})", writer.name, writer.extension));
    }
    return fail(ErrorCode::bad_option, fmt::format("no writer for '{}'", name_or_path), {},
                fmt::format("one of: {}", fmt::join(known, ", ")));
}

}  // namespace tidemark
