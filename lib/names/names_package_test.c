/* Tests which library a source file belongs to. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "names/names.h"

static const struct {
    const char *path, *package; /* package: NULL = none */
} paths[] = {
    {"/b/SourcePackages/checkouts/Alamofire/Source/Core/Session.swift", "Alamofire"},
    {"/Users/ann/shop/.build/checkouts/swift-nio/Sources/NIOCore/EventLoop.swift", "swift-nio"},
    {"/Users/ann/shop/Pods/SDWebImage/SDWebImage/Core/SDImageCache.m", "SDWebImage"},
    {"/Users/ann/shop/Carthage/Checkouts/ReactiveSwift/Sources/Signal.swift", "ReactiveSwift"},
    {"/r/.cargo/registry/src/index.crates.io-6f17d22bba15001f/regex-1.10.4/src/lib.rs", "regex"},
    {"/r/.cargo/registry/src/github.com-1ecc6299db9ec823/tokio-util-0.7.10/src/io.rs",
     "tokio-util"},
    {"/r/.cargo/git/checkouts/zed-font-kit-6b7c8d9e0f1a2b3c/4e9f1a2/src/font.rs", "zed-font-kit"},
    {"/root/go/pkg/mod/github.com/gorilla/mux@v1.8.0/mux.go", "github.com/gorilla/mux"},
    {"/root/go/pkg/mod/golang.org/x/text@v0.14.0/unicode/norm/iter.go", "golang.org/x/text"},
    {"/root/go/pkg/mod/gopkg.in/yaml.v3@v3.0.1/decode.go", "gopkg.in/yaml.v3"},
    {"/src/shop/vendor/github.com/lib/pq/conn.go", "github.com/lib/pq"},
    {"/src/shop/vendor/symfony/console/Application.php", "symfony"},
    {"/usr/lib/python3.12/site-packages/requests/api.py", "requests"},
    {"/usr/lib/python3/dist-packages/six.py", "six"},
    {"/opt/shop/node_modules/a/node_modules/lodash/lodash.js", "lodash"},
    {"/opt/shop/node_modules/@babel/core/lib/index.js", "@babel/core"},
    {"C:\\shop\\node_modules\\electron-store\\index.js", "electron-store"},
    {"/home/ann/.pub-cache/hosted/pub.dev/http-1.2.0/lib/src/client.dart", "http"},
    {"/usr/lib/ruby/gems/3.2.0/gems/activerecord-7.1.2/lib/active_record.rb", "activerecord"},
    {"/home/ann/shop/build/_deps/fmt-src/include/fmt/format.h", "fmt"},
    {"../../third_party/sqlite/src/amalgamation/sqlite3.c", "sqlite"},
    {"/shop/src/third_party/stb_image.h", "stb_image"},
    {"external/com_google_absl~1.2/absl/strings/str_cat.cc", "com_google_absl"},
    {"D:/Engine/Source/ThirdParty/PhysX3/PhysX/Source/Scene.cpp", "PhysX3"},
    {"deps/openssl/openssl/crypto/evp/digest.c", "openssl"},
    {"JS:*map /opt/shop/node_modules/lodash/lodash.js:12:3", "lodash"},
    {"/go/pkg/mod/github.com/gohugoio/hugo@v0.1.0/deps/deps.go", "github.com/gohugoio/hugo"},
    {"/src/shop/Sources/Cart.swift", NULL},
    {"/src/shop/mod/src/checkouts/hosted/packages/Checkouts/a.c", NULL},
    {"/home/ci/shop/src/vendor/list.cc", NULL}, /* a vendor may be a seller */
    {"/home/ci/shop/src/deps/graph.cc", NULL},
    {"/src/third_party/", NULL},
    {"/src/third_party//a.c", NULL},
    {"node_modules", NULL},
    {"cart.c", NULL},
    {"", NULL},
};

static void a_source_file_is_of_the_library_in_whose_folder_it_lies(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const char *package, *want = paths[i].package ? paths[i].package : "";
        size_t len;
        bool found = names_package(paths[i].path, strlen(paths[i].path), &package, &len);
        if (found != (paths[i].package != NULL) || len != strlen(want) ||
            memcmp(package, want, len) != 0) {
            fail_msg("%s: '%.*s'", paths[i].path, (int)len, package);
        }
    }
}

static void a_package_of_a_cache_builds_the_program_that_is_named_as_it(void **state) {
    (void)state;
    static const struct {
        const char *path, *program;
        bool builds;
    } rows[] = {{"/go/pkg/mod/github.com/gohugoio/hugo@v0.1.0/deps/deps.go", "hugo", true},
                {"/go/pkg/mod/github.com/acme/till/v2@v2.1.0/ui.go", "till", true},
                {"/r/.cargo/registry/src/index-6f17/bat-0.24.0/src/main.rs", "bat", true},
                {"/r/.cargo/git/checkouts/bat-6b7c8d9e0f1a2b3c/4e9f1a2/src/main.rs", "bat", true},
                {"/go/pkg/mod/github.com/gohugoio/hugo@v0.1.0/deps/deps.go", "ugo", false},
                {"/go/pkg/mod/github.com/gohugoio/hugo@v0.1.0/deps/deps.go", "a/hugo", false},
                {"/go/pkg/mod/github.com/gohugoio/hugo@v0.1.0/deps/deps.go", "", false},
                {"/Users/ann/shop/Pods/Alamofire/Session.swift", "Alamofire", false},
                {"/src/shop/shop.c", "shop", false},
                {"", "shop", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *path = rows[i].path, *program = rows[i].program;
        if (names_builds_program(path, strlen(path), program, strlen(program)) != rows[i].builds) {
            fail_msg("%s: '%s'", path, program);
        }
    }
}

static void the_owner_of_a_java_package_is_its_first_parts(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"com.acme.shop.Cart.load", "com.acme"},
        {"com.acme.Cart$_.run", "com.acme"},
        {"com.acme.shop", "com.acme"},
        {"ub.ab.c", ""}, /* a class of an obfuscated package */
        {"io.github.ann.cart.Cart.load", "io.github.ann"},
        {"org.apache.lucene.index.IndexWriter.commit", "org.apache.lucene"},
        {"io.github", ""},
        {"a.b.c.d", ""},
        {"com.a.Cart.load", ""},
        {"acme.Cart.load", "" /* one part names no owner */},
        {"Cart.load", ""},
        {"shop::Cart::load", ""},
        {"com.acme.shop.load()", ""},
        {"-[Cart load]", ""},
        {"", ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t len = names_owner(rows[i][0], strlen(rows[i][0]));
        if (len != strlen(rows[i][1]) || memcmp(rows[i][0], rows[i][1], len) != 0) {
            fail_msg("%s: '%.*s'", rows[i][0], (int)len, rows[i][0]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_source_file_is_of_the_library_in_whose_folder_it_lies),
        cmocka_unit_test(a_package_of_a_cache_builds_the_program_that_is_named_as_it),
        cmocka_unit_test(the_owner_of_a_java_package_is_its_first_parts),
    };
    return cmocka_run_group_tests_name("names_package", tests, NULL, NULL);
}
