// One connection, from its first byte to its last.
#include "viz/serve/web_connection.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <utility>

#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <fmt/format.h>

#include "viz/serve/browser_events.h"

namespace tidemark::viz {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;

constexpr std::chrono::seconds kAnswerTime{10};      // for an answer, a handshake
constexpr std::chrono::seconds kProxysPatience{50};  // nginx ends what is silent for 60
constexpr std::uint32_t kMostHeaderBytes =
    16U << 10U;  // proxies add some, and the cookies of their own
constexpr std::size_t kNonceBytes = 16;
constexpr std::size_t kMostWaitingBytes =
    64U << 20U;  // of a client that reports drawn frames, and reads none
constexpr std::string_view kNonceMark = "{{nonce}}";
// From a proxy in front of both pages and WebSockets. (jupyter-server-proxy adds
// X-Forwarded-Context only to requests other than WebSockets.)
constexpr std::array kProxyHeaders = {"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"};

std::string_view view_of(beast::string_view text) {
    return {text.data(), text.size()};
}

std::string with_nonce(std::string_view page, const std::string& nonce) {
    std::string text(page);
    for (std::size_t at = 0; (at = text.find(kNonceMark, at)) != std::string::npos;)
        text.replace(at, kNonceMark.size(), nonce);
    return text;
}

http::status status_of(WebAnswer refusal) {
    switch (refusal) {
        case WebAnswer::wrong_host:
            return http::status::misdirected_request;
        case WebAnswer::wrong_method:
            return http::status::method_not_allowed;
        case WebAnswer::not_found:
            return http::status::not_found;
        case WebAnswer::no_socket:
            return http::status::upgrade_required;
        default:
            return http::status::forbidden;
    }
}

}  // namespace

WebConnection::WebConnection(asio::ip::tcp::socket socket, ClientId id, WebShared& shared)
    : stream_(std::move(socket)), id_(id), shared_(shared) {
    beast::error_code gone;
    const auto endpoint = stream_.socket().remote_endpoint(gone);
    if (!gone)
        peer_ = endpoint.address().to_string();
}

void WebConnection::start() {
    beast::error_code ignored;
    stream_.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
    stream_.socket().set_option(asio::socket_base::keep_alive(true), ignored);
    stream_.expires_after(shared_.request_time);  // for all of it, however slowly it comes
    parser_.header_limit(kMostHeaderBytes);
    const auto on_read = [self = shared_from_this()](beast::error_code error, std::size_t) {
        if (!error)
            self->answer_request();
    };
    http::async_read_header(stream_, buffer_, parser_, on_read);
}

void WebConnection::answer_request() {
    const auto& request = parser_.get();
    WebRequest asks;
    asks.reads = request.method() == http::verb::get;
    asks.upgrades = websocket::is_upgrade(request);
    asks.target = view_of(request.target());
    asks.host = view_of(request[http::field::host]);
    asks.origin = view_of(request[http::field::origin]);
    asks.forwarded_host = view_of(request["X-Forwarded-Host"]);
    asks.forwarded = std::ranges::any_of(
        kProxyHeaders, [&request](const char* name) { return request.count(name) > 0; });
    const WebAnswer answer = decide(asks, shared_.rules, shared_.token);
    trusted_ = answer == WebAnswer::page || answer == WebAnswer::socket;
    if (answer == WebAnswer::page)
        return send_page();
    const bool knocks = answer == WebAnswer::socket || answer == WebAnswer::no_socket;
    if (knocks && !shared_.clients.has_room(parse_web_target(asks.target).view))
        return refuse(http::status::service_unavailable, "Too many browsers are connected.");
    if (answer != WebAnswer::socket)
        return refuse(status_of(answer), refusal_text(answer, asks));
    forwarded_ = asks.forwarded;
    open_socket();
}

void WebConnection::refuse(http::status status, std::string_view text) {
    http::response<http::string_body> response(status, 11);
    response.set(http::field::content_type, "text/plain; charset=utf-8");
    response.body() = fmt::format("{}\n", text);
    respond(std::move(response));
}

