/* Tests of lib/names: a golden table of names, and properties that hold for any bytes. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "names/names.h"

struct row {
    const char *in, *out;
};

static void check_rows(void (*f)(const char *, size_t, struct strbuf *), const struct row *rows,
                       size_t n) {
    struct strbuf b = {0};
    for (size_t i = 0; i < n; i++) {
        strbuf_clear(&b);
        strbuf_addstr(&b, "kept;");
        f(rows[i].in, strlen(rows[i].in), &b);
        char want[512];
        snprintf(want, sizeof want, "kept;%s", rows[i].out);
        assert_string_equal(strbuf_cstr(&b), want);
    }
    strbuf_release(&b);
}
#define CHECK(f, rows) check_rows(f, rows, sizeof(rows) / sizeof *(rows))

static void cxx_names_lose_arguments_return_types_and_template_arguments(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"draw", "draw"},
        {"shop::Cart::add(shop::Item const&, int)", "shop::Cart::add"},
        {"shop::Cart::size() const", "shop::Cart::size"},
        {"shop::Cart::take() &&", "shop::Cart::take"},
        {"shop::Cart::~Cart()", "shop::Cart::~Cart"},
        {"void fill<int>(int)", "fill<T>"},
        {"std::vector<int, std::allocator<int> > make<Factory, 3>(int)", "make<T>"},
        {"unsigned long long checksum<char>(char const*)", "checksum<T>"},
        {"std::map<int, std::pair<int, bool> >::operator[](int const&)", "std::map<T>::operator[]"},
        {"void run<void ()>()", "run<T>"},
        {"void pick<4>(int (&&) [(4)+(1)])", "pick<T>"},
        {"void pick<(3)>(2)>(int)", "pick<T>"},
        {"void pick<((3)>(2))>(int)", "pick<T>"},
        {"compare<&Item::operator< >(Item)", "compare<T>"},
        {"compare<&Item::operator->>(Item)", "compare<T>"},
        {"int (*handler_of<short>(int (*)(long)))(long)", "handler_of<T>"},
        {"int (*Table::find<int>() const)()", "Table::find<T>"},
        {"sort(int (*)(void const*, void const*), int (Item::*)())", "sort"},
        {"decltype ({parm#1}+(size())) List<int>::grow<int>(int)", "List<T>::grow<T>"},
        {"decltype ({parm#1})::type copy<S>(S)", "copy<T>"},
        {"auto& at<int>(int const&, int)", "at<T>"},
        {"void Cart<Item>::add()::Local::f() const::Inner::g() const",
         "Cart<T>::add::Local::f::Inner::g"},
        {"shop::load(int)::cache", "shop::load::cache"},
        {"std::ios_base::failure[abi:cxx11]::failure(char const*)",
         "std::ios_base::failure::failure"},
        {"unsigned int", "unsigned int"},
        {"typeinfo for Cart<int>", "typeinfo for Cart<T>"},
        {"vtable for shop::Cart", "vtable for shop::Cart"},
        {"guard variable for shop::load()::cache", "guard variable for shop::load::cache"},
        {"non-virtual thunk to shop::Cart::draw(int)", "shop::Cart::draw"},
        {"virtual thunk to non-virtual thunk to shop::Cart::draw()", "shop::Cart::draw"},
        {"_ZN4shop4CartE", "shop::Cart"},
        {"java.lang.Thread.run", "java.lang.Thread.run"},
        {"(program)", "(program)"},
    };
    CHECK(names_normalise, rows);
}

static void operators_are_kept_whole(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"operator<<(std::ostream&, Item const&)", "operator<<"},
        {"bool operator< <char>(Item<char> const&)", "operator< <T>"},
        {"std::ostream& std::operator<< <char>(std::ostream&, char const*)", "std::operator<< <T>"},
        {"void operator-<42>(A<(42)+(2)>::T)", "operator-<T>"},
        {"Item::operator<=>(Item const&) const", "Item::operator<=>"},
        {"Item::operator>>=(int)", "Item::operator>>="},
        {"Item::operator()(int, int) const", "Item::operator()"},
        {"std::function<void (int)>::operator()(int) const", "std::function<T>::operator()"},
        {"Item::operator->()", "Item::operator->"},
        {"Item::operator->*(int)", "Item::operator->*"},
        {"Item::operator*()", "Item::operator*"},
        {"Item::operator,(int)", "Item::operator,"},
        {"operator new(unsigned long)", "operator new"},
        {"operator new[](unsigned long, std::nothrow_t const&)", "operator new[]"},
        {"operator delete(void*)", "operator delete"},
        {"Item::operator bool() const", "Item::operator bool"},
        {"Item::operator char const*() const", "Item::operator char const*"},
        {"Item::operator std::vector<int>() const", "Item::operator std::vector<T>"},
        {"Item::operator T*<int>()", "Item::operator T*<T>"},
        {"operator\"\" _km(long double)", "operator\"\"_km"},
        {"shop::operator_count(int)", "shop::operator_count"},
        {"my_operator(int)", "my_operator"},
        {"operator", "operator"},
    };
    CHECK(names_normalise, rows);
}

static void anonymous_things_lose_their_numbers(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"(anonymous namespace)::helper(int)", "(anonymous namespace)::helper"},
        {"void (anonymous namespace)::Pool<int>::run(int)", "(anonymous namespace)::Pool<T>::run"},
        {"{anonymous}::helper()", "(anonymous namespace)::helper"},
        {"<unnamed>::helper()", "(anonymous namespace)::helper"},
        {"start(int)::{lambda(int, char)#2}::operator()(int, char) const",
         "start::{lambda}::operator()"},
        {"start()::'lambda'(int)::operator()(int) const", "start::{lambda}::operator()"},
        {"start()::'lambda12'(int)::operator()(int) const", "start::{lambda}::operator()"},
        {"start()::<lambda(int)>", "start::{lambda}"},
        {"start()::$_0::operator()() const", "start::{lambda}::operator()"},
        {"start()::$_12::__invoke()", "start::{lambda}::__invoke"},
        {"void each<start()::{lambda()#2}>(start()::{lambda()#2})", "each<T>"},
        {"visit(Shop::{unnamed type#1})", "visit"},
        {"Shop::{unnamed type#3}::get()", "Shop::{unnamed type}::get"},
        {"start()::'unnamed2'::get()", "start::{unnamed type}::get"},
        {"invocation function for block in shop::load(int)", "block in shop::load"},
        {"__hidden#12_", "__hidden#"},
        {"__hidden#7_", "__hidden#"},
        {"OUTLINED_FUNCTION_12", "OUTLINED_FUNCTION_"},
        {"_OUTLINED_FUNCTION_0", "OUTLINED_FUNCTION_"},
        {"OUTLINED_FUNCTION_", "OUTLINED_FUNCTION_"},
        {"OUTLINED_FUNCTION_12b", "OUTLINED_FUNCTION_12b"},
    };
    CHECK(names_normalise, rows);
}

static void what_compilers_and_linkers_append_goes(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"load.cold", "load"},
        {"load.cold.1", "load"},
        {"load.part.0", "load"},
        {"load.part.0.cold.3", "load"},
        {"load.isra.0", "load"},
        {"load.constprop.0.isra.1", "load"},
        {"load.lto_priv.12", "load"},
        {"load.llvm.1234567890", "load"},
        {"load.llvm.A5310EB9", "load"},
        {"load.__uniq.1234567.llvm.99", "load"},
        {"load._omp_fn.0", "load"},
        {"load.123", "load"},
        {"load(int) [clone .cold]", "load"},
        {"load(int) [clone .constprop.2] [clone .cold]", "load"},
        {"load(int) (.cold)", "load"},
        {"shop::load(int) (.resume)", "shop::load"},
        {"shop::load(int) [clone .resume]", "shop::load"},
        {"void load<int>(int) [clone ._omp_fn.2]", "load<T>"},
        {"fsync@plt", "fsync"},
        {"fsync@@GLIBC_2.17", "fsync"},
        {"fsync@GLIBC_2.2.5", "fsync"},
        {"_dispatch_main_queue_callback_4CF$VARIANT$mp", "_dispatch_main_queue_callback_4CF"},
        {"open$NOCANCEL", "open"},
        {"fputs$UNIX2003", "fputs"},
        {"select$DARWIN_EXTSN$NOCANCEL", "select"},
        {".cold", ".cold"},
        {"main.resume",
         "main.resume"}, /* .resume is part of a Go function's name here, not a coroutine's part */
        {"store.cleanup", "store.cleanup"},
        {"  load  ", "load"},
    };
    CHECK(names_normalise, rows);
}

