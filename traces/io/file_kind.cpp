// Marks of file formats, and where they are.
#include "traces/io/file_kind.h"

#include <algorithm>

namespace tidemark {
namespace {

using namespace std::string_view_literals;

bool begins_with(std::string_view head, const std::array<unsigned char, 8>& magic) {
    return head.size() >= magic.size() &&
           std::ranges::equal(head.substr(0, magic.size()), magic,
                              [](char found, unsigned char it) {
                                  return static_cast<unsigned char>(found) == it;
                              });
}

bool has(std::string_view head, std::string_view mark) {
    return head.find(mark) != std::string_view::npos;
}

std::string_view without_blanks(std::string_view text) {
    return text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
}

// The text from the value of this member on, of the JSON object at the start of `head`. Empty if
// the object itself has no such member here: the same word in texts and in objects inside it
// doesn't count.
std::string_view member_of(std::string_view head, std::string_view name) {
    int depth = 0;
    for (std::size_t i = 0; i < head.size(); ++i) {
        const char sign = head[i];
        if (i == 0 && sign != '{')
            return {};
        if (sign == '{' || sign == '[')
            ++depth;
        else if ((sign == '}' || sign == ']') && --depth == 0)
            return {};
        if (sign != '"')
            continue;
        const std::size_t begin = i + 1;
        for (i = begin; i < head.size() && head[i] != '"'; ++i)
            i += head[i] == '\\' ? std::size_t{1} : 0;
        if (i >= head.size())
            return {};
        const std::string_view rest = without_blanks(head.substr(i + 1));
        if (depth == 1 && head.substr(begin, i - begin) == name && rest.starts_with(':'))
            return without_blanks(rest.substr(1));
    }
    return {};
}

bool has_format(std::string_view head, std::string_view quoted) {
    return member_of(head, "format").starts_with(quoted);
}

// A pickle of Python's protocols 2 to 5.
bool is_pickle(std::string_view head) {
    return head.size() > 1 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
}

// A pickled dump of ours names Tidemark in its first key.
bool is_own_pickle(std::string_view head) {
    constexpr std::size_t kFirstKey = 32;
    return is_pickle(head) && has(head.substr(0, kFirstKey), "tidemark");
}

bool is_recording(std::string_view head) {
    return begins_with(head, kTmkMagic) || begins_with(head, kRecordingMagic) ||
           (is_pickle(head) && !is_own_pickle(head)) ||
           head.starts_with(
               R"({"type": "header", "version": 1, "unit": "ns", "source": "tidemark.)");
}

bool is_jsonl_export(std::string_view head) {
    return head.starts_with(R"({"type":"header","version":1,"unit":"ns","source":")") &&
           has(head, R"(,"devices":[{"name":")");
}

bool is_chrome_export(std::string_view head) {
    return head.starts_with(R"({"otherData":{"tidemark":)");
}

// "12 0 malloc 2097152 -> p1": the first line of --decisions.
bool is_decisions(std::string_view head) {
    for (int numbers = 0; numbers < 2; ++numbers) {
        const std::size_t digits = std::min(head.find_first_not_of("0123456789"), head.size());
        if (digits == 0 || digits == head.size() || head[digits] != ' ')
            return false;
        head.remove_prefix(digits + 1);
    }
    const std::string_view line = head.substr(0, head.find('\n'));
    return has(line, " -> ") || has(line, " grant ");
}

bool is_state_dump(std::string_view head) {
    return is_own_pickle(head) || head.starts_with("tidemark state of ") ||
           (!member_of(head, "tidemark").empty() && !member_of(head, "command").empty() &&
            !member_of(head, "policy").empty());
}

bool is_tier_timeline(std::string_view head) {
    return has_format(head, R"("tidemark-timeline")");
}

bool is_baseline(std::string_view head) {
    return !member_of(head, "stop_at_out_of_memory").empty();
}

bool is_junit(std::string_view head) {
    return head.starts_with("<?xml") && has(head, "<!-- tidemark ");
}

bool is_sweep_lines(std::string_view head) {
    return head.starts_with(R"({"unit":")") && !member_of(head, "trace_hash").empty();
}

bool is_report(std::string_view head) {
    return head.starts_with("<!DOCTYPE html>") &&
           has(head, R"(<meta name="generator" content="Tidemark )");
}

bool is_png(std::string_view head) {
    return head.starts_with("\x89PNG") && has(head, "Software\0tidemark"sv);
}

bool is_svg(std::string_view head) {
    return head.starts_with("<svg ") && has(head, "<!-- tidemark ");
}

// Tables of the viewer.
bool is_table(std::string_view head) {
    const std::string_view titles = head.substr(0, head.find('\n'));
    return (titles.starts_with("block,size_bytes,requested_bytes,address,") &&
            has(titles, "born_event")) ||
           (titles.starts_with("event,time_ns,what,block,") && has(titles, "allocated_at"));
}

bool is_profile(std::string_view head) {
    return has_format(head, R"("tidemark-device-profile")");
}

bool is_machine(std::string_view head) {
    return has_format(head, R"("tidemark-machine")");
}

bool is_figures(std::string_view head) {
    return has_format(head, R"("tidemark-figures")");
}

bool is_settings(std::string_view head) {
    return head.starts_with("# How tidemark-view last looked");
}

bool is_state_log(std::string_view head) {
    return head.starts_with(R"({"frame": )") && has(head, R"("loading": )");
}

struct Recogniser {
    FileKind kind;
    bool (*recognises)(std::string_view head);
    std::string_view name;
};

constexpr std::array kRecognisers{
    Recogniser{FileKind::recording, is_recording, "a recording"},
    Recogniser{FileKind::jsonl_export, is_jsonl_export, "an exported trace"},
    Recogniser{FileKind::chrome_export, is_chrome_export, "a trace for Perfetto"},
    Recogniser{FileKind::decisions, is_decisions, "a list of decisions"},
    Recogniser{FileKind::tier_timeline, is_tier_timeline, "a timeline"},
    Recogniser{FileKind::state_dump, is_state_dump, "a dump of an allocator's state"},
    Recogniser{FileKind::baseline, is_baseline, "a run, as a baseline"},
    Recogniser{FileKind::junit, is_junit, "a report in JUnit's form"},
    Recogniser{FileKind::sweep_lines, is_sweep_lines, "units of a sweep"},
    Recogniser{FileKind::report, is_report, "a report"},
    Recogniser{FileKind::png, is_png, "a picture"},
    Recogniser{FileKind::svg, is_svg, "a drawing"},
    Recogniser{FileKind::table, is_table, "a table of the viewer"},
    Recogniser{FileKind::profile, is_profile, "a device's profile"},
    Recogniser{FileKind::machine, is_machine, "a machine's description"},
    Recogniser{FileKind::settings, is_settings, "the viewer's settings"},
    Recogniser{FileKind::figures, is_figures, "figures of runs"},
    Recogniser{FileKind::state_log, is_state_log, "a log of the viewer's state"},
};

}  // namespace

FileKind kind_of(std::string_view head) {
    head = head.substr(0, kKindHead);
    const auto* const found = std::ranges::find_if(
        kRecognisers, [head](const Recogniser& each) { return each.recognises(head); });
    return found == kRecognisers.end() ? FileKind::unknown : found->kind;
}

std::string_view to_text(FileKind kind) {
    const auto* const found = std::ranges::find(kRecognisers, kind, &Recogniser::kind);
    return found == kRecognisers.end() ? "another program's file" : found->name;
}

}  // namespace tidemark
