// The server against those who have no token, have no manners or are too many: visitors with the
// link get in, memory is bounded, and it ends when it is to.
#include "viz/serve/web_server.h"

#include <algorithm>
#include <csignal>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/file_descriptor.h"

namespace tidemark::viz {
namespace {

constexpr const char* kSecret = "0123456789abcdef";

class Clients final : public WebClients {
  public:
    bool has_room(std::string_view /*view*/) const override { return true; }

    void joined(ClientId client, std::string_view /*view*/) override { last = client; }

    bool received(ClientId /*client*/, std::span<const std::byte> /*message*/) override {
        return true;
    }

    void left(ClientId client) override {
        if (last == client)
            last.reset();
    }

    std::optional<ClientId> last;
};

// Somebody at the other end. Nothing here waits.
class Visitor {
  public:
    Visitor() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
        REQUIRE(socket_.valid());
    }

    void connect(std::uint16_t port) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        static_cast<void>(
            ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
    }

    void say(std::string_view text) {
        static_cast<void>(::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL));
    }

    // What has come; the end of it is known afterwards.
    const std::string& answer() {
        char buffer[4096];
        for (;;) {
            const ssize_t count = ::recv(socket_.get(), buffer, sizeof buffer, 0);
            ended_ = ended_ || count == 0 || (count < 0 && errno != EAGAIN);
            if (count <= 0)
                return answer_;
            answer_.append(buffer, static_cast<std::size_t>(count));
        }
    }

    bool ended() {
        static_cast<void>(answer());
        return ended_;
    }

  private:
    FileDescriptor socket_;
    std::string answer_;
    bool ended_ = false;
};

std::string request(const WebServer& server, std::string_view target, std::string_view more = {}) {
    return fmt::format("GET {}?token={} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{}\r\n", target, kSecret,
                       server.port(), more);
}

class Server {
  public:
    explicit Server(std::chrono::milliseconds request_time = std::chrono::seconds(60)) {
        WebServerOptions options;
        options.token = kSecret;
        options.page = "the page";
        options.request_time = request_time;
        auto listening = WebServer::listen(options, clients);
        if (listening)
            server_ = *std::move(listening);
    }

    // A program without Boost has none.
    explicit operator bool() const { return server_ != nullptr; }

    WebServer* operator->() { return server_.get(); }

    WebServer& operator*() { return *server_; }

    // Serves until it is so, or nothing more is to be expected.
    template <class Met>
    bool until(Met met) {
        for (int i = 0; i < 1000 && !met(); ++i)
            server_->wait(0.01);
        return met();
    }

    // Takes all that has come.
    void settle() {
        for (int i = 0; i < 50; ++i)
            server_->wait(0);
    }

    Clients clients;

  private:
    std::unique_ptr<WebServer> server_;
};

bool is_answered(Server& server, Visitor& visitor) {
    visitor.connect(server->port());
    visitor.say(request(*server, "/"));
    return server.until([&] { return visitor.ended(); }) &&
           visitor.answer().starts_with("HTTP/1.1 200");
}

// The descriptors that this process may have, for as long as it lives.
class FewDescriptors {
  public:
    explicit FewDescriptors(rlim_t more) {
        REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
        const FileDescriptor next(::dup(STDIN_FILENO));
        rlimit few = before_;
        few.rlim_cur = static_cast<rlim_t>(next.get()) + more;
        REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    }

    FewDescriptors(const FewDescriptors&) = delete;
    FewDescriptors& operator=(const FewDescriptors&) = delete;

    ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

  private:
    rlimit before_{};
};

}  // namespace

TEST_CASE("requests that never end keep no visitor out", "[viz][serve]") {
    Server server;
    if (!server)
        return;
    std::vector<Visitor> strangers(80);
    for (Visitor& each : strangers) {
        each.connect(server->port());
        each.say("GET /?to");
    }
    server.settle();

    Visitor visitor;
    CHECK(is_answered(server, visitor));
    // The oldest had to go, as many as there were too many.
    CHECK(strangers.front().ended());
    CHECK_FALSE(strangers.back().ended());
    CHECK(std::ranges::count_if(strangers, [](Visitor& each) { return !each.ended(); }) <= 32);
}

TEST_CASE("a request that comes byte by byte has its time, not more", "[viz][serve]") {
    Server server(std::chrono::milliseconds(50));
    if (!server)
        return;
    Visitor slow;
    slow.connect(server->port());
    const bool ended = server.until([&] {
        slow.say("G");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));  // else a thousand take less
        return slow.ended();
    });
    CHECK(ended);
}

TEST_CASE("a header without end is cut off", "[viz][serve]") {
    Server server;
    if (!server)
        return;
    Visitor visitor;
    visitor.connect(server->port());
    visitor.say("GET / HTTP/1.1\r\nX: ");
    const std::string part(4096, 'x');
    std::size_t said = 0;
    CHECK(server.until([&] {
        visitor.say(part);
        said += part.size();
        return visitor.ended();
    }));
    CHECK(said < (1U << 20U));
}

TEST_CASE("out of descriptors the server rests, serves who comes, and ends by a signal",
          "[viz][serve]") {
    Server server;
    if (!server)
        return;
    std::vector<Visitor> strangers(30);
    Visitor visitor;
    const FewDescriptors few(3);
    for (Visitor& each : strangers)
        each.connect(server->port());
    server.settle();
    CHECK(is_answered(server, visitor));

    // Nothing can be dropped any more, and one waits outside: nothing is to be done.
    server->wait(0);
    REQUIRE(::raise(SIGTERM) == 0);
    CHECK(server.until([&] { return server->stopped(); }));
}

TEST_CASE("without any descriptor the server doesn't spin", "[viz][serve]") {
    Server server;
    if (!server)
        return;
    Visitor visitor;
    const FewDescriptors none(0);
    visitor.connect(server->port());
    rusage before{};
    ::getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < 5; ++i)
        server->wait(0.05);
    rusage after{};
    ::getrusage(RUSAGE_SELF, &after);
    CHECK(after.ru_nvcsw - before.ru_nvcsw >= 3);  // it slept
    REQUIRE(::raise(SIGTERM) == 0);
    CHECK(server.until([&] { return server->stopped(); }));
}

TEST_CASE("who reads nothing is ended before memory is", "[viz][serve]") {
    Server server;
    if (!server)
        return;
    Visitor visitor;
    visitor.connect(server->port());
    visitor.say(request(*server, "/socket",
                        fmt::format("Origin: http://127.0.0.1:{}\r\nUpgrade: websocket\r\n"
                                    "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                                    "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n",
                                    server->port())));
    REQUIRE(server.until([&] { return server.clients.last.has_value(); }));
    const ClientId client = *server.clients.last;

    Visitor other;
    for (int i = 0; i < 80; ++i)
        server->send(client, std::vector<std::byte>(1U << 20U));
    CHECK(server.until([&] { return !server.clients.last; }));
    CHECK(is_answered(server, other));
}

}  // namespace tidemark::viz