static void objective_c_names_are_kept_whole(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"-[Cart reload]", "-[Cart reload]"},
        {"+[Cart(Sync) merge:with:]", "+[Cart(Sync) merge:with:]"},
        {"-[Cart .cxx_destruct]", "-[Cart .cxx_destruct]"},
        {"-[Cart reload].cold.1", "-[Cart reload]"},
        {"__15-[Cart reload:]_block_invoke", "-[Cart reload:]_block_invoke"},
        {"__15-[Cart reload:]_block_invoke_2", "-[Cart reload:]_block_invoke"},
        {"__15+[Cart reload:]_block_invoke.31", "+[Cart reload:]_block_invoke"},
        {"-[Cart reload:]_block_invoke_3", "-[Cart reload:]_block_invoke"},
        {"__main_block_invoke", "__main_block_invoke"},
        {"__main_block_invoke_2", "__main_block_invoke"},
        {"__copy_helper_block_e8_32s40s", "__copy_helper_block_"},
        {"__destroy_helper_block_e8_32s", "__destroy_helper_block_"},
    };
    CHECK(names_normalise, rows);
}

static void rust_names_lose_hashes_and_type_arguments(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"shop::cart::add::h0123456789abcdef", "shop::cart::add"},
        {"shop::cart::add::hnotahash", "shop::cart::add::hnotahash"},
        {"alloc::vec::Vec<T,A>::push", "alloc::vec::Vec<T>::push"},
        {"shop::cart::sum::<u32>", "shop::cart::sum<T>"},
        {"<shop::Cart as core::fmt::Display>::fmt", "<shop::Cart as core::fmt::Display>::fmt"},
        {"<alloc::boxed::Box<F,A> as FnOnce<Args>>::call_once",
         "<alloc::boxed::Box<T> as FnOnce<T>>::call_once"},
        {"shop::<impl shop::Sum for [u8]>::sum", "shop::<impl shop::Sum for [u8]>::sum"},
        {"shop::main::{{closure}}::h0123456789abcdef", "shop::main::{closure}"},
        {"shop::main::{closure#0}::{closure#2}", "shop::main::{closure}::{closure}"},
        {"shop::{impl#3}::draw", "shop::{impl}::draw"},
        {"core[a1b2c3d4e5f60718]::ptr::drop", "core::ptr::drop"},
        {"shop::cart::add.exit.i.i", "shop::cart::add"},
    };
    CHECK(names_normalise, rows);
}

