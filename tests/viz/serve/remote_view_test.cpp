// A view as its browser meets it: events in, frames out, and nothing at rest.
#include "viz/serve/remote_view.h"

#include <algorithm>
#include <memory>
#include <string>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "tests/viz/serve/browser_bytes.h"
#include "tests/viz/serve/frame_bytes.h"
#include "tests/viz/shell/sample_session.h"

namespace tidemark::viz {
namespace {

constexpr double kStep = 0.1;  // few frames until all is at rest
constexpr int kLong = 2000;    // frames that anything comes to rest in

// A browser before a view, on a clock of its own.
class RemoteBrowser {
  public:
    explicit RemoteBrowser(Session& session, RemoteViewOptions options = {}) {
        options.fonts = FontChoice::built_in;
        options.views = {"timeline"};
        auto opened = RemoteView::open(session, {}, options);
        REQUIRE(opened);
        view = *std::move(opened);
        view->connect();
        send(BrowserBytes().size(1000, 700));
        rest();
    }

    void send(const BrowserBytes& message) {
        const auto events = parse_browser_events(message.bytes);
        REQUIRE(events);
        for (const BrowserEvent& event : *events)
            view->take(event);
    }

    // A frame if one is due; whether one was.
    bool step() {
        now += kStep;
        const auto next = view->next_frame();
        if (!next || *next > now)
            return false;
        for (const auto& message : view->draw(now))
            take(message);
        return true;
    }

    // Until nothing is due any more; false if something always is.
    bool rest() {
        for (int i = 0; i < kLong; ++i) {
            step();
            if (!view->next_frame())
                return true;
        }
        return false;
    }

    void type(std::string_view letters) {
        for (const char letter : letters)
            send(BrowserBytes().key(std::string(1, letter)).key(std::string(1, letter), 0));
        rest();
    }

    // Over the timeline's curves.
    void zoom() {
        send(BrowserBytes().move(400, 250));
        rest();
        send(BrowserBytes().wheel(0, 512));
        rest();
    }

    std::unique_ptr<RemoteView> view;
    double now = 100;
    BrowserScreen screen;
    int frames = 0;
    int saves = 0;
    std::string copied;
    bool reports = true;

