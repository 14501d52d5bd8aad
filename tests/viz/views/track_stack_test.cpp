// Tracks that don't all fit: which rows are drawn, and how one gets to the others.
#include "viz/views/track_stack.h"

#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "viz/headless/offscreen.h"

namespace tidemark::viz {
namespace {

// Rows of one height, that write down when they are drawn.
class PlainTrack final : public Track {
  public:
    PlainTrack(std::string name, std::size_t rows, std::size_t usual,
               std::vector<std::string>& drawn)
        : name_(std::move(name)), rows_(rows), usual_(usual), drawn_(drawn) {}

    TrackRows prepare(Frame& /*frame*/, const TrackInput& /*input*/) override {
        return {std::vector<float>(rows_, 20.0F), usual_};
    }

    void draw(Frame& /*frame*/, const TimeArea& /*area*/, const TrackInput& /*input*/,
              std::size_t row, const Box& box, std::optional<ImVec2> mouse,
              HoverCard& /*card*/) override {
        CHECK(box.height() == 20);
        drawn_.push_back(name_ + std::to_string(row) + (mouse ? "!" : ""));
    }

  private:
    std::string name_;
    std::size_t rows_;
    std::size_t usual_;
    std::vector<std::string>& drawn_;
};

using Names = std::vector<std::string>;

// A stack of two tracks, "a" and "b", over and over again in 400 pixels of width.
struct Stage {
    Stage(std::size_t a, std::size_t b, std::size_t usual = 99)
        : stack(tracks(a, b, usual)), offscreen({400, 600, 1, FontChoice::built_in}) {
        offscreen.io().MousePos = {-1, -1};
        session.runs.emplace_back();
    }

    std::vector<std::unique_ptr<Track>> tracks(std::size_t a, std::size_t b, std::size_t usual) {
        std::vector<std::unique_ptr<Track>> made;
        made.push_back(std::make_unique<PlainTrack>("a", a, usual, drawn));
        made.push_back(std::make_unique<PlainTrack>("b", b, usual, drawn));
        return made;
    }

    // Two frames with `height` pixels for the tracks, at the bottom of 500; gives what they want.
    float draw(float height, float room = 500) {
        float wanted = 0;
        for (int i = 0; i < 2; ++i) {
            drawn.clear();
            offscreen.begin(dark_theme());
            ImGui::SetNextWindowPos({0, 0});
            ImGui::SetNextWindowSize({400, 600});
            ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2{0, 0});
            ImGui::Begin("stage", nullptr, ImGuiWindowFlags_NoDecoration);
            ImGui::PopStyleVar();
            Frame frame{session,
                        camera,
                        selection,
                        search,
                        Canvas(ImGui::GetWindowDrawList(), dark_theme(), 1),
                        {0, 0, 400, 600}};
            const TrackInput input{session.runs[0], nullptr};
            wanted = stack.prepare(frame, input, room);
            const Box box{100, 500 - height, 390, 500};
            const TimeArea area(frame, {100, 0, 390, 500}, "area");
            HoverCard card;
            const auto mouse = ImGui::GetIO().MousePos;
            stack.draw(frame, input, area, box,
                       box.contains(mouse) ? std::optional(mouse) : std::nullopt, card);
            ImGui::End();
            offscreen.skip();
        }
        return wanted;
    }

    // Presses and lets go at the foot of the margin.
    void click_more(float height) {
        offscreen.io().MousePos = {70, 494};
        draw(height);
        offscreen.io().MouseDown[0] = true;
        draw(height);
        offscreen.io().MouseDown[0] = false;
        draw(height);
        offscreen.io().MousePos = {-1, -1};
        draw(height);
    }

    void wheel(float notches, float height) {
        offscreen.io().MousePos = {70, 480};
        draw(height);
        offscreen.io().MouseWheel = notches;
        draw(height);  // the second of its frames sees no wheel any more
        offscreen.io().MousePos = {-1, -1};
        offscreen.io().MouseWheel = 0;
        draw(height);
    }

    Names drawn;
    TrackStack stack;
    Offscreen offscreen;
    Session session;
    Camera camera;
    Selection selection;
    BlockSearch search;
};

}  // namespace

TEST_CASE("lanes that fit are all drawn, with a gap above each", "[viz][lanes]") {
    Stage stage(2, 1);
    CHECK(stage.draw(72) == 72);
    CHECK(stage.drawn == Names{"a0", "a1", "b0"});
    stage.offscreen.io().MousePos = {200, 500 - 72 + 6 + 30};
    stage.draw(72);
    CHECK(stage.drawn == Names{"a0", "a1!", "b0"});
}

TEST_CASE("rows that have no room are shown by and by, by clicks", "[viz][lanes]") {
    Stage stage(3, 3);
    stage.draw(70);  // the foot takes one
    CHECK(stage.drawn == Names{"a0", "a1"});
    stage.click_more(70);
    CHECK(stage.drawn == Names{"a2", "b0"});
    stage.click_more(70);
    CHECK(stage.drawn == Names{"b1", "b2"});
    stage.click_more(70);
    CHECK(stage.drawn == Names{"a0", "a1"});
    stage.click_more(70);
    stage.draw(200);  // room for all of them again
    CHECK(stage.drawn.size() == 6);
}

TEST_CASE("the wheel over the names moves by a row, to both ends", "[viz][lanes]") {
    Stage stage(3, 3);
    stage.draw(70);
    stage.wheel(-1, 70);
    CHECK(stage.drawn.front() == "a1");
    stage.wheel(1, 70);
    CHECK(stage.drawn.front() == "a0");
    stage.wheel(1, 70);
    CHECK(stage.drawn.front() == "a0");
    for (int i = 0; i < 9; ++i)
        stage.wheel(-1, 70);
    CHECK(stage.drawn.back() == "b2");
    CHECK(stage.drawn.size() >= 2);
}

TEST_CASE("curves give way to usual rows only, and never altogether", "[viz][lanes]") {
    Stage many(20, 0, 5);
    CHECK(many.draw(106) == 106);
    CHECK(many.drawn.size() == 4);
    Stage tall(20, 20);
    CHECK(tall.draw(100) == 310);
    CHECK(tall.draw(100, 100) >= 26 + 15);  // a row, and that there are others
    CHECK(tall.draw(100, 100) <= 50);
    CHECK(tall.draw(100, 60) <= 20);  // only that there are others
    Stage none(0, 0);
    CHECK(none.draw(10) == 0);
    CHECK(none.drawn.empty());
}

TEST_CASE("where not one row fits, that there are some is said", "[viz][lanes]") {
    Stage stage(2, 0);
    stage.draw(18);
    CHECK(stage.drawn.empty());
    stage.click_more(18);  // and nothing breaks
    CHECK(more_rows_text(2) == "+2 more");
}

}  // namespace tidemark::viz