static void a_witness_is_the_method_of_the_conforming_type(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"protocol witness for View.body.getter in conformance TideList", "TideList.body.getter"},
        {"protocol witness for SwiftUI.View.body.getter : A.Body in conformance Shop.Tides.List : "
         "SwiftUI.View in Shop",
         "Tides.List.body.getter"},
        {"protocol witness for View.body.getter in conformance Tides.List",
         "Tides.List.body.getter"},
        {"protocol witness for Comparable.< infix(_:_:) in conformance Waypoint",
         "Waypoint.< infix(_:_:)"},
        {"protocol witness for static Swift.Comparable.< infix(A, A) -> Swift.Bool in conformance "
         "Shop.Waypoint : Swift.Comparable in Shop",
         "static Waypoint.< infix(_:_:)"},
        {"protocol witness for mangling.WitnessTest.take<A, B where A: mangling.WitnessTest>(A1, "
         "y: B1) -> () in conformance <A> mangling.Context<A> : mangling.WitnessTest in mangling",
         "Context.take<T>(_:y:)"},
        {"protocol witness for WitnessTest.take<A, B>(_:y:) in conformance <A> Context<A>",
         "Context.take<T>(_:y:)"},
        {"(2) suspend resume partial function for protocol witness for Loader.load() in "
         "conformance Cart",
         "Cart.load"},
        {"protocol witness for Encodable.encode(to:) in conformance (Cart in _83378C430F65473055F1B"
         "D53F3ADCDB7)",
         "Cart.encode(to:)"},
        {"protocol witness for Drawable.draw() in conformance [A]", "Drawable.draw"},
        {"protocol witness for Drawable.draw()", "Drawable.draw"},
        {"protocol witness for draw() in conformance Cart", "draw"},
    };
    CHECK(names_normalise, rows);
}

