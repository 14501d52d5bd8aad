// Listening, signals, and the time in which connections are served.
#include "viz/serve/web_server.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "viz/serve/web_connection.h"

namespace tidemark::viz {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::size_t kMostConnections = 64;
constexpr std::size_t kMostStrangers = 32;  // that have not shown the token
constexpr std::chrono::milliseconds kFarewell{500};
constexpr std::chrono::milliseconds kRest{100};  // without descriptors
constexpr int kMostHandlers = 256;               // until whoever waits looks at the rest

bool is_of_no_descriptor(const error_code& error) {
    return error == asio::error::no_descriptors || error == asio::error::no_buffer_space ||
           error == asio::error::no_memory ||
           error == error_code(ENFILE, boost::system::system_category());
}

tl::unexpected<Error> no_port(const WebServerOptions& options, const error_code& error) {
    const std::string where = fmt::format("{} port {}", options.address, options.port);
    if (error == asio::error::address_in_use)
        return fail(ErrorCode::unsupported, "another program uses this port", where,
                    "--serve 0 takes a free one, --serve PORT another");
    if (error == asio::error::access_denied)
        return fail(ErrorCode::unsupported, "this port is reserved for the system", where,
                    "use one from 1024 on, or --serve 0");
    return fail(ErrorCode::unsupported, fmt::format("cannot listen on it: {}", error.message()),
                where, "--bind takes an address of this machine");
}

}  // namespace

struct WebServer::Parts {
    Parts(const WebServerOptions& options, WebClients& clients)
        : shared{clients, HostRules(options.hosts, options.port), options.token, options.page,
                 options.request_time} {}

    void accept();
    void take(asio::ip::tcp::socket socket);
    bool drop_stranger(std::size_t most);
    void watch_signals();
    void watch_input();

    WebShared shared;  // longer than what waits in the context
    asio::io_context context{1};
    asio::ip::tcp::acceptor acceptor{context};
    asio::steady_timer rest{context};
    asio::signal_set signals{context};
    asio::posix::stream_descriptor input{context};
    std::array<char, 256> ignored{};
    std::map<ClientId, std::weak_ptr<WebConnection>> connections;
    ClientId last = 0;
    bool stopped = false;
};

void WebServer::Parts::accept() {
    acceptor.async_accept([this](error_code error, asio::ip::tcp::socket socket) {
        if (error == asio::error::operation_aborted)
            return;
        if (!error)
            take(std::move(socket));
        if (!is_of_no_descriptor(error) || drop_stranger(0))
            return accept();
        rest.expires_after(kRest);
        rest.async_wait([this](error_code stops) {
            if (!stops)
                accept();
        });
    });
}

void WebServer::Parts::take(asio::ip::tcp::socket socket) {
    static_cast<void>(drop_stranger(kMostStrangers - 1));
    const auto is_open = [](const auto& each) {
        const auto connection = each.second.lock();
        return connection && !connection->abandoned();
    };
    std::erase_if(connections, [&](const auto& each) { return each.second.expired(); });
    if (static_cast<std::size_t>(std::ranges::count_if(connections, is_open)) >= kMostConnections &&
        !drop_stranger(0))
        return;
    const auto connection = std::make_shared<WebConnection>(std::move(socket), ++last, shared);
    connections.emplace(last, connection);
    connection->start();
}

// If more than `most` have not shown the token, ends the oldest connection of the address that has
// most of them. False if there are no more.
bool WebServer::Parts::drop_stranger(std::size_t most) {
    std::map<std::string, std::vector<std::shared_ptr<WebConnection>>> strangers;  // oldest first
    std::size_t count = 0;
    for (const auto& [id, known] : connections) {
        const auto connection = known.lock();
        if (!connection || connection->trusted() || connection->abandoned())
            continue;
        strangers[connection->peer()].push_back(connection);
        ++count;
    }
    if (count <= most)
        return false;
    const auto largest = std::ranges::max_element(
        strangers, {}, [](const auto& of_one) { return of_one.second.size(); });
    largest->second.front()->abandon();
    return true;
}

void WebServer::Parts::watch_signals() {
    error_code error;
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        signals.add(signal, error);
    signals.async_wait([this](error_code failed, int) { stopped = stopped || !failed; });
}

void WebServer::Parts::watch_input() {
    input.async_read_some(asio::buffer(ignored), [this](error_code error, std::size_t) {
        if (!error)
            return watch_input();
        stopped = stopped || error != asio::error::operation_aborted;
    });
}

Result<std::unique_ptr<WebServer>> WebServer::listen(const WebServerOptions& options,
                                                     WebClients& clients) {
    auto parts = std::make_unique<Parts>(options, clients);
    error_code error;
    const auto address = asio::ip::make_address(options.address, error);
    if (error)
        return fail(ErrorCode::bad_option, fmt::format("'{}' is not an address", options.address),
                    "--bind", "give 127.0.0.1, ::1, or 0.0.0.0 for all addresses");
    const asio::ip::tcp::endpoint endpoint(address, options.port);
    parts->acceptor.open(endpoint.protocol(), error);
    if (!error)
        parts->acceptor.set_option(asio::socket_base::reuse_address(true), error);
    if (!error)
        parts->acceptor.bind(endpoint, error);
    if (!error)
        parts->acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error)
        return no_port(options, error);
    parts->shared.rules = HostRules(options.hosts, parts->acceptor.local_endpoint(error).port());
    parts->watch_signals();
    if (options.ends_with_input) {
        parts->input.assign(::dup(STDIN_FILENO), error);
        if (error)
            return fail(ErrorCode::unsupported, "cannot wait for standard input: give a pipe",
                        "--end-with-input");
        parts->watch_input();
    }
    parts->accept();
    return std::unique_ptr<WebServer>(new WebServer(std::move(parts)));
}

WebServer::WebServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

WebServer::~WebServer() = default;

std::uint16_t WebServer::port() const {
    error_code error;
    return parts_->acceptor.local_endpoint(error).port();
}

void WebServer::wait(double seconds) {
    asio::io_context& context = parts_->context;
    context.restart();
    if (seconds < 0)
        context.run_one();
    else if (seconds > 0)
        context.run_one_for(std::chrono::microseconds(static_cast<std::int64_t>(seconds * 1e6)));
    for (int i = 0; i < kMostHandlers && !parts_->stopped && context.poll_one() != 0; ++i) {
    }
}

bool WebServer::stopped() const {
    return parts_->stopped;
}

void WebServer::send(ClientId client, std::vector<std::byte> message) {
    const auto found = parts_->connections.find(client);
    if (found == parts_->connections.end())
        return;
    if (const auto connection = found->second.lock())
        connection->send(std::move(message));
}

void WebServer::close(ClientId client, std::uint16_t code) {
    const auto found = parts_->connections.find(client);
    if (found == parts_->connections.end())
        return;
    if (const auto connection = found->second.lock())
        connection->close(static_cast<boost::beast::websocket::close_code>(code));
}

void WebServer::end() {
    error_code ignored;
    parts_->acceptor.close(ignored);
    parts_->rest.cancel();
    parts_->signals.cancel(ignored);
    parts_->input.close(ignored);
    for (const auto& [id, known] : parts_->connections)
        if (const auto connection = known.lock())
            connection->close(boost::beast::websocket::close_code::going_away);
    parts_->context.restart();
    parts_->context.run_for(kFarewell);
}

}  // namespace tidemark::viz
