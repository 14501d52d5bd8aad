// Knowing one's own files by their first bytes.
#include "replay/cli_support/own_file.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <span>

#include "traces/io/output_file.h"
#include "traces/tmk/tmk.h"

namespace tidemark {
namespace {

constexpr std::size_t kHead = 4096;

// A format's first bytes, and what only our files of it have soon after.
struct Mark {
    std::string_view begin;
    std::string_view within;
};

using namespace std::string_view_literals;
constexpr std::array<Mark, 12> kMarks{{
    {"\x89PNG"sv, "Software\0tidemark"sv},
    {"<!DOCTYPE html>"sv, "<meta name=\"generator\" content=\"Tidemark "sv},
    {"<svg "sv, "<!-- tidemark "sv},
    {"{"sv, "\"tidemark"sv},  // a key of ours, or "format": "tidemark-..."
    {"{"sv, "\"command\": \"tidemark"sv},
    {"{"sv, "\"stop_at_out_of_memory\""sv},  // a run, as a baseline
    {"<?xml"sv, "<!-- tidemark "sv},
    {R"({"type":"header","version":1,"unit":"ns","source":")"sv, R"(,"devices":[{"name":")"sv},
    {"\x80\x02"sv, "tidemark"sv},                                     // a pickle
    {"block,size_bytes,requested_bytes,address,"sv, "born_event"sv},  // tables of the viewer
    {"event,time_ns,what,block,"sv, "allocated_at"sv},
    {"\x89TML\r\n"sv, ".live"sv},  // a recording names its program's shared file
}};

// "12 0 malloc 2097152 -> p1": the first line of --decisions.
bool begins_with_decision(std::string_view head) {
    for (int numbers = 0; numbers < 2; ++numbers) {
        const std::size_t digits = std::min(head.find_first_not_of("0123456789"), head.size());
        if (digits == 0 || digits == head.size() || head[digits] != ' ')
            return false;
        head.remove_prefix(digits + 1);
    }
    const std::string_view line = head.substr(0, head.find('\n'));
    return line.find(" -> ") != std::string_view::npos ||
           line.find(" grant ") != std::string_view::npos;
}

}  // namespace

bool is_own_content(std::string_view head) {
    head = head.substr(0, kHead);
    if (is_tmk(std::as_bytes(std::span(head))) || begins_with_decision(head))
        return true;
    return std::ranges::any_of(kMarks, [head](const Mark& mark) {
        return head.starts_with(mark.begin) && head.find(mark.within) != std::string_view::npos;
    });
}

Result<void> check_target(const std::string& target, bool force) {
    if (target.empty())
        return {};
    TM_TRY(OutputFile::check(target));
    std::error_code error;
    if (force || target == "-" || !std::filesystem::is_regular_file(target, error))
        return {};
    std::ifstream file(target, std::ios::binary);
    std::string head(kHead, '\0');
    file.read(head.data(), static_cast<std::streamsize>(head.size()));
    head.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
    if (head.empty() ? std::filesystem::file_size(target, error) == 0 : is_own_content(head))
        return {};
    return fail(ErrorCode::bad_option, "exists, and nothing in it says that Tidemark wrote it",
                target, "choose another name, or write over it with --force");
}

}  // namespace tidemark