static void the_member_of_a_witness_is_known(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"protocol witness for View.body.getter in conformance TideList", "body.getter"},
        {"merged protocol witness for static Swift.Comparable.< infix(A, A) -> Swift.Bool in "
         "conformance Shop.Waypoint : Swift.Comparable in Shop",
         "< infix(_:_:)"},
        {"Cart.draw()", ""},
        {"protocol witness for draw() in conformance Cart", ""},
        {"protocol witness table for Cart : Drawable in Shop", ""},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct strbuf member = {0};
        assert_int_equal(names_witness(rows[i].in, strlen(rows[i].in), &member),
                         rows[i].out[0] != '\0');
        assert_string_equal(strbuf_cstr(&member), rows[i].out);
        strbuf_release(&member);
    }
}

static void go_names_keep_receivers_and_lose_closure_numbers(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"main.(*Server).serve", "main.(*Server).serve"},
        {"main.(*Server).serve.func1", "main.(*Server).serve.func"},
        {"main.main.func2.1.3", "main.main.func"},
        {"main.main.gowrap1", "main.main.gowrap"},
        {"main.(*Server).serve-fm", "main.(*Server).serve"},
        {"main.Server.serve-fm", "main.Server.serve"},
        {"github.com/a/b.(*List[...]).Push", "github.com/a/b.(*List[T]).Push"},
        {"main.Map[go.shape.int,go.shape.string]", "main.Map[T]"},
        {"main.init.0", "main.init"},
        {"main.func_count", "main.func_count"},
    };
    CHECK(names_normalise, rows);
}

static void swift_names_keep_labels_and_lose_types_and_wrappers(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"Shop.Cart.add(item: Shop.Item, Swift.Int) -> ()", "Cart.add(item:_:)"},
        {"Shop.Cart.clear() -> ()", "Cart.clear"},
        {"@objc Shop.Cart.viewDidLoad() -> ()", "Cart.viewDidLoad"},
        {"@objc static Cart.make()", "static Cart.make"},
        {"function signature specialization <Arg[0] = [Closure Propagated : closure #1 () -> () in "
         "Shop.load() -> (), Argument Types : [Swift.Int]> of Shop.sort(by: Swift.Int) -> ()",
         "sort(by:)"},
        {"@objc completion handler block implementation for @escaping @callee_unowned () -> ()",
         "completion handler block"},
        {"Cart.add(item:_:)", "Cart.add(item:_:)"},
        {"Shop.Cart.load() async throws -> [Shop.Item]", "Cart.load"},
        {"static Shop.Cart.shared.getter : Shop.Cart", "static Cart.shared.getter"},
        {"Shop.Cart.total.setter : Swift.Int", "Cart.total.setter"},
        {"Shop.Cart.init(size: Swift.Int) -> Shop.Cart", "Cart.init(size:)"},
        {"Shop.Cart.__deallocating_deinit", "Cart.__deallocating_deinit"},
        {"closure #1 (Shop.Item) -> Swift.Bool in Shop.Cart.sort(by: Shop.Key) -> ()",
         "closure in Cart.sort(by:)"},
        {"closure #2 () -> () in closure #1 () -> () in Shop.run() -> ()",
         "closure in closure in run"},
        {"partial apply forwarder for closure #1 () -> () in Shop.run() -> ()", "closure in run"},
        {"partial apply for closure #1 in run()", "closure in run"},
        {"generic specialization <Shop.Item> of Shop.Cart.map<A>((Shop.Item) -> A) -> [A]",
         "Cart.map<T>(_:)"},
        {"function signature specialization <Arg[0] = Dead> of Shop.Cart.add(item: Shop.Item) -> "
         "()",
         "Cart.add(item:)"},
        {"specialized Cart.add(item:)", "Cart.add(item:)"},
        {"merged Shop.Cart.total.getter : Swift.Int", "Cart.total.getter"},
        {"@objc Shop.Cart.viewDidLoad() -> ()", "Cart.viewDidLoad"},
        {"dispatch thunk of Shop.Cart.draw() -> ()", "Cart.draw"},
        {"protocol witness for Shop.View.draw() -> () in conformance Shop.Cart : Shop.View in Shop",
         "Cart.draw"},
        {"reabstraction thunk helper from @callee_owned () -> () to @callee_owned () -> (@out ())",
         "reabstraction thunk"},
        {"(1) suspend resume partial function for Shop.Cart.load() async -> ()", "Cart.load"},
        {"(2) await resume partial function for Shop.Cart.load() async -> ()", "Cart.load"},
        {"(extension in Shop):Swift.Array.sum() -> Swift.Int", "Array.sum"},
        {"Shop.(Helper in _83378C430F65473055F1BD53F3ADCDB7).run() -> ()", "Helper.run"},
        {"visit #1 (A) -> () in Shop.walk<A>(A) -> ()", "visit(_:) in walk<T>(_:)"},
        {"Shop.Cart.add(item: Shop.Item) -> () with unmangled suffix \".cold.1\"",
         "Cart.add(item:)"},
    };
    CHECK(names_normalise, rows);
}

