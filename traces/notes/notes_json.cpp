// Reading and writing notes with nlohmann's tree: they are few.
#include "traces/notes/notes_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "traces/io/json_depth.h"

namespace tidemark {
namespace {

using Json = nlohmann::ordered_json;  // keys in the order of assignment

constexpr std::string_view kFormat = "tidemark-notes";
constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kDeepest = 8;
constexpr std::size_t kIdLength = 32;

tl::unexpected<Error> bad(std::string what) {
    return fail(ErrorCode::bad_input, std::move(what), {}, "see docs/format-notes.md");
}

// A list of keys, all of which an object may have.
Result<void> check_keys(const Json& object, std::span<const std::string_view> known,
                        std::string_view where) {
    for (const auto& [key, value] : object.items())
        if (std::ranges::find(known, key) == known.end())
            return bad(fmt::format("{} has an entry '{}' that version 1 doesn't have", where,
                                   key.substr(0, 40)));
    return {};
}

template <class Number>
Result<std::optional<Number>> number_in(const Json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end())
        return std::optional<Number>{};
    if (!found->is_number_unsigned() ||
        found->get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
        return bad(fmt::format("'{}' is no whole number of at most 63 bits", key));
    return std::optional<Number>(static_cast<Number>(found->get<std::uint64_t>()));
}

Result<std::string> text_in(const Json& object, const char* key, std::size_t longest) {
    const auto found = object.find(key);
    if (found == object.end())
        return std::string();
    if (!found->is_string())
        return bad(fmt::format("'{}' is no text", key));
    const std::string& text = found->get_ref<const std::string&>();
    if (text.size() > longest)
        return bad(fmt::format("'{}' is longer than {} bytes", key, longest));
    return text;
}

bool is_hex(std::string_view text, std::size_t length) {
    return text.size() == length && std::ranges::all_of(text, [](char letter) {
               return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f');
           });
}

Result<std::uint64_t> hash_in(const Json& object) {
    TM_ASSIGN(const std::string text, text_in(object, "trace_hash", 16));
    if (text.empty())
        return 0;
    if (!is_hex(text, 16))
        return bad("'trace_hash' is no 16 hexadecimal digits");
    std::uint64_t hash = 0;
    std::from_chars(text.data(), text.data() + text.size(), hash, 16);
    return hash;
}

Result<void> read_identity(const Json& object, Note& note) {
    TM_ASSIGN(note.id, text_in(object, "id", kIdLength));
    if (!is_hex(note.id, kIdLength))
        return bad("a note's 'id' is no 32 hexadecimal digits");
    TM_ASSIGN(const auto revision, number_in<std::uint64_t>(object, "revision"));
    if (!revision || *revision == 0)
        return bad("a note has no 'revision' from 1 on");
    note.revision = *revision;
    if (const auto removed = object.find("removed"); removed != object.end()) {
        if (!removed->is_boolean())
            return bad("'removed' is neither true nor false");
        note.removed = removed->get<bool>();
    }
    return {};
}

Result<void> read_position(const Json& object, Note& note) {
    TM_ASSIGN(const std::string unit, text_in(object, "unit", kIdLength));
    if (unit != "ns" && unit != "event")
        return bad("a note's 'unit' is neither ns nor event");
    note.axis = unit == "ns" ? NoteAxis::time : NoteAxis::events;
    TM_ASSIGN(const auto begin, number_in<std::int64_t>(object, "begin"));
    if (!begin)
        return bad("a note has no 'begin'");
    note.begin = *begin;
    TM_ASSIGN(note.end, number_in<std::int64_t>(object, "end"));
    if (note.end && *note.end <= note.begin)
        return bad("a note ends before it begins");
    TM_ASSIGN(note.block, number_in<std::uint64_t>(object, "block"));
    return {};
}

Result<Note> read_note(const Json& object) {
    static constexpr std::array<std::string_view, 10> kKeys{
        "id", "revision", "removed", "name", "text", "unit", "begin", "end", "block", "trace_hash"};
    if (!object.is_object())
        return bad("a note is no object");
    TM_TRY(check_keys(object, kKeys, "a note"));
    Note note;
    TM_TRY(read_identity(object, note));
    if (note.removed)
        return note;
    TM_ASSIGN(note.name, text_in(object, "name", kLongestNoteName));
    TM_ASSIGN(note.text, text_in(object, "text", kLongestNoteText));
    TM_TRY(read_position(object, note));
    TM_ASSIGN(note.trace_hash, hash_in(object));
    return note;
}

Json json_of(const Note& note) {
    Json object;
    object["id"] = note.id;
    object["revision"] = note.revision;
    if (note.removed) {
        object["removed"] = true;
        return object;
    }
    object["name"] = note.name;
    if (!note.text.empty())
        object["text"] = note.text;
    object["unit"] = note.axis == NoteAxis::time ? "ns" : "event";
    object["begin"] = note.begin;
    if (note.end)
        object["end"] = *note.end;
    if (note.block)
        object["block"] = *note.block;
    if (note.trace_hash != 0)
        object["trace_hash"] = fmt::format("{:016x}", note.trace_hash);
    return object;
}

Result<void> check_head(const Json& file) {
    static constexpr std::array<std::string_view, 4> kKeys{"format", "version", "trace", "notes"};
    if (!file.is_object())
        return bad("is no JSON object");
    TM_ASSIGN(const std::string format, text_in(file, "format", kIdLength));
    if (format != kFormat)
        return bad("is no file of bookmarks");
    TM_ASSIGN(const auto version, number_in<std::uint64_t>(file, "version"));
    if (!version)
        return bad("has no version");
    if (*version != kVersion)
        return fail(ErrorCode::unsupported, fmt::format("is of version {}", *version), {},
                    "this Tidemark knows version 1");
    TM_TRY(check_keys(file, kKeys, "the file"));
    return {};
}

}  // namespace

Result<std::vector<Note>> parse_notes(std::string_view text) {
    if (text.size() > kLargestNotesFile)
        return bad("is larger than 16 MiB");
    if (json_depth(text) > kDeepest)
        return bad("nests deeper than bookmarks do");
    const Json file = Json::parse(text, nullptr, false);
    if (file.is_discarded())
        return bad("is no JSON");
    TM_TRY(check_head(file));
    const auto list = file.find("notes");
    if (list == file.end() || !list->is_array())
        return bad("has no list of notes");
    if (list->size() > kMostNotes)
        return bad(fmt::format("has more than {} notes", kMostNotes));
    std::vector<Note> notes;
    for (const Json& object : *list) {
        TM_ASSIGN(Note note, read_note(object));
        notes.push_back(std::move(note));
    }
    return merged_notes(std::move(notes), {});
}

std::string notes_text(std::span<const Note> notes, std::string_view trace) {
    Json file;
    file["format"] = kFormat;
    file["version"] = kVersion;
    file["trace"] = trace;
    file["notes"] = Json::array();
    for (const Note& note : notes)
        file["notes"].push_back(json_of(note));
    return file.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tidemark
