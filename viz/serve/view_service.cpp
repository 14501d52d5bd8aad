// Views and their browsers, and when to draw for which.
#include "viz/serve/view_service.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/base/stopwatch.h"
#include "viz/live/attach.h"
#include "viz/serve/page_text.h"
#include "viz/serve/rate_limit.h"
#include "viz/serve/web_access.h"
#include "viz/serve/wire.h"
#include "viz/shell/loader_host.h"

namespace tidemark::viz {
namespace {

constexpr std::size_t kTokenBytes = 24;
constexpr std::size_t kKeyBytes = 8;
constexpr double kLookAtLoading = 0.05;  // seconds
constexpr double kLookAtPrograms = 1.0 / 30;
constexpr double kNobodyLooks = 1.0;  // at live programs
constexpr int kFramesOfNews = 4;
constexpr double kForEver = -1;
constexpr std::byte kKeyMessage{5};
constexpr std::byte kTitleMessage{6};

// A view and who sees it.
struct ServedView {
    std::size_t number = 0;
    std::string key;  // by which its browser finds it again
    std::unique_ptr<RemoteView> view;
    std::optional<ClientId> client;
    double left_at = 0;
    RateLimit rate{kMostMessagesASecond, kMostMessagesAtOnce};
};

std::vector<std::byte> text_message(std::byte kind, std::string_view text) {
    std::vector<std::byte> message(1, kind);
    put_text(message, text);
    return message;
}

}  // namespace

struct ViewService::Parts final : WebClients {
    explicit Parts(const ViewServiceOptions& wanted)
        : options(wanted), loader(session), living(session) {}

    double now() const { return static_cast<double>(clock.elapsed()) * 1e-9; }

    bool has_room(std::string_view key) const override;
    void joined(ClientId client, std::string_view key) override;
    bool received(ClientId client, std::span<const std::byte> message) override;
    void left(ClientId client) override;

    ServedView* view_of(ClientId client);
    Result<std::unique_ptr<RemoteView>> new_view();
    ServedView* view_for(std::string_view key);
    void refresh(int frames);
    double pause() const;
    void draw(ServedView& served);

