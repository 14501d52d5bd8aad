// Notes: what a file of them may hold, how two lists become one, and that nobody's are lost.
#include <filesystem>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

#include "core/base/random.h"
#include "tests/support/property.h"
#include "tests/support/test_folder.h"
#include "traces/notes/note.h"
#include "traces/notes/notes_file.h"
#include "traces/notes/notes_json.h"

namespace tidemark {
namespace {

using support::TestFolder;

// A note of a few ids, so that lists meet.
Note random_note(Random& random) {
    Note note;
    note.id = std::string(31, '0') + static_cast<char>('0' + random.below(8));
    note.revision = 1 + random.below(4);
    note.removed = random.below(4) == 0;
    if (note.removed)
        return note;
    note.name = std::string("a \"name\", \xc3\xa4\n") + static_cast<char>('a' + random.below(3));
    note.text = random.below(2) == 0 ? "" : "why\t\\";
    note.axis = random.below(2) == 0 ? NoteAxis::time : NoteAxis::events;
    note.begin = static_cast<std::int64_t>(random.below(1000));
    if (random.below(2) == 0)
        note.end = note.begin + 1 + static_cast<std::int64_t>(random.below(1000));
    if (random.below(2) == 0)
        note.block = random.below(100);
    note.trace_hash = random.below(2) == 0 ? 0 : ~std::uint64_t{random.below(100)};
    return note;
}

std::vector<Note> random_notes(Random& random) {
    std::vector<Note> notes;
    for (std::uint64_t i = random.below(8); i > 0; --i)
        notes.push_back(random_note(random));
    return notes;
}

Note named(std::string name, char id) {
    Note note;
    note.id = std::string(32, id);
    note.name = std::move(name);
    return note;
}

std::string file_with(std::string_view notes) {
    return R"({"format": "tidemark-notes", "version": 1, "trace": "x", "notes": [)" +
           std::string(notes) + "]}";
}

constexpr std::string_view kGood =
    R"({"id": "00000000000000000000000000000001", "revision": 1, "unit": "ns", "begin": 5)";

}  // namespace

TEST_CASE("notes merge the same in whatever order, as often as one likes", "[notes]") {
    CHECK(support::counterexample(support::effort(300), [] {
              Random random(*rc::gen::arbitrary<std::uint64_t>());
              const auto a = random_notes(random);
              const auto b = random_notes(random);
              const auto c = random_notes(random);
              RC_ASSERT(merged_notes(a, b) == merged_notes(b, a));
              RC_ASSERT(merged_notes(merged_notes(a, b), c) == merged_notes(a, merged_notes(b, c)));
              const auto all = merged_notes(a, b);
              RC_ASSERT(merged_notes(all, all) == all);
              RC_ASSERT(merged_notes(all, a) == all);
          }) == "");
}

TEST_CASE("notes are read as they were written", "[notes]") {
    CHECK(support::counterexample(support::effort(300), [] {
              Random random(*rc::gen::arbitrary<std::uint64_t>());
              const auto notes = merged_notes(random_notes(random), {});
              const auto read = parse_notes(notes_text(notes, "run.tmk"));
              RC_ASSERT(read.has_value());
              RC_ASSERT(*read == notes);
          }) == "");
}

TEST_CASE("what is no file of notes is refused with what is wrong", "[notes]") {
    const auto what = [](const std::string& text) {
        const auto read = parse_notes(text);
        return read ? std::string("fine") : read.error().what;
    };
    CHECK(what(file_with("")) == "fine");
    CHECK(what(file_with(std::string(kGood) + "}")) == "fine");
    CHECK(what("") == "is no JSON");
    CHECK(what(file_with("").substr(0, 60)) == "is no JSON");
    CHECK(what("[]") == "is no JSON object");
    CHECK(what("{}") == "is no file of bookmarks");
    CHECK(what(R"({"format": "tidemark-notes", "version": 2})") == "is of version 2");
    CHECK(what(R"({"format": "tidemark-notes", "version": 1, "more": 1})") ==
          "the file has an entry 'more' that version 1 doesn't have");
    CHECK(what(file_with(std::string(kGood) + R"(, "colour": 1})")) ==
          "a note has an entry 'colour' that version 1 doesn't have");
    CHECK(what(file_with(std::string(kGood) + R"(, "end": 5})")) == "a note ends before it begins");
    CHECK(what(file_with(std::string(kGood) + R"(, "end": 5.5})")) ==
          "'end' is no whole number of at most 63 bits");
    CHECK(what(file_with(std::string(kGood) + R"(, "block": 9223372036854775808})")) ==
          "'block' is no whole number of at most 63 bits");
    CHECK(what(file_with(std::string(kGood) + R"(, "name": ")" + std::string(201, 'x') + "\"}")) ==
          "'name' is longer than 200 bytes");
    CHECK(what(file_with(R"({"id": "x"})")) == "a note's 'id' is no 32 hexadecimal digits");
    CHECK(what(std::string(1000, '[')) == "nests deeper than bookmarks do");
}

