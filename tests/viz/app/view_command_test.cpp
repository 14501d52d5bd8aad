// What tidemark-view says to the words of its command line.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>
#include <unistd.h>

#include "tests/viz/app/processes.h"
#include "viz/headless/png.h"
#include "viz/views/view.h"

namespace tidemark::viz {
namespace {

using support::Ended;

constexpr const char* kStreams = TIDEMARK_SOURCE_DIR "/traces/samples/torch/multistream.pickle.xz";

Ended view(std::vector<std::string> arguments, const support::Environment& environment = {}) {
    arguments.insert(arguments.begin(), TIDEMARK_VIEW_PROGRAM);
    return support::run_program(arguments, environment);
}

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

std::string temporary(const std::string& name) {
    return std::filesystem::temp_directory_path() / (std::to_string(::getpid()) + name);
}

}  // namespace

TEST_CASE("help lists every view and says nothing about options of our own tests") {
    CHECK(std::ranges::count(view({"--help"}).out, '\n') <= 40);
    const Ended ended = view({"--help-all"});
    CHECK(ended.code == 0);
    CHECK(ended.err == "");
    for (const ViewInfo& info : all_views())
        CHECK(has(ended.out, info.name));
    CHECK(has(ended.out, "Examples:"));
    CHECK_FALSE(has(ended.out, "--state-to"));
    CHECK(has(view({"--version"}).out, "tidemark-view "));
}

TEST_CASE("wrong words end with what is wrong, where, and what would be right") {
    const auto refused = [](const std::vector<std::string>& arguments, std::string_view where,
                            std::string_view cure) {
        const Ended ended = view(arguments);
        INFO(ended.err);
        CHECK(ended.code == 2);
        CHECK(ended.out.empty());
        CHECK(has(ended.err, where));
        CHECK(has(ended.err, cure));
    };
    refused({"--polcy", "torch"}, "--polcy", "did you mean --policy?");
    refused({kStreams, "--size", "10x10"}, "--size", "1600x900");
    refused({kStreams, "--size", "wide"}, "--size", "1600x900");
    refused({kStreams, "--size", "99999x600"}, "--size", "1600x900");
    refused({kStreams, "--scale", "9"}, "--scale", "0.75 to 3");
    refused({kStreams, "--theme", "blue"}, "--theme", "dark, light");
    refused({kStreams, "--view", "adress-map"}, "--view", "did you mean address-map?");
    refused({kStreams, "--goto", "t=nonsense"}, "--goto", "");
    refused({kStreams, "--find", ">1x"}, "--find", ">=1MiB");
    refused({kStreams, "--memory", "much"}, "--memory", "");
    refused({"--png", "out.png"}, "--png", "FILE");
    refused({"--animate", "out.gif"}, "--animate", "FILE");
    refused({kStreams, "--animate", "out.avi"}, "--animate", "OUT.gif");
    refused({"--attach", "1", "--policy", "torch"}, "--attach", "recording");
}

TEST_CASE("what cannot be read, or shown, is said before anything is written") {
    const std::string bitmap = temporary("none.png");
    const Ended missing = view({"/nowhere/a.tmk", "--png", bitmap});
    CHECK(missing.code == 3);
    CHECK(has(missing.err, "/nowhere/a.tmk"));
    const Ended policy = view({kStreams, "-p", "torhc", "--png", bitmap});
    CHECK(policy.code == 2);
    CHECK(has(policy.err, "torch"));
    CHECK_FALSE(std::filesystem::exists(bitmap));
    const Ended folder = view({kStreams, "--png", "/nowhere/a.png"});
    CHECK(folder.code == 3);
    CHECK(has(folder.err, "/nowhere/a.png"));
}

TEST_CASE("without a display the error tells of pictures") {
    const Ended ended = view({kStreams}, {{"DISPLAY", ":424242"}, {"WAYLAND_DISPLAY", ""}});
    INFO(ended.err);
    CHECK(ended.code == 5);
    CHECK(has(ended.err, "--png"));
}

TEST_CASE("without GLFW the error says what to install, and pictures are drawn all the same") {
    const std::string folder = temporary("no-glfw");
    const std::string bitmap = temporary("no-glfw.png");
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/libglfw.so.3") << "no library";
    const support::Environment broken{{"LD_LIBRARY_PATH", folder}};
    const Ended ended = view({kStreams}, broken);
    INFO(ended.err);
    CHECK(ended.code == 5);
    CHECK(has(ended.err, "libglfw.so.3"));
    CHECK(has(ended.err, "libglfw3 and libgl1"));
    CHECK(has(ended.err, "--png"));
    CHECK(view({kStreams, "--png", bitmap}, broken).code == 0);
    std::filesystem::remove_all(folder);
    std::filesystem::remove(bitmap);
}

TEST_CASE("a picture has the size that was asked for and the same pixels every time") {
    const std::string one = temporary("one.png");
    const std::string two = temporary("two.png");
    for (const std::string& path : {one, two}) {
        const Ended ended = view({kStreams, "--png", path, "--size", "900x600", "--theme", "light",
                                  "--scale", "1", "--goto", "peak"});
        INFO(ended.err);
        REQUIRE(ended.code == 0);
    }
    const Result<Bitmap> first = read_png(one);
    const Result<Bitmap> second = read_png(two);
    REQUIRE(first);
    REQUIRE(second);
    CHECK(first->width == 900);
    CHECK(first->height == 600);
    CHECK(first->pixels == second->pixels);
    CHECK(first->pixels[0] == light_theme().panel);
    std::filesystem::remove(one);
    std::filesystem::remove(two);
}

}  // namespace tidemark::viz