static void marks_and_numbers_of_virtual_machines_are_folded(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"JS:*draw", "JS:draw"},
        {"JS:~draw", "JS:draw"},
        {"JS:^draw", "JS:draw"},
        {"JS:+draw", "JS:draw"},
        {"JS:*'draw", "JS:draw"},
        {"JS:draw", "JS:draw"},
        {"LazyCompile:~draw", "JS:draw"},
        {"LazyCompile:~draw /opt/shop/resources/app/map.js:148:16", "JS:draw app/map.js"},
        {"JS:~draw file:///opt/shop/resources/app/map.js:148:16", "JS:draw app/map.js"},
        {"JS:*draw C:\\Users\\ann\\shop\\src\\map.js:9", "JS:draw src\\map.js"},
        {"JS:* file:///map.js:1:1", "JS: /map.js"},
        {"JS:*get node:internal/fs:4:2", "JS:get node:internal/fs"},
        {"JS:*get fs.js:4:2", "JS:get fs.js"},
        {"JS:*get native", "JS:get native"},
        {"JS:*get :1:2", "JS:get"},
        {"JS:~draw ", "JS:draw"},
        {"JS:draw:12", "JS:draw:12"},
        {"Function:*draw", "JS:draw"},
        {"Function::draw", "Function::draw"},
        {"JS::Call", "JS::Call"},
        {"Shop.Page.<OnTapped>b__4_0", "Shop.Page.<OnTapped>b__"},
        {"Shop.Page.<Load>d__7.MoveNext", "Shop.Page.<Load>d__.MoveNext"},
        {"Shop.Page+<Load>d__7.MoveNext", "Shop.Page+<Load>d__.MoveNext"},
        {"Shop.Page+<Save>d__9.MoveNext", "Shop.Page+<Save>d__.MoveNext"},
        {"Shop.Page+<>c.<Load>b__3_1", "Shop.Page+<>c.<Load>b__"},
        {"a::operator+<int>(a const&)", "a::operator+<T>"},
        {"a::operator++<int>(a&)", "a::operator++<T>"},
        {"Shop.Page.<>c__DisplayClass3_0.<Load>b__0", "Shop.Page.<>c__DisplayClass.<Load>b__"},
        {"Shop.Page.<>c.<Load>b__3_1", "Shop.Page.<>c.<Load>b__"},
        {"Shop.Page.<Load>g__Inner|12_0", "Shop.Page.<Load>g__Inner|"},
        {"Page_U3CLoadU3Eb__4_0_m12AB", "Page_U3CLoadU3Eb___m12AB"},
        {"U3CU3Ec__DisplayClass7_0_U3CLoadU3Eb__1_mAB", "U3CU3Ec__DisplayClass_U3CLoadU3Eb___mAB"},
        {"Shop.Page.<Load>b__", "Shop.Page.<Load>b__"},
        {"shop.Fetcher.lambda$load$0$Fetcher", "shop.Fetcher.lambda$load"},
        {"shop.Fetcher.lambda$load$12", "shop.Fetcher.lambda$load"},
        {"shop.Fetcher.lambda$load$0$shop-Fetcher", "shop.Fetcher.lambda$load"},
        {"shop.Map$onCreate$1$2.invoke", "shop.Map$onCreate$_.invoke"},
        {"shop.Map$onCreate$1$3.invoke", "shop.Map$onCreate$_.invoke"},
        {"shop.Map$7.run", "shop.Map$_.run"},
        {"shop.Map$Entry2$Key.get", "shop.Map$Entry2$Key.get"},
        {"shop.Map.load$default", "shop.Map.load"},
        {"shop.Map.load$app_debug", "shop.Map.load"},
        {"shop.Map.load$app_freeRelease", "shop.Map.load"},
        {"shop.Map.load$lib_maps_release$default", "shop.Map.load"},
        {"shop.Map.getTiles$app_release(Map.kt)", "shop.Map.getTiles"},
        {"shop.Map.load$cache", "shop.Map.load$cache"},
        {"shop.Map.load$release", "shop.Map.load$release"},
        {"shop.Map.$default", "shop.Map.$default"},
        {"shop.Map$app_debug.load", "shop.Map$app_debug.load"},
        {"shop.ComposableSingletons$MapKt$lambda-1$1.invoke",
         "shop.ComposableSingletons$MapKt$lambda-_$_.invoke"},
        {"shop.ComposableSingletons$MapKt$lambda-12$1.invoke",
         "shop.ComposableSingletons$MapKt$lambda-_$_.invoke"},
        {"shop.ComposableSingletons$MapKt.lambda$-1208346$lambda$0",
         "shop.ComposableSingletons$MapKt.lambda-_$lambda$_"},
        {"shop.Map$lambda-x.get", "shop.Map$lambda-x.get"},
        {"shop.Map.<init>", "shop.Map.<init>"},
        {"shop.Map.<clinit>", "shop.Map.<clinit>"},
        {"shop.Map$1.<init>", "shop.Map$_.<init>"},
        {"Object.<anonymous>", "Object.<anonymous>"},
        {"load.<locals>.inner", "load.<locals>.inner"},
        {"shop.Map$$ExternalSyntheticLambda0.run", "shop.Map$$ExternalSyntheticLambda0.run"},
        {"shop.-$$Lambda$Map$4xY.run", "shop.-$$Lambda$Map$4xY.run"},
        {"open$1050", "open$1050"},
    };
    CHECK(names_normalise, rows);
}

