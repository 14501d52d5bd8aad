// ViewService: the viewer for browsers: loads traces or follows live programs as the window does,
// and gives each browser that has the link a view of its own on them. Nothing else can be opened or
// written through it.
//
// A view outlives its connection: a browser that comes back (its tunnel broke, the page was
// reloaded) finds it as it was, as long as there is room; a connection that it had before, and that
// may not have noticed, is closed with kViewTaken. One thread, that of the caller; it sleeps while
// nothing moves.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "viz/model/navigation/loader.h"
#include "viz/serve/remote_view.h"
#include "viz/serve/web_server.h"

namespace tidemark::viz {

struct ViewServiceOptions {
    LoadRequest load;
    std::vector<std::string> attach;
    RemoteViewOptions view;
    std::string title;
    WebServerOptions web;    // except its token and page
    std::string shown_host;  // in the link; empty: the address that is listened on
    // After each frame, for tests.
    std::function<void(std::size_t view, Shell& shell, bool loading)> on_frame = {};
};

constexpr std::uint16_t kViewTaken = 4001;     // by another page with the same key
constexpr std::size_t kMostViews = 8;          // at the same time
constexpr double kMostMessagesASecond = 1000;  // of a browser; a mouse has 60 to 125
constexpr double kMostMessagesAtOnce = 2000;

class ViewService {
  public:
    // Listens, and starts to load. Errors: those of WebServer::listen and LiveRuns::attach; wrong
    // views and locations.
    static Result<std::unique_ptr<ViewService>> start(const ViewServiceOptions& options);

    ViewService(const ViewService&) = delete;
    ViewService& operator=(const ViewService&) = delete;
    ~ViewService();

    // "http://127.0.0.1:8080/?token=..."
    std::string link() const;

    std::uint16_t port() const;

    // Serves until somebody ends it: WebServer::stopped.
    void run();

  private:
    struct Parts;

    explicit ViewService(std::unique_ptr<Parts> parts);

    std::unique_ptr<Parts> parts_;
};

}  // namespace tidemark::viz