void WebConnection::send_page() {
    const Result<std::string> nonce = random_token(kNonceBytes);
    if (!nonce)
        return refuse(http::status::internal_server_error, nonce.error().what);
    http::response<http::string_body> response(http::status::ok, 11);
    response.set(http::field::content_type, "text/html; charset=utf-8");
    response.set("Content-Security-Policy",
                 fmt::format("default-src 'none'; script-src 'nonce-{0}'; style-src 'nonce-{0}'; "
                             "img-src data:; connect-src 'self'; base-uri 'none'; "
                             "form-action 'none'",
                             *nonce));
    response.body() = with_nonce(shared_.page, *nonce);
    respond(std::move(response));
}

void WebConnection::respond(http::response<http::string_body> response) {
    response.set(http::field::cache_control, "no-store");
    response.set("Referrer-Policy", "no-referrer");
    response.set("X-Content-Type-Options", "nosniff");
    response.keep_alive(false);
    response.prepare_payload();
    response_ = std::move(response);
    stream_.expires_after(trusted_ ? kAnswerTime : shared_.request_time);
    const auto on_written = [self = shared_from_this()](beast::error_code, std::size_t) {
        beast::error_code ignored;
        self->stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    };
    http::async_write(stream_, *response_, on_written);
}

void WebConnection::open_socket() {
    stream_.expires_never();
    socket_.emplace(std::move(stream_));
    // Nothing is sent to a silent client: at rest there are no bytes. The system detects clients
    // that have vanished (keep_alive). But a proxy ends silent connections: after half of its
    // patience a ping is sent.
    socket_->set_option(
        forwarded_
            ? websocket::stream_base::timeout{kAnswerTime, kProxysPatience, true}
            : websocket::stream_base::timeout{kAnswerTime, websocket::stream_base::none(), false});
    socket_->read_message_max(kMostMessageBytes);
    buffer_.consume(buffer_.size());  // nobody says anything before the handshake is over
    socket_->binary(true);
    socket_->auto_fragment(false);
    const auto on_accepted = [self = shared_from_this()](beast::error_code error) {
        if (error || self->closing_)
            return;
        const WebTarget target = parse_web_target(view_of(self->parser_.get().target()));
        if (!self->shared_.clients.has_room(target.view))
            return self->close(websocket::close_code::try_again_later);
        self->joined_ = true;
        self->shared_.clients.joined(self->id_, target.view);
        self->read_message();
    };
    socket_->async_accept(parser_.get(), on_accepted);
}

void WebConnection::read_message() {
    const auto on_read = [self = shared_from_this()](beast::error_code error, std::size_t bytes) {
        if (!error)
            return self->receive(bytes);
        if (std::exchange(self->joined_, false))
            self->shared_.clients.left(self->id_);
    };
    socket_->async_read(buffer_, on_read);
}

void WebConnection::receive(std::size_t bytes) {
    const std::span message(static_cast<const std::byte*>(buffer_.data().data()), bytes);
    if (!closing_ && (!socket_->got_binary() || !shared_.clients.received(id_, message)))
        close(websocket::close_code::policy_error);
    buffer_.consume(bytes);
    read_message();
}

void WebConnection::send(std::vector<std::byte> message) {
    if (closing_ || !joined_)
        return;
    waiting_bytes_ += message.size();
    if (waiting_bytes_ > kMostWaitingBytes)
        return abandon();
    waiting_.push_back(std::move(message));
    if (waiting_.size() == 1)
        write_message();
}

void WebConnection::write_message() {
    const std::vector<std::byte>& message = waiting_.front();
    const auto on_written = [self = shared_from_this()](beast::error_code error, std::size_t) {
        if (error)
            return;  // the reader ends as well
        self->waiting_bytes_ -= self->waiting_.front().size();
        self->waiting_.pop_front();
        if (!self->waiting_.empty())
            self->write_message();
    };
    socket_->async_write(asio::buffer(message.data(), message.size()), on_written);
}

void WebConnection::close(websocket::close_code code) {
    if (std::exchange(closing_, true))
        return;
    if (!socket_)
        return stream_.cancel();
    socket_->async_close(code, [self = shared_from_this()](beast::error_code) {});
}

void WebConnection::abandon() {
    abandoned_ = true;
    closing_ = true;
    (socket_ ? beast::get_lowest_layer(*socket_) : stream_).close();
}

}  // namespace tidemark::viz
