// tidemark report as a user meets it, and its page in a real browser where there is one.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/command_line.h"

namespace tidemark {
namespace {

using namespace support;
using Json = nlohmann::json;

std::string output_of(const std::string& command) {
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    std::string text;
    std::array<char, 4096> part{};
    while (pipe && std::fgets(part.data(), part.size(), pipe.get()) != nullptr)
        text += part.data();
    return text;
}

std::string browser() {
    for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
        std::string path = output_of(std::string("command -v ") + name);
        while (!path.empty() && path.back() == '\n')
            path.pop_back();
        if (!path.empty())
            return path;
    }
    return {};
}

// What the page says of itself after the commands of its self-test (page/start.js).
Json state_after(const std::string& browser, const Folder& folder, const std::string& commands,
                 int width = 1200) {
    const std::string page =
        output_of("'" + browser + "' --headless --no-sandbox --disable-gpu --window-size=" +
                  std::to_string(width) + ",900 " + "--virtual-time-budget=8000 --user-data-dir='" +
                  (folder / "profile") + "' --dump-dom " + "'file://" + (folder / "page.html") +
                  "#self-test=" + commands + "' 2>/dev/null");
    INFO(commands << ": " << page.substr(0, 300));
    CHECK_FALSE(contains(page.substr(0, 4000), "data-failed"));
    REQUIRE(contains(page, "data-drawn=\"4\""));
    std::size_t begin = page.find("data-state=\"");
    REQUIRE(begin != std::string::npos);
    begin += std::string("data-state=\"").size();
    std::string text = page.substr(begin, page.find('"', begin) - begin);
    for (std::size_t at = 0; (at = text.find("&quot;", at)) != std::string::npos;)
        text.replace(at, 6, "\"");
    return Json::parse(text);
}

double length(const Json& state) {
    return state["end"].get<double>() - state["begin"].get<double>();
}

}  // namespace

TEST_CASE("report writes a page, and says what it wrote", "[report]") {
    const Folder folder;
    const Json said = tidemark_json({"report", kSample, "-p", "torch", "-p", "buddy", "--no-advise",
                                     "--title", "two runs", "-o", folder / "page.html"});
    const std::string page = read_file(folder / "page.html");
    CHECK(said["bytes"] == page.size());
    CHECK(said["title"] == "two runs");
    CHECK(said["runs"].size() == 2);
    CHECK(contains(page, "<title>two runs</title>"));
    CHECK(contains(page, "better"));
    CHECK(folder.names() == std::vector<std::string>{"page.html"});
}

TEST_CASE("report goes to standard output as well, the same each time", "[report]") {
    const Said once = tidemark({"report", kSample, "--no-advise", "-o", "-"});
    const Said again = tidemark({"report", kSample, "--no-advise", "-o", "-"});
    CHECK(once.code == 0);
    CHECK(once.err.empty());
    CHECK(once.out.starts_with("<!DOCTYPE html>"));
    CHECK(once.out == again.out);
}

TEST_CASE("report says the same in words", "[report]") {
    const Said said = tidemark({"report", kSample, "-p", "torch", "-p", "buddy", "--text"});
    CHECK(said.code == 0);
    CHECK(contains(said.out, "peaked at 8.30 GiB"));
    CHECK(contains(said.out, "peak reserved: 10.5 GiB, 2.23 GiB more (+26.9 %)"));
    CHECK(contains(said.out, "PYTORCH_ALLOC_CONF"));
    CHECK(contains(said.out, "In tenths of the run"));
}

TEST_CASE("report says of two traces in a sentence which peaks lower", "[report]") {
    const std::string other = std::string(kSample).replace(
        std::string(kSample).find("gpt2_var"), std::string_view("gpt2_var").size(), "gpt2_var-exp");
    const Said said = tidemark({"report", kSample, other, "--no-advise", "--text"});
    CHECK(said.code == 0);
    CHECK(contains(said.out,
                   "gpt2_var-exp.pickle.xz peaks 1.71 GiB lower than gpt2_var.pickle.xz (-20.6 %): "
                   "6.59 GiB reserved against 8.30 GiB"));
    CHECK(contains(said.out, "peak reserved: 6.59 GiB, 1.71 GiB less (-20.6 %)"));
}

