// WebConnection: one connection of the server: a request, its answer, and if that is a WebSocket
// the messages of it. Private to viz/serve: others include web_server.h. The one home of Boost,
// with web_server.cpp.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/websocket/stream.hpp>

#include "viz/serve/web_access.h"
#include "viz/serve/web_server.h"

namespace tidemark::viz {

// What all connections of a server share.
struct WebShared {
    WebClients& clients;
    HostRules rules;
    std::string token;
    std::string_view page;
    std::chrono::milliseconds request_time;
};

class WebConnection : public std::enable_shared_from_this<WebConnection> {
  public:
    WebConnection(boost::asio::ip::tcp::socket socket, ClientId id, WebShared& shared);
    WebConnection(const WebConnection&) = delete;
    WebConnection& operator=(const WebConnection&) = delete;

    // Reads the request. It keeps itself alive as long as something is under way.
    void start();

    ClientId id() const { return id_; }

    void send(std::vector<std::byte> message);

    // The address that it came from; "" if it had gone again before it was here.
    const std::string& peer() const { return peer_; }

    // It has shown the token: its client may be here.
    bool trusted() const { return trusted_; }

    // Ends it: a WebSocket with that code, anything else immediately.
    void close(boost::beast::websocket::close_code code);

    // Ends it immediately and without a message; its descriptor is free then.
    void abandon();

    bool abandoned() const { return abandoned_; }

  private:
    void answer_request();
    void refuse(boost::beast::http::status status, std::string_view text);
    void send_page();
    void respond(boost::beast::http::response<boost::beast::http::string_body> response);
    void open_socket();
    void read_message();
    void receive(std::size_t bytes);
    void write_message();

    boost::beast::tcp_stream stream_;  // until it is a WebSocket
    ClientId id_;
    WebShared& shared_;
    boost::beast::flat_buffer buffer_;
    boost::beast::http::request_parser<boost::beast::http::empty_body> parser_;
    std::optional<boost::beast::http::response<boost::beast::http::string_body>> response_;
    std::optional<boost::beast::websocket::stream<boost::beast::tcp_stream>> socket_;
    std::deque<std::vector<std::byte>> waiting_;  // the first of them is being written
    std::size_t waiting_bytes_ = 0;
    std::string peer_;
    bool forwarded_ = false;  // by a proxy
    bool trusted_ = false;
    bool abandoned_ = false;
    bool joined_ = false;
    bool closing_ = false;
};

}  // namespace tidemark::viz