static void images_lose_folders_and_versions(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"libc.so.6", "libc.so"},
        {"/lib/x86_64-linux-gnu/libc.so.6", "libc.so"},
        {"libc-2.36.so", "libc.so"},
        {"libstdc++.so.6.0.30", "libstdc++.so"},
        {"ld-linux-x86-64.so.2", "ld-linux-x86-64.so"},
        {"libgtk-3.so.0.2404.29", "libgtk.so"},
        {"libglib-2.0.so.0", "libglib.so"},
        {"libQt5Core.so.5", "libQtCore.so"},
        {"libQt6WaylandClient.so.6.4", "libQtWaylandClient.so"},
        {"libKF6ConfigCore.so.6", "libKFConfigCore.so"},
        {"libQt5DBus.so.5", "libQtDBus.so"},
        {"libX11.so.6", "libX11.so"},
        {"libxml2.2.dylib", "libxml2.2.dylib"},
        {"libSDL2_image.so", "libSDL2_image.so"},
        {"libshop-64.so", "libshop-64.so"},
        {"libsqlite3.so.0", "libsqlite3.so"},
        {"libpython3.11.so.1.0", "libpython.so"},
        {"libboost_regex.so.1.74.0", "libboost_regex.so"},
        {"libz.1.2.11.dylib", "libz.dylib"},
        {"libsystem_kernel.dylib", "libsystem_kernel.dylib"},
        {"libobjc.A.dylib", "libobjc.A.dylib"},
        {"/private/var/Shop.app/Shop", "Shop"},
        {"Shop.app/", "Shop.app"},
        {"UIKitCore", "UIKitCore"},
        {"python3.11", "python"},
        {"select.cpython-311-x86_64-linux-gnu.so", "select.so"},
        {"perl5.36.0", "perl"},
        {"1.5", "1.5"},
        {"Shop 1.5", "Shop 1.5"},
        {"[vdso]", "[vdso]"},
        {"/usr/bin/app (deleted)", "app"},
        {"1.so", "1.so"},
        {".so", ".so"},
        {"/", "/"},
    };
    CHECK(names_image, rows);
}

