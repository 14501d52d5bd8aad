// Replaces the server in a program that was built without Boost.Beast: listening fails.
#include "viz/serve/web_server.h"

namespace tidemark::viz {

struct WebServer::Parts {};

Result<std::unique_ptr<WebServer>> WebServer::listen(const WebServerOptions& /*options*/,
                                                     WebClients& /*clients*/) {
    return fail(ErrorCode::unsupported, "this program was built without Boost.Beast", "--serve",
                "rebuild it with the package libboost-dev; a window or --png don't need it");
}

WebServer::~WebServer() = default;

std::uint16_t WebServer::port() const {
    return 0;
}

void WebServer::wait(double /*seconds*/) {}

bool WebServer::stopped() const {
    return true;
}

void WebServer::send(ClientId /*client*/, std::vector<std::byte> /*message*/) {}

void WebServer::close(ClientId /*client*/, std::uint16_t /*code*/) {}

void WebServer::end() {}

}  // namespace tidemark::viz