TEST_CASE("report refuses what it cannot do before it reads a file", "[report]") {
    CHECK(tidemark({"report", "no such file"}).code == 2);
    CHECK(tidemark({"report", "no such file", "-o", "x", "--text"}).code == 2);
    CHECK(tidemark({"report", "no such file", "-o", "x", "-p", "tortch"}).code == 2);
    CHECK(tidemark({"report", "no such file", "-o", "x"}).code == 3);
}

TEST_CASE("a curve ends with its run, and no name makes the page wider than a small screen",
          "[report][browser]") {
    const std::string program = browser();
    if (program.empty()) {
        WARN("no chromium here: the page was not opened");
        return;
    }
    const Folder folder;
    const std::string longer = TIDEMARK_SOURCE_DIR "/traces/samples/torch/gpt2_var.pickle.xz";
    const std::string shorter = TIDEMARK_SOURCE_DIR "/traces/samples/torch/multistream.pickle.xz";
    REQUIRE(tidemark({"report", shorter, longer, "-o", folder / "page.html"}).code == 0);
    const Json state = state_after(program, folder, "move:0.9", 400);
    CHECK(contains(state["tip"], "Allocated: ended"));
    const auto has = [](const Json& colours, const Json& colour) {
        return std::ranges::find(colours, colour) != colours.end();
    };
    CHECK(has(state["columns"]["early"], state["allocated"]));
    CHECK_FALSE(has(state["columns"]["late"], state["allocated"]));
    CHECK(state["wider"] == 0);
    const Json other = state_after(program, folder, "run:1,move:0.9");
    CHECK_FALSE(contains(other["tip"], "ended"));
    CHECK(has(other["columns"]["late"], other["allocated"]));
}

TEST_CASE("a browser draws the page and moves in it", "[report][browser]") {
    const std::string program = browser();
    if (program.empty()) {
        WARN("no chromium here: the page was not opened");
        return;
    }
    const Folder folder;
    REQUIRE(tidemark({"report", kSample, "-p", "torch", "-p", "buddy", "--no-advise", "-o",
                      folder / "page.html"})
                .code == 0);
    const Json whole = state_after(program, folder, "move:0.5");
    CHECK(whole["begin"] == 0);
    CHECK(whole["end"] == whole["extent"]);
    CHECK(whole["unit"] == "time");
    CHECK(whole["colours"]["chart"].get<int>() > 4);
    CHECK(whole["colours"]["map"].get<int>() > 10);
    CHECK(whole["peaks"][0].get<double>() == 8908701696.0);  // as `replay` says
    CHECK(contains(whole["tip"], "Reserved: "));

    // Two runs of a trace stand side by side, at the moment of the slider.
    const Json begun = state_after(program, folder, "slide:0");
    const Json ended = state_after(program, folder, "slide:1");
    CHECK(begun["columns"]["pair"].size() < 5);  // nothing is drawn yet
    CHECK(ended["columns"]["pair"].size() > begun["columns"]["pair"].size() + 2);
    CHECK(contains(begun["pair"], "both reserve the same"));
    CHECK(contains(ended["pair"], "buddy reserves "));

    // The wheel leaves what is under the pointer where it is.
    const Json zoomed = state_after(program, folder, "wheel:0.25:-240,wheel:0.25:-240");
    CHECK(length(zoomed) < 0.6 * length(whole));
    const double kept = zoomed["begin"].get<double>() + 0.25 * length(zoomed);
    CHECK(kept == Approx(0.25 * length(whole)).epsilon(0.01));

    const Json dragged = state_after(program, folder, "pick:0.2:0.4,drag:0.75:0.25");
    CHECK(length(dragged) == Approx(0.2 * length(whole)).epsilon(0.01));
    CHECK(dragged["begin"].get<double>() == Approx(0.3 * length(whole)).epsilon(0.02));

    const Json other = state_after(
        program, folder, "click:by-events,run:1,legend:0,key:g,key:ArrowLeft,key:Home,pinch");
    CHECK(other["unit"] == "events");
    CHECK(other["extent"] == 18359);
    CHECK(other["run"] == 1);
    CHECK(other["hidden"] == Json::array({"reserved"}));
    CHECK(length(other) == Approx(18359 / 2.0).epsilon(0.02));
}

}  // namespace tidemark