/* Fills out with pseudo-random text (xorshift) of the characters and words that matter to the
 * scanners, and returns its length. */
static size_t odd_text(uint64_t *seed, char *out, size_t cap) {
    static const char *const parts[] = {"<",         ">",        "(",      ")",    "[",
                                        "]",         "{",        "}",      "::",   " ",
                                        "a",         "operator", "->",     "#1",   "$_1",
                                        "'",         ".",        "0",      ":",    " in ",
                                        "closure #", ".cold",    "@",      "~",    "\"",
                                        ",",         "_",        "-[",     "__1",  "(anonymous",
                                        "{lambda",   " const",   "<impl ", "\x80", "*"};
    size_t len = 0;
    for (size_t i = 0; i < 40; i++) {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        const char *part = parts[*seed % (sizeof parts / sizeof *parts)];
        if (len + strlen(part) < cap) {
            memcpy(out + len, part, strlen(part));
            len += strlen(part);
        }
    }
    return len;
}

static void a_generic_tells_what_it_was_made_for(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"std::vector<shop::Item>::push_back(shop::Item const&)", "shop::Item"},
        {"void std::__invoke_impl<void, shop::start()::{lambda(int)#2}&, int>(int)",
         "shop::start()::{lambda(int)#2}"},
        {"std::_Function_handler<void (int), shop::start()::{lambda(int)#1}>::_M_invoke(int)",
         "shop::start()::{lambda(int)#1}"},
        {"std::map<std::string, shop::Cart<int>::Row*>::find(std::string const&)",
         "shop::Cart<int>::Row"},
        {"std::tuple<std::unique_ptr<a::b::C> >::get()", "a::b::C"},
        {"generic specialization <Shop.Item> of Swift.Array.map<A>((A) -> B) -> [B]", "Shop.Item"},
        {"SwiftUI.ModifiedContent<Shop.CartView, SwiftUI._Padding>.body.getter", "Shop.CartView"},
        {"<alloc::vec::Vec<shop::cart::Item> as core::ops::Drop>::drop", "shop::cart::Item"},
        {"std::vector<int>::push_back(shop::Item)",
         ""}, /* shop::Item is not in the brackets of the outermost type */
        {"std::vector<Item>::push_back", ""}, /* Item has no module in front of it */
        {"std::map<std::string, std::vector<std::pair<int, char> > >::find", ""},
        {"shop::Cart::add(int)", ""},
        {"-[Cart<shop::X> add:]", ""},
        {"operator<", ""},
        {"a<b::c", "b::c"},
        {"<<<<", ""},
        {"a<b::", ""},
        {"a<b->c::d>", "c::d"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *type = "";
        size_t len = 0;
        bool found = names_generic_for(rows[i].in, strlen(rows[i].in), &type, &len);
        if (found != (*rows[i].out != 0) || len != strlen(rows[i].out) ||
            memcmp(type, rows[i].out, len) != 0) {
            fail_msg("%s: '%.*s'", rows[i].in, (int)len, type);
        }
    }
}

static void no_name_becomes_empty(void **state) {
    (void)state;
    uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);
    struct strbuf b = {0};
    for (int i = 0; i < 50000; i++) {
        char text[512];
        size_t len = odd_text(&seed, text, sizeof text);
        strbuf_clear(&b);
        names_normalise(text, len, &b);
        assert_true(b.len > 0 && b.len <= 4 * len + 32);
        strbuf_clear(&b);
        names_image(text, len, &b);
        assert_true(b.len > 0 && b.len <= len);
    }
    strbuf_clear(&b);
    names_normalise("", 0, &b);
    assert_int_equal(b.len, 0);
    strbuf_release(&b);
}