TEST_CASE("two programs that write the same file lose nobody's notes", "[notes]") {
    const TestFolder folder;
    const std::string path = notes_path(folder.file("run.tmk"));
    CHECK(path == folder.file("run.tmk.notes.json"));
    CHECK(read_notes(path)->empty());
    constexpr char kFirst = 'a';
    constexpr int kWriters = 4;
    std::vector<std::thread> writers;
    for (int i = 0; i < kWriters; ++i)
        writers.emplace_back([&path, i] {
            Note mine = named("mine", static_cast<char>(kFirst + i));
            for (int revision = 1; revision <= 5; ++revision) {
                mine.revision = static_cast<std::uint64_t>(revision);
                static_cast<void>(merge_into_notes_file(path, {mine}));
            }
        });
    for (std::thread& writer : writers)
        writer.join();
    const auto notes = read_notes(path);
    REQUIRE(notes);
    REQUIRE(notes->size() == kWriters);
    for (const Note& note : *notes)
        CHECK(note.revision == 5);
    CHECK(folder.entries() == 1);  // no lock, nothing temporary
}

TEST_CASE("a removed note stays removed when an older list is merged in", "[notes]") {
    const TestFolder folder;
    const std::string path = notes_path(folder.file("run.tmk"));
    const Note note = named("gone", 'a');
    REQUIRE(merge_into_notes_file(path, {note}));
    REQUIRE(merge_into_notes_file(path, {{.id = note.id, .revision = 2, .removed = true}}));
    const auto merged = merge_into_notes_file(path, {note});
    REQUIRE(merged);
    REQUIRE(merged->size() == 1);
    CHECK(merged->front().removed);
}

TEST_CASE("a file that can't be understood is left as it is", "[notes]") {
    for (const std::string_view content :
         {"no JSON", R"({"format": "tidemark-notes", "version": 7, "future": true})"}) {
        const TestFolder folder;
        const std::string path = folder.write("run.tmk.notes.json", std::string(content));
        CHECK_FALSE(read_notes(path));
        const auto merged = merge_into_notes_file(path, {named("new", 'a')});
        REQUIRE_FALSE(merged);
        CHECK(merged.error().where == path);
        CHECK(folder.read("run.tmk.notes.json") == content);
        CHECK(folder.entries() == 1);
    }
}

TEST_CASE("what needs no change is not written", "[notes]") {
    const TestFolder folder;
    const std::string path = notes_path(folder.file("run.tmk"));
    REQUIRE(merge_into_notes_file(path, {named("a", 'a')}));
    const auto before = std::filesystem::last_write_time(path);
    const auto again = merge_into_notes_file(path, {named("a", 'a')});
    REQUIRE(again);
    CHECK(std::filesystem::last_write_time(path) == before);
    CHECK_FALSE(merge_into_notes_file(folder.file("none/run.tmk.notes.json"), {named("a", 'a')}));
    std::filesystem::create_directory(folder.file("dir.notes.json"));
    CHECK_FALSE(read_notes(folder.file("dir.notes.json")));
}

}  // namespace tidemark