    ViewServiceOptions options;
    Session session;
    Loader loader;
    LiveRuns living;
    Stopwatch clock;
    std::vector<ServedView> views;
    std::size_t last_number = 0;
    std::unique_ptr<WebServer> server;  // goes first
};

Result<std::unique_ptr<RemoteView>> ViewService::Parts::new_view() {
    ShellHost host = loader_host(loader);  // files that aren't here can't be opened from a browser
    host.pause = [this](bool paused) { living.pause(paused); };
    host.align = [this] {
        static_cast<void>(living.align(!living.by_clock()));
        return living.by_clock();
    };
    return RemoteView::open(session, std::move(host), options.view);
}

bool ViewService::Parts::has_room(std::string_view key) const {
    const auto is_its = [key](const ServedView& served) { return equal_secrets(served.key, key); };
    if (std::ranges::any_of(views, is_its))
        return true;
    const auto taken = std::ranges::count_if(
        views, [](const ServedView& served) { return served.client.has_value(); });
    return static_cast<std::size_t>(taken) < kMostViews;
}

// The view that the browser had, else a new one, for which the view is removed that nobody has
// looked at for longest.
ServedView* ViewService::Parts::view_for(std::string_view key) {
    for (ServedView& served : views)
        if (equal_secrets(served.key, key))
            return &served;
    auto new_key = random_token(kKeyBytes);
    auto view = new_view();
    if (!new_key || !view)
        return nullptr;
    if (views.size() == kMostViews) {
        const auto longest = std::ranges::min_element(views, {}, [](const ServedView& served) {
            return std::pair(served.client.has_value(), served.left_at);
        });
        views.erase(longest);
    }
    ServedView& served = views.emplace_back();
    served.number = last_number++;
    served.key = *std::move(new_key);
    served.view = *std::move(view);
    return &served;
}

ServedView* ViewService::Parts::view_of(ClientId client) {
    const auto found = std::ranges::find(views, std::optional(client), &ServedView::client);
    return found == views.end() ? nullptr : &*found;
}

void ViewService::Parts::joined(ClientId client, std::string_view key) {
    ServedView* const served = view_for(key);
    if (served == nullptr)
        return;
    if (served->client)
        server->close(*served->client, kViewTaken);
    served->client = client;
    served->view->connect();
    server->send(client, text_message(kKeyMessage, served->key));
    server->send(client, text_message(kTitleMessage, options.title));
}

bool ViewService::Parts::received(ClientId client, std::span<const std::byte> message) {
    ServedView* const served = view_of(client);
    if (served == nullptr || !served->rate.take(now()))
        return false;
    const auto events = parse_browser_events(message);
    if (!events)
        return false;
    for (const BrowserEvent& event : *events)
        served->view->take(event);
    return true;
}

void ViewService::Parts::left(ClientId client) {
    ServedView* const served = view_of(client);
    if (served == nullptr)
        return;
    served->client.reset();
    served->left_at = now();
    served->view->disconnect();
}

void ViewService::Parts::refresh(int frames) {
    for (ServedView& served : views)
        served.view->refresh(frames);
}

// How long nothing needs to be done if nothing happens.
double ViewService::Parts::pause() const {
    std::optional<double> until;
    const auto at_latest = [&until](double seconds) {
        until = std::min(until.value_or(seconds), seconds);
    };
    bool seen = false;
    for (const ServedView& served : views) {
        seen = seen || served.view->visible();
        if (const auto next = served.view->next_frame())
            at_latest(std::max(0.0, *next - now()));
    }
    if (loader.running())
        at_latest(kLookAtLoading);
    if (living.following())
        at_latest(seen ? kLookAtPrograms : kNobodyLooks);
    return until.value_or(kForEver);
}

void ViewService::Parts::draw(ServedView& served) {
    const auto next = served.view->next_frame();
    if (!next || *next > now())
        return;
    for (std::vector<std::byte>& message : served.view->draw(now()))
        server->send(*served.client, std::move(message));
    if (options.on_frame)
        options.on_frame(served.number, served.view->shell(), loader.running());
}

Result<std::unique_ptr<ViewService>> ViewService::start(const ViewServiceOptions& options) {
    auto parts = std::make_unique<Parts>(options);
    TM_ASSIGN(parts->options.web.token, random_token(kTokenBytes));
    parts->options.web.page = served_page();
    TM_ASSIGN(parts->server, WebServer::listen(parts->options.web, *parts));
    if (!options.load.files.empty())
        parts->loader.add(options.load);
    for (const std::string& program : options.attach)
        TM_TRY(parts->living.attach(program));
    TM_TRY(parts->new_view());  // an invalid view or location fails now, not for each browser
    return std::unique_ptr<ViewService>(new ViewService(std::move(parts)));
}

ViewService::ViewService(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

ViewService::~ViewService() = default;

std::string ViewService::link() const {
    const WebServerOptions& web = parts_->options.web;
    const std::string& host = parts_->options.shown_host;
    const std::string& shown = host.empty() ? web.address : host;
    const bool brackets = shown.find(':') != std::string::npos;
    return fmt::format("http://{}:{}/?token={}", brackets ? fmt::format("[{}]", shown) : shown,
                       port(), web.token);
}

std::uint16_t ViewService::port() const {
    return parts_->server->port();
}

void ViewService::run() {
    Parts& parts = *parts_;
    while (!parts.server->stopped()) {
        parts.server->wait(parts.pause());
        if (parts.loader.poll())
            parts.refresh(kFramesOfNews);
        if (parts.living.poll())
            parts.refresh(1);
        for (ServedView& served : parts.views)
            parts.draw(served);
    }
    parts.server->end();
}

}  // namespace tidemark::viz
