// The shared values.
#include "replay/report/json_values.h"

#include <fmt/format.h>

namespace tidemark::report {

std::string text_of(const Json& json) {
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string hash_text(std::uint64_t hash) {
    return fmt::format("{:016x}", hash);
}

Json provenance_of(const Provenance& provenance) {
    return {{"version", provenance.version}, {"command", provenance.command}};
}

Json usage_of(const Usage& usage) {
    return {{"reserved_bytes", usage.reserved},
            {"allocated_bytes", usage.allocated},
            {"active_bytes", usage.active},
            {"mapped_bytes", usage.mapped}};
}

}  // namespace tidemark::report
