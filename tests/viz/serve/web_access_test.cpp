// Who is let in, and who isn't.
#include "viz/serve/web_access.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

namespace tidemark::viz {
namespace {

using Catch::Contains;

constexpr std::string_view kToken = "00ff00ff00ff";
constexpr std::string_view kPage = "/?token=00ff00ff00ff";
constexpr std::string_view kSocket = "/socket?token=00ff00ff00ff&view=1";

WebAnswer answer(const WebRequest& request) {
    return decide(request, HostRules({"gpu.example.org"}, 8765), kToken);
}

// A page's WebSocket.
WebAnswer knock(WebRequest request) {
    request.upgrades = true;
    request.target = kSocket;
    return answer(request);
}

}  // namespace

TEST_CASE("tokens are long, and no two are the same") {
    const auto first = random_token(24);
    REQUIRE(first);
    CHECK(first->size() == 48);
    CHECK(first->find_first_not_of("0123456789abcdef") == std::string::npos);
    CHECK(*first != random_token(24).value_or(*first));
}

TEST_CASE("secrets are equal if every byte is") {
    CHECK(equal_secrets("abc", "abc"));
    CHECK_FALSE(equal_secrets("abc", "abd"));
    CHECK_FALSE(equal_secrets("abc", "bbc"));
    CHECK_FALSE(equal_secrets("abc", "ab"));
    CHECK_FALSE(equal_secrets("", "a"));
}

TEST_CASE("a target is a path, a token and a view") {
    const WebTarget target = parse_web_target("/socket?view=12&token=ab=c&x");
    CHECK(target.name == "socket");
    CHECK(target.token == "ab=c");
    CHECK(target.view == "12");
    CHECK(parse_web_target("").name.empty());
    CHECK(parse_web_target("/proxy/absolute/8765/socket").name == "socket");
    CHECK(parse_web_target("/proxy/8765/?from=https://a.org/socket").name.empty());
    CHECK(parse_web_target("/?from=https://a.org").from == "https://a.org");
    CHECK(parse_web_target("/?token").token.empty());
    CHECK(parse_web_target("/?tokens=1&xtoken=2").token.empty());
}

TEST_CASE("the link's token opens the page and the socket, and nothing else does") {
    CHECK(answer({.target = kPage, .host = "127.0.0.1:80"}) == WebAnswer::page);
    CHECK(answer({.upgrades = true, .target = kSocket, .host = "localhost"}) == WebAnswer::socket);
    CHECK(answer({.target = kSocket, .host = "localhost"}) == WebAnswer::no_socket);
    CHECK(answer({.target = "/", .host = "localhost"}) == WebAnswer::wrong_token);
    CHECK(answer({.target = "/?token=00ff00ff00fe", .host = "localhost"}) ==
          WebAnswer::wrong_token);
    CHECK(answer({.target = "/?token=", .host = "localhost"}) == WebAnswer::wrong_token);
    CHECK(answer({.upgrades = true, .target = "/socket", .host = "localhost"}) ==
          WebAnswer::wrong_token);
    CHECK(answer({.target = "/etc/passwd?token=00ff00ff00ff", .host = "localhost"}) ==
          WebAnswer::not_found);
    CHECK(answer({.reads = false, .target = kPage, .host = "localhost"}) ==
          WebAnswer::wrong_method);
}

TEST_CASE("only names that a foreign page cannot have for its own are served") {
    for (const std::string_view host :
         {"localhost", "LOCALHOST:1", "127.0.0.1:65535", "10.1.2.3", "[::1]:80", "[fe80::1]",
          "gpu.example.org", "GPU.example.org:443"})
        CHECK(answer({.target = kPage, .host = host}) == WebAnswer::page);
    for (const std::string_view host :
         {"", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "localhost:x",
          "[::1", "[::1]x", "127.0.0.1:123456", ":80"})
        CHECK(answer({.target = kPage, .host = host}) == WebAnswer::wrong_host);
}

TEST_CASE("a page of another origin cannot look, not even with the token") {
    const auto from = [](std::string_view origin) {
        return answer(
            {.upgrades = true, .target = kSocket, .host = "localhost:80", .origin = origin});
    };
    CHECK(from("") == WebAnswer::socket);  // no browser
    CHECK(from("http://localhost:80") == WebAnswer::socket);
    CHECK(from("https://localhost:80") == WebAnswer::socket);
    CHECK(from("https://gpu.example.org") == WebAnswer::socket);  // a proxy that is ours
    for (const std::string_view origin :
         {"http://localhost:81", "http://127.0.0.1:80", "null", "http://evil.example", "file://",
          "http://", "ftp://localhost:80", "https://gpu.example.org.evil.example"})
        CHECK(from(origin) == WebAnswer::wrong_origin);
}

TEST_CASE("the port of the other end of a tunnel may be any") {
    // ssh -L 9000:127.0.0.1:8765; VS Code where 8765 is taken.
    for (const std::string_view host : {"127.0.0.1:9000", "localhost:8766", "[::1]:9000"}) {
        const std::string origin = fmt::format("http://{}", host);
        CHECK(answer({.target = kPage, .host = host}) == WebAnswer::page);
        CHECK(knock({.host = host, .origin = origin}) == WebAnswer::socket);
        CHECK(knock({.host = host, .origin = "http://localhost:8765"}) == WebAnswer::wrong_origin);
    }
}

TEST_CASE("page and socket are found under whatever path a proxy leaves") {
    for (const std::string_view path : {"/", "/proxy/absolute/8765/", "/user/me/absproxy/8765/"}) {
        const std::string page = fmt::format("{}?token={}", path, kToken);
        const std::string socket = fmt::format("{}socket?token={}", path, kToken);
        CHECK(answer({.target = page, .host = "localhost"}) == WebAnswer::page);
        CHECK(answer({.upgrades = true, .target = socket, .host = "localhost"}) ==
              WebAnswer::socket);
    }
    for (const std::string_view path : {"/proxy/absolute/8765", "/socket/x", "socket", "/sockets"})
        CHECK(answer({.target = fmt::format("{}?token={}", path, kToken), .host = "localhost"}) ==
              WebAnswer::not_found);
}

TEST_CASE("what a proxy forwards may have any name, if its page is from there") {
    // JupyterHub, caddy, code-server behind them: the browser's Host is kept.
    WebRequest hub{.target = kPage, .host = "hub.example.net", .forwarded = true};
    CHECK(answer(hub) == WebAnswer::page);
    hub.origin = "https://hub.example.net";
    CHECK(knock(hub) == WebAnswer::socket);
    hub.host = "hub.example.net:443";
    CHECK(knock(hub) == WebAnswer::socket);
    for (const std::string_view origin :
         {"https://evil.example", "http://hub.example.net.evil.example", "null",
          "https://hub.example.net:8443", "http://localhost:8764", "http://10.1.2.3:8765"}) {
        hub.origin = origin;
        CHECK(knock(hub) == WebAnswer::wrong_origin);
    }
    // The same without a proxy's word: a name that was pointed here.
    CHECK(knock({.host = "hub.example.net", .origin = "https://hub.example.net"}) ==
          WebAnswer::wrong_host);
    CHECK(answer({.target = "/", .host = "hub.example.net", .forwarded = true}) ==
          WebAnswer::wrong_token);
}

TEST_CASE("a proxy that writes over Host or Origin is understood") {
    const std::string_view tunnel = "k7x2-8765.euw.devtunnels.ms";
    // VS Code's tunnels: both are written over. Codespaces: Origin alone. nginx: Host alone.
    CHECK(knock({.host = "localhost",
                 .origin = "http://localhost:8765",
                 .forwarded = true,
                 .forwarded_host = tunnel}) == WebAnswer::socket);
    CHECK(knock({.host = tunnel, .origin = "https://localhost:8765", .forwarded = true}) ==
          WebAnswer::socket);
    CHECK(knock({.host = "127.0.0.1:8765",
                 .origin = "https://k7x2-8765.euw.devtunnels.ms",
                 .forwarded = true,
                 .forwarded_host = "k7x2-8765.euw.devtunnels.ms, inner.example"}) ==
          WebAnswer::socket);
    // Nobody says what the browser asked for.
    const WebRequest silent{.host = "127.0.0.1:8765", .origin = "https://k7x2.devtunnels.ms"};
    CHECK(knock(silent) == WebAnswer::wrong_origin);
    CHECK(knock({.host = "127.0.0.1:8765",
                 .origin = "https://evil.example",
                 .forwarded = true,
                 .forwarded_host = tunnel}) == WebAnswer::wrong_origin);
}

TEST_CASE("who is refused is told what to type") {
    const auto said = [](WebAnswer refusal, const WebRequest& request) {
        return refusal_text(refusal, request);
    };
    CHECK_THAT(said(WebAnswer::wrong_host, {.host = "hub.example.net:8000"}),
               Contains("--allow-host hub.example.net (in Python"));
    CHECK_THAT(said(WebAnswer::wrong_origin,
                    {.upgrades = true, .target = kSocket, .origin = "https://view.example.net"}),
               Contains("--allow-host view.example.net (in Python"));
    // The page asks for itself: its WebSocket cannot say why it was refused.
    const WebRequest asks{.target = "/socket?token=00ff00ff00ff&from=https://view.example.net:444",
                          .host = "127.0.0.1:8765"};
    CHECK(answer(asks) == WebAnswer::wrong_origin);
    CHECK_THAT(said(WebAnswer::wrong_origin, asks), Contains("--allow-host view.example.net ("));
    CHECK_THAT(said(WebAnswer::no_socket, {}), Contains("nginx"));
    // Nothing is repeated that isn't a name.
    for (const std::string_view host : {"$(reboot)", "<script>", "-x", ""})
        CHECK_THAT(said(WebAnswer::wrong_host, {.host = host}), Contains("--allow-host NAME"));
    CHECK(said(WebAnswer::page, {}).empty());
}

}  // namespace tidemark::viz
