// tidemark report as a user meets it, and its page in a real browser where there is one.
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

// What a browser of that width measures on the page: how far it is wider than the screen, and how
// many texts of a chart touch another or leave the page. The page itself runs no script: one is put
// in.
Json measured(const std::string& browser, const Folder& folder, int width) {
    std::string page = read_file(folder / "page.html");
    const std::size_t policy = page.find("<meta http-equiv");
    REQUIRE(policy != std::string::npos);
    page.erase(policy, page.find('>', policy) + 1 - policy);
    page.replace(page.find("</body>"), 7, R"(<script>
const wider = document.documentElement.scrollWidth - innerWidth;
const result = { wider, touching: 0, outside: 0, charts: 0 };
const touch = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom - 3 &&
  b.top < a.bottom - 3;
for (const chart of document.querySelectorAll('.chart')) {
  const boxes = [...chart.querySelectorAll('text')].map(text => text.getBoundingClientRect())
    .filter(box => box.width > 0);
  if (chart.getBoundingClientRect().width > 100 && boxes.length > 4) ++result.charts;
  for (const [number, box] of boxes.entries()) {
    if (box.left < 0 || box.right > innerWidth) ++result.outside;
    result.touching += boxes.slice(number + 1).filter(other => touch(box, other)).length;
  }
}
document.documentElement.dataset.state = JSON.stringify(result);
</script></body>)");
    write_file(folder / "measured.html", page);
    const std::string answer =
        output_of("'" + browser + "' --headless --no-sandbox --disable-gpu --window-size=" +
                  std::to_string(width) + ",900 --user-data-dir='" + (folder / "profile") +
                  "' --dump-dom 'file://" + (folder / "measured.html") + "' 2>/dev/null");
    std::size_t begin = answer.find("data-state=\"");
    REQUIRE(begin != std::string::npos);
    begin += std::string("data-state=\"").size();
    std::string text = answer.substr(begin, answer.find('"', begin) - begin);
    for (std::size_t at = 0; (at = text.find("&quot;", at)) != std::string::npos;)
        text.replace(at, 6, "\"");
    return Json::parse(text);
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
    CHECK(once.err == "");
    CHECK(once.out.starts_with("<!DOCTYPE html>"));
    CHECK(once.out == again.out);
}

TEST_CASE("report says the same in words", "[report]") {
    const Said said = tidemark({"report", kSample, "-p", "torch", "-p", "buddy", "--text"});
    CHECK(said.code == 0);
    CHECK(contains(said.out, "peaked at 8.30 GiB"));
    CHECK(contains(said.out, "peak reserved: 10.5 GiB, 2.23 GiB more (+26.9 %)"));
    CHECK(contains(said.out, "PYTORCH_ALLOC_CONF"));
    CHECK(contains(said.out, "In each tenth of the run"));
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

TEST_CASE("--interactive and export --page put the trace into the viewer's page", "[report]") {
    const Folder folder;
    const Surroundings unbuilt{.environment = {{"TIDEMARK_PAGE", folder / "none.html"}}};
    const std::string run = folder / "run.html";
    CHECK(tidemark({"report", kSample, "--interactive", "-o", run}, unbuilt).code == 3);
    const Surroundings built{
        .environment = {{"TIDEMARK_PAGE", project_file("viz/page/page.html")}}};
    REQUIRE(tidemark({"report", kSample, "--interactive", "--title", "a <run>", "-o", run}, built)
                .code == 0);
    const std::string page = read_file(run);
    CHECK(contains(page, "<title>a &lt;run&gt;</title>"));
    CHECK(contains(page, "class=\"trace\" data-name=\"gpt2_var.pickle.xz\" data-goto=\"peak\">"));
    const std::string exported = folder / "exported.html";
    for (const std::vector<std::string>& format :
         std::vector<std::vector<std::string>>{{"--page"}, {"-f", "page"}, {}}) {
        std::vector<std::string> line{"export", kSample, "-o", exported};
        line.insert(line.end(), format.begin(), format.end());
        REQUIRE(tidemark(line, built).code == 0);
        CHECK(contains(read_file(exported), "<title>gpt2_var.pickle.xz</title>"));
    }
    CHECK(contains(refusal({"report", kSample, "--interactive", "-p", "buddy", "-o", run}),
                   "--policy: is for the still report"));
    CHECK(contains(refusal({"export", kSample, "--page", "-f", "jsonl", "-o", run}), "--page"));
}

TEST_CASE("a report fits small screens, and no text of its charts touches another",
          "[report][browser]") {
    const std::string program = browser();
    if (program.empty()) {
        WARN("no chromium here: the page was not opened");
        return;
    }
    const Folder folder;
    const std::string other = TIDEMARK_SOURCE_DIR "/traces/samples/torch/multistream.pickle.xz";
    REQUIRE(tidemark({"report", kSample, other, "-p", "torch", "-p", "buddy", "-p", "vpmm", "-p",
                      "tlsf", "--no-advise", "-o", folder / "page.html"})
                .code == 0);
    for (const int width : {400, 1300}) {
        const Json state = measured(program, folder, width);
        INFO(width << ": " << state.dump());
        CHECK(state["wider"] <= 0);
        CHECK(state["charts"] >= 2);
        CHECK(state["outside"] == 0);
        CHECK(state["touching"] == 0);
    }
}

}  // namespace tidemark