  private:
    void take(std::span<const std::byte> message) {
        switch (static_cast<int>(message[0])) {
            case 1:
                screen.draw(message);
                ++frames;
                if (reports)
                    send(BrowserBytes().drawn(screen.number));
                break;
            case 2:
                copied.assign(reinterpret_cast<const char*>(message.data()) + 1,
                              message.size() - 1);
                break;
            case 3:
                ++saves;
                break;
            case 11:
                break;  // texts: the pictures have them as well
            default:
                CHECK(message[0] == std::byte{4});
        }
    }
};

}  // namespace

TEST_CASE("a browser is drawn for once it has said how large it is") {
    SampleSession sample;
    auto view = RemoteView::open(sample.session, {}, {});
    REQUIRE(view);
    CHECK_FALSE((*view)->next_frame());
    (*view)->connect();
    CHECK_FALSE((*view)->next_frame());
    (*view)->take(PageSized{300, 200, 1});
    CHECK((*view)->next_frame());
}

TEST_CASE("at rest nothing is due, and input ends that") {
    SampleSession sample;
    RemoteBrowser browser(sample.session);
    CHECK(browser.screen.bitmap.width == 1000);
    CHECK_FALSE(browser.step());
    browser.zoom();
    const Window window = browser.view->shell().camera().window();
    CHECK(window.length() < browser.view->shell().camera().extent());
    CHECK_FALSE(browser.step());
}

TEST_CASE("a text that is being typed is at rest as well: its cursor doesn't blink", "") {
    SampleSession sample;
    RemoteBrowser browser(sample.session);
    browser.type("f");
    CHECK_FALSE(browser.view->next_frame());
    browser.type("relu");
    CHECK(browser.view->shell().selection().filter.text == "relu");
    browser.send(BrowserBytes().paste(" >=1MiB"));
    REQUIRE(browser.rest());
    CHECK(browser.view->shell().selection().filter.least == 1_MiB);
    browser.send(BrowserBytes().key("Backspace").key("Backspace", 0));
    browser.send(BrowserBytes().key("a", 1, 1).key("a", 0, 1));
    browser.send(BrowserBytes().key("Delete").key("Delete", 0));
    REQUIRE(browser.rest());
    CHECK(browser.view->shell().selection().filter.text.empty());
}

TEST_CASE("two views of the same runs don't move each other") {
    SampleSession sample;
    RemoteBrowser first(sample.session);
    RemoteBrowser second(sample.session);
    first.zoom();
    first.type("t");
    CHECK(first.view->shell().camera().window() != second.view->shell().camera().window());
    CHECK_FALSE(first.view->shell().state().dark);
    second.zoom();
    CHECK(first.view->shell().camera().window() == second.view->shell().camera().window());
    CHECK(second.view->shell().state().dark);
}

TEST_CASE("a click that comes with one message is a click, and a drag moves") {
    SampleSession sample;
    RemoteBrowser browser(sample.session);
    browser.send(BrowserBytes().move(400, 250).button(0, 1).button(0, 0));
    browser.rest();
    CHECK(browser.view->shell().selection().cursor);
    browser.zoom();
    const Window before = browser.view->shell().camera().window();
    browser.send(
        BrowserBytes().move(400, 250).button(0, 1).move(450, 250).move(500, 250).button(0, 0));
    browser.rest();
    const Window after = browser.view->shell().camera().window();
    CHECK(after.begin < before.begin);
    CHECK(after.length() == before.length());
}

TEST_CASE("a key doesn't wait for the turn of a frame that changes nothing") {
    SampleSession sample;
    RemoteBrowser browser(sample.session);
    const auto draw_when_due = [&] {
        browser.now = std::max(browser.now, *browser.view->next_frame()) - kStep + 1e-6;
        REQUIRE(browser.step());
    };
    const auto wait = [&] { return *browser.view->next_frame() - browser.now; };
    browser.send(BrowserBytes().move(400, 250));
    browser.rest();
    browser.send(BrowserBytes().move(400, 250));
    draw_when_due();
    draw_when_due();
    CHECK(wait() > 0.03);
    browser.send(BrowserBytes().move(400, 250));  // a mouse has its frames, thirty a second
    CHECK(wait() > 0.03);
    const int frames = browser.frames;
    browser.send(BrowserBytes().move(400, 250).key("x"));
    CHECK(wait() < 0.01);
    draw_when_due();
    CHECK(browser.frames == frames + 1);
    browser.send(BrowserBytes().key("x", 0));  // and so have frames that are sent
    CHECK(wait() > 0.03);
}

TEST_CASE("who doesn't report frames as drawn gets no more than a few") {
    SampleSession sample;
    RemoteBrowser browser(sample.session);
    browser.reports = false;
    browser.frames = 0;
    for (unsigned i = 0; i < 100; ++i) {
        browser.send(BrowserBytes().move(300 + i, 250));
        browser.step();
    }
    CHECK(browser.frames > 0);
    CHECK(browser.frames <= 8);
    CHECK_FALSE(browser.view->next_frame());
    browser.reports = true;
    browser.send(BrowserBytes().drawn(browser.screen.number));
    CHECK(browser.view->next_frame());
    CHECK(browser.rest());
}

TEST_CASE("nothing is drawn for a page that nobody sees") {
    SampleSession sample;
    RemoteBrowser browser(sample.session);
    browser.send(BrowserBytes().u8(9).u8(1));
    browser.send(BrowserBytes().key("x").key("x", 0));
    CHECK_FALSE(browser.view->next_frame());
    browser.send(BrowserBytes().u8(9).u8(0));
    browser.rest();
    CHECK(browser.view->shell().camera().unit() == AxisUnit::events);
}

TEST_CASE("a browser that comes back sees what it saw, as a whole picture") {
    SampleSession sample;
    RemoteBrowser browser(sample.session);
    browser.zoom();
    browser.send(BrowserBytes().u8(3));  // what follows the mouse is gone
    browser.rest();
    const Bitmap seen = browser.screen.bitmap;
    browser.view->disconnect();
    CHECK_FALSE(browser.view->next_frame());
    browser.screen = {};
    browser.view->connect();
    browser.send(BrowserBytes().size(1000, 700));
    browser.rest();
    CHECK(browser.screen.bitmap.pixels == seen.pixels);
}

TEST_CASE("keys that are held when the keyboard goes are let go") {
    SampleSession sample;
    RemoteBrowser browser(sample.session);
    browser.send(BrowserBytes().move(400, 250).key("w"));
    for (int i = 0; i < 30; ++i)
        CHECK(browser.step());
    browser.send(BrowserBytes().u8(10));
    CHECK(browser.rest());
}

TEST_CASE("a larger ratio makes letters larger, and any size is drawn") {
    SampleSession sample;
    RemoteBrowser browser(sample.session);
    for (const auto& [width, height, ratio] : {std::tuple{1600U, 1200U, 512U},
                                               {1U, 1U, 1U},
                                               {65535U, 70U, 65535U},
                                               {800U, 600U, 256U}}) {
        browser.send(BrowserBytes().size(width, height, ratio));
        browser.rest();
        CHECK(browser.screen.bitmap.width == std::clamp(width, 64U, kWidestScreen));
        CHECK(browser.screen.bitmap.height == std::clamp(height, 64U, kWidestScreen));
    }
}

TEST_CASE("copying goes to the browser's clipboard, and a saved image to its downloads", "") {
    SampleSession sample;
    RemoteBrowser browser(sample.session);
    browser.type("y");
    CHECK(has(browser.copied, "t="));
    browser.send(BrowserBytes().key("s", 1, 1).key("s", 0, 1));
    browser.rest();
    CHECK(browser.saves == 1);
}

TEST_CASE("a view or location that is none is an error") {
    SampleSession sample;
    RemoteViewOptions options;
    options.views = {"timelin"};
    CHECK_FALSE(RemoteView::open(sample.session, {}, options));
    options.views = {};
    options.location = "t=x";
    CHECK_FALSE(RemoteView::open(sample.session, {}, options));
}

TEST_CASE("whatever a browser sends, the view takes it and comes to rest") {
    Random random(3);
    SampleSession sample;
    RemoteBrowser browser(sample.session);
    const auto any = [&random](unsigned bound) {
        return static_cast<unsigned>(random.below(bound));
    };
    constexpr std::array kNames = {"f", "g", "G",        "Enter",    "Escape",    "Tab",
                                   "w", "1", "?",        "x",        "ArrowDown", "End",
                                   "e", "b", "\xc3\xa9", "Backspace"};
    for (int i = 0; i < 150; ++i) {
        BrowserBytes message;
        message.move(any(1100), any(800), any(8)).button(any(5), any(2), any(8));
        message.key(kNames[any(kNames.size())], any(3), any(8));
        if (any(4) == 0)
            message.wheel(static_cast<int>(any(2000)) - 1000, static_cast<int>(any(2000)) - 1000);
        if (any(50) == 0)
            message.size(64 + any(900), 64 + any(600), 200 + any(200)).u8(10);
        browser.send(message);
        browser.step();
    }
    browser.send(BrowserBytes().u8(10));
    CHECK(browser.rest());
}

}  // namespace tidemark::viz
