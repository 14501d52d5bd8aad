// The server of a program that was built without Boost.Beast: there is none.
#include "viz/serve/web_server.h"

namespace tidemark::viz {

struct WebServer::Parts {};

Result<std::unique_ptr<WebServer>> WebServer::listen(const WebServerOptions& /*options*/,
                                                     WebClients& /*clients*/) {
    return fail(ErrorCode::unsupported, "this program was built without Boost.Beast", "--serve",
                "build it where the package libboost-dev is; a window or --png need none");
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