static void hostile_names_take_linear_time(void **state) {
    (void)state;
    static const char *const patterns[] = {"<",
                                           "(",
                                           "a<",
                                           "a(",
                                           "[",
                                           "{",
                                           "((<",
                                           ".0",
                                           "a.i",
                                           "::.i",
                                           "operator<",
                                           "$_1",
                                           "'lambda",
                                           "closure #1 in ",
                                           "@a",
                                           " ",
                                           "<(",
                                           "(anonymous<)",
                                           ".func",
                                           "{{",
                                           "-[",
                                           ">",
                                           "x>",
                                           "(C in ",
                                           "_block_invoke",
                                           "a (",
                                           " -> <",
                                           ".",
                                           "(a in _",
                                           " #1",
                                           "...<",
                                           "> of ",
                                           "a.b",
                                           "[",
                                           " in "};
    enum { SIZE = 1 << 19 };
    char *text = malloc(SIZE);
    assert_non_null(text);
    struct strbuf b = {0};
    for (size_t i = 0; i < 2 * (sizeof patterns / sizeof *patterns); i++) {
        /* Each pattern is tested a second time as a Swift name. */
        const char *pattern = patterns[i / 2], *front = i % 2 ? "specialized " : "";
        size_t n = strlen(pattern), start = strlen(front);
        memcpy(text, front, start);
        for (size_t at = start; at < SIZE; at++) {
            text[at] = pattern[(at - start) % n];
        }
        clock_t begin = clock();
        strbuf_clear(&b);
        names_normalise(text, SIZE, &b);
        strbuf_clear(&b);
        names_image(text, SIZE, &b);
        /* Half a megabyte takes some 10 ms; a quadratic scan would take minutes. */
        assert_true((clock() - begin) / (CLOCKS_PER_SEC / 1000) < 2000);
    }
    free(text);
    strbuf_release(&b);
}

static void a_closure_belongs_to_the_function_that_it_was_written_in(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"-[Cart save:]_block_invoke", "-[Cart save:]"},
        {"shop::load::{lambda}::operator()", "shop::load"},
        {"shop::load::{closure}::{closure}", "shop::load"},
        {"closure in closure in Cart.save()", "Cart.save()"},
        {"partial apply for closure in Cart.save()", "Cart.save()"},
        {"_block_invoke", "_block_invoke"},
        {"Cart.build.<anonymous closure>", "Cart.build"},
        {"Cart.load.<locals>.parse.<locals>.{lambda}", "Cart.load"},
        {"shop::load", "shop::load"},
        {"", ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *function;
        size_t len;
        names_enclosing(rows[i][0], strlen(rows[i][0]), &function, &len);
        assert_int_equal(len, strlen(rows[i][1]));
        assert_memory_equal(function, rows[i][1], len);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_closure_belongs_to_the_function_that_it_was_written_in),
        cmocka_unit_test(cxx_names_lose_arguments_return_types_and_template_arguments),
        cmocka_unit_test(operators_are_kept_whole),
        cmocka_unit_test(anonymous_things_lose_their_numbers),
        cmocka_unit_test(what_compilers_and_linkers_append_goes),
        cmocka_unit_test(objective_c_names_are_kept_whole),
        cmocka_unit_test(rust_names_lose_hashes_and_type_arguments),
        cmocka_unit_test(a_witness_is_the_method_of_the_conforming_type),
        cmocka_unit_test(the_member_of_a_witness_is_known),
        cmocka_unit_test(go_names_keep_receivers_and_lose_closure_numbers),
        cmocka_unit_test(swift_names_keep_labels_and_lose_types_and_wrappers),
        cmocka_unit_test(marks_and_numbers_of_virtual_machines_are_folded),
        cmocka_unit_test(images_lose_folders_and_versions),
        cmocka_unit_test(a_generic_tells_what_it_was_made_for),
        cmocka_unit_test(no_name_becomes_empty),
        cmocka_unit_test(hostile_names_take_linear_time),
    };
    return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
