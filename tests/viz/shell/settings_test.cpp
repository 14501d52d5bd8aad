// Settings: kept for the next window, and nobody else's are lost.
#include "viz/shell/settings.h"

#include <filesystem>

#include <catch2/catch.hpp>

#include "tests/support/test_folder.h"
#include "tests/viz/shell/sample_session.h"

namespace tidemark::viz {

using support::TestFolder;

TEST_CASE("settings are read as they were written", "[viz][settings]") {
    ViewSettings settings;
    settings.dark = false;
    settings.colour_by = ColourBy::age;
    settings.stacks = {false, "torch transformers/ = x", true};
    const auto read = parse_settings(settings_text(settings));
    REQUIRE(read);
    CHECK(*read == settings);
    CHECK(*parse_settings("") == ViewSettings{});
    CHECK(*parse_settings("# mine\n\n theme=light \r\n") != ViewSettings{});
}

TEST_CASE("a wrong line of settings is named", "[viz][settings]") {
    for (const auto& [text, what] :
         {std::pair{"theme = pink", "line 1: 'theme' can't be 'pink'"},
          {"theme = dark\nsize = 3", "line 2: there is no setting 'size'"},
          {"\ndark", "line 2: is not 'name = value'"},
          {"stacks.fold = yes", "line 1: 'stacks.fold' can't be 'yes'"}}) {
        const auto read = parse_settings(text);
        REQUIRE_FALSE(read);
        CHECK(read.error().what == what);
    }
}

TEST_CASE("what a user changes is there in the next window", "[viz][settings]") {
    const TestFolder folder;
    const std::string path = folder.file("tidemark/view.conf");
    SampleSession sample;
    {
        Screen screen(sample.session);
        const ViewSettings before = settings_of(screen.shell);
        CHECK(before == *read_settings(path));
        screen.press({"t", "c"});
        REQUIRE(keep_settings(path, before, settings_of(screen.shell)));
    }
    Screen screen(sample.session);
    apply(*read_settings(path), screen.shell);
    CHECK_FALSE(screen.shell.state().dark);
    CHECK(screen.shell.selection().colour_by == ColourBy::stream);
}

TEST_CASE("two windows keep each other's settings", "[viz][settings]") {
    const TestFolder folder;
    const std::string path = folder.file("view.conf");
    ViewSettings light;
    light.dark = false;
    ViewSettings inverted;
    inverted.stacks.inverted = true;
    REQUIRE(keep_settings(path, {}, light));
    REQUIRE(keep_settings(path, {}, inverted));
    CHECK_FALSE(read_settings(path)->dark);
    CHECK(read_settings(path)->stacks.inverted);
}

TEST_CASE("a broken file of settings stays as it is", "[viz][settings]") {
    const TestFolder folder;
    const std::string path = folder.write("view.conf", "future = 1\n");
    CHECK_FALSE(read_settings(path));
    ViewSettings light;
    light.dark = false;
    CHECK_FALSE(keep_settings(path, {}, light));
    CHECK(folder.read("view.conf") == "future = 1\n");
}

}  // namespace tidemark::viz
