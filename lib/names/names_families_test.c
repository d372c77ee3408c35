/* Checks that all forms in which reports write one function have the same normalised name: a Swift
 * function, its closures, its async parts and the thunks around it, mangled by compilers of all
 * ages, in full and simplified. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "names/names.h"

enum { FORMS_MAX = 32 };

struct name_family {
    const char *normalised;
    const char *forms[FORMS_MAX]; /* NULL ends the list */
};

static const struct name_family families[] = {
    {"Cart.add(item:)",
     {"$s4Shop4CartC3add4itemyAA4ItemV_tF",
      "Shop.Cart.add(item: Shop.Item) -> ()",
      "Cart.add(item:)",
      "$s4Shop4CartC3add4itemyAA4ItemV_tFTo",
      "@objc Shop.Cart.add(item: Shop.Item) -> ()",
      "@objc Cart.add(item:)",
      "$s4Shop4CartC3add4itemyAA4ItemV_tFTm",
      "merged Shop.Cart.add(item: Shop.Item) -> ()",
      "$s4Shop4CartC3add4itemyAA4ItemV_tFTj",
      "dispatch thunk of Shop.Cart.add(item: Shop.Item) -> ()",
      "dispatch thunk of Cart.add(item:)",
      "$s4Shop4CartC3add4itemyAA4ItemV_tFTA",
      "partial apply forwarder for Shop.Cart.add(item: Shop.Item) -> ()",
      "partial apply for Cart.add(item:)",
      "$s4Shop4CartC3add4itemyAA4ItemV_tFTf4nn_n",
      "function signature specialization <> of Shop.Cart.add(item: Shop.Item) -> ()",
      "specialized Cart.add(item:)",
      "$s4Shop4CartC3add4itemyAA4ItemV_tFTf4nd_n",
      "function signature specialization <Arg[1] = Dead> of Shop.Cart.add(item: Shop.Item) -> ()",
      "_T04Shop4CartC3addyAA4ItemV4item_tF",
      "_TFC4Shop4Cart3addfT4itemVS_4Item_T_",
      "_TToFC4Shop4Cart3addfT4itemVS_4Item_T_",
      "$s4Shop4CartC3add4itemyAA4ItemV_tF.cold.1",
      "Shop.Cart.add(item: Shop.Item) -> () with unmangled suffix \".cold.1\"",
      "_$s4Shop4CartC3add4itemyAA4ItemV_tF"}},
    {"Cart.load",
     {"$s4Shop4CartC4loadyyYaF", "Shop.Cart.load() async -> ()", "Cart.load()",
      "$s4Shop4CartC4loadyyYaFTY0_",
      "(1) suspend resume partial function for Shop.Cart.load() async -> ()",
      "$s4Shop4CartC4loadyyYaFTQ1_",
      "(2) await resume partial function for Shop.Cart.load() async -> ()",
      "$s4Shop4CartC4loadyyYaFTY12_",
      "(13) suspend resume partial function for Shop.Cart.load() async -> ()",
      "$s4Shop4CartC4loadyyYaFTu", "async function pointer to Shop.Cart.load() async -> ()",
      "async function pointer to Cart.load()", "$s4Shop4CartC4loadyyYaKF",
      "Shop.Cart.load() async throws -> ()", "$s4Shop4CartC4loadyyYaF.resume.0",
      "Shop.Cart.load() async -> () with unmangled suffix \".resume.0\""}},
    {"closure in Cart.load",
     {"$s4Shop4CartC4loadyyYaFyyYaYbcfU_",
      "closure #1 @Sendable () async -> () in Shop.Cart.load() async -> ()",
      "closure #1 in Cart.load()", "$s4Shop4CartC4loadyyYaFyyYaYbcfU0_TY0_",
      "(1) suspend resume partial function for closure #2 @Sendable () async -> () in "
      "Shop.Cart.load() async -> ()",
      "closure #2 in Cart.load()", "$s4Shop4CartC4loadyyYaFyyYaYbcfU_TQ1_",
      "(2) await resume partial function for closure #1 @Sendable () async -> () in "
      "Shop.Cart.load() async -> ()",
      "$s4Shop4CartC4loadyyYaFyyYacfU3_",
      "closure #5 () async -> () in Shop.Cart.load() async -> ()", "closure #5 in Cart.load()",
      "$s4Shop4CartC4loadyyYaFyyYaYbcfU_TATQ0_",
      "(1) await resume partial function for partial apply forwarder for closure #1 @Sendable () "
      "async -> () in Shop.Cart.load() async -> ()",
      "partial apply for closure #1 in Cart.load()", "$s4Shop4CartC4loadyyYaFyyYaYbcfU_TA",
      "partial apply forwarder for closure #1 @Sendable () async -> () in Shop.Cart.load() async "
      "-> ()"}},
    {"closure in Cart.sort(by:)",
     {"$s4Shop4CartC4sort2byySbAA4ItemV_AGtXE_tFSbAG_AGtXEfU_",
      "closure #1 (Shop.Item, Shop.Item) -> Swift.Bool in Shop.Cart.sort(by: (Shop.Item, "
      "Shop.Item) -> Swift.Bool) -> ()",
      "closure #1 in Cart.sort(by:)", "$s4Shop4CartC4sort2byySbAA4ItemV_AGtXE_tFSbAG_AGtXEfU0_",
      "closure #2 (Shop.Item, Shop.Item) -> Swift.Bool in Shop.Cart.sort(by: (Shop.Item, "
      "Shop.Item) -> Swift.Bool) -> ()",
      "closure #2 in Cart.sort(by:)", "$s4Shop4CartC4sort2byySbAA4ItemV_AGtXE_tFSbAG_AGtXEfU_TA",
      "partial apply forwarder for closure #1 (Shop.Item, Shop.Item) -> Swift.Bool in "
      "Shop.Cart.sort(by: (Shop.Item, Shop.Item) -> Swift.Bool) -> ()",
      "partial apply for closure #1 in Cart.sort(by:)"}},
    {"ContentView.body.getter",
     {"$s4Shop11ContentViewV4bodyQrvg", "Shop.ContentView.body.getter : some",
      "ContentView.body.getter", "$s4Shop11ContentViewV4bodyQrvgTo",
      "@objc Shop.ContentView.body.getter : some", "@objc ContentView.body.getter",
      "$s4Shop11ContentViewV4bodyQrvgTf4x_n",
      "function signature specialization <Arg[0] = Exploded> of Shop.ContentView.body.getter : "
      "some",
      "specialized ContentView.body.getter"}},
    {"closure in closure in ContentView.body.getter",
     {"$s4Shop11ContentViewV4bodyQrvgyycfU_yycfU0_",
      "closure #2 () -> () in closure #1 () -> () in Shop.ContentView.body.getter : some",
      "closure #2 in closure #1 in ContentView.body.getter",
      "$s4Shop11ContentViewV4bodyQrvgyycfU1_yycfU_TA",
      "partial apply forwarder for closure #1 () -> () in closure #3 () -> () in "
      "Shop.ContentView.body.getter : some",
      "partial apply for closure #1 in closure #3 in ContentView.body.getter"}},
    {"Cart.total.getter",
     {"$s4Shop4CartC5totalSivg", "Shop.Cart.total.getter : Swift.Int", "Cart.total.getter",
      "$s4Shop4CartC5totalSivgTj", "dispatch thunk of Shop.Cart.total.getter : Swift.Int",
      "dispatch thunk of Cart.total.getter", "$s4Shop4CartC5totalSivgTo",
      "@objc Shop.Cart.total.getter : Swift.Int", "@objc Cart.total.getter",
      "_TFC4Shop4Cartg5totalSi"}},
    {"Cart.total.setter",
     {"$s4Shop4CartC5totalSivs", "Shop.Cart.total.setter : Swift.Int", "Cart.total.setter",
      "_TFC4Shop4Carts5totalSi"}},
    {"Cart.total.modify",
     {"$s4Shop4CartC5totalSivM", "Shop.Cart.total.modify : Swift.Int", "Cart.total.modify",
      "$s4Shop4CartC5totalSivM.resume.0",
      "Shop.Cart.total.modify : Swift.Int with unmangled suffix \".resume.0\""}},
    {"Cart.__allocating_init(size:)",
     {"$s4Shop4CartC4sizeACSi_tcfC", "Shop.Cart.__allocating_init(size: Swift.Int) -> Shop.Cart",
      "Cart.__allocating_init(size:)"}},
    {"Cart.deinit", {"$s4Shop4CartCfd", "Shop.Cart.deinit", "Cart.deinit", "_TFC4Shop4Cartd"}},
    {"Cart.__deallocating_deinit",
     {"$s4Shop4CartCfD", "Shop.Cart.__deallocating_deinit", "Cart.__deallocating_deinit",
      "_TFC4Shop4CartD", "$s4Shop4CartCfDTo", "@objc Shop.Cart.__deallocating_deinit",
      "@objc Cart.__deallocating_deinit"}},
    {"Inner.__deallocating_deinit",
     {"$s4Shop4CartC5InnerCfD", "Shop.Cart.Inner.__deallocating_deinit",
      "Cart.Inner.__deallocating_deinit"}},
    {"run",
     {"$s4Shop3runyyF", "Shop.run() -> ()", "run()", "_TF4Shop3runFT_T_", "_T04Shop3runyyF",
      "$s4Shop3runyyFTm", "merged Shop.run() -> ()"}},
    {"Array.sum",
     {"$sSa4ShopE3sumSiyF", "(extension in Shop):Swift.Array.sum() -> Swift.Int", "Array.sum()",
      "$sSa4ShopE3sumSiyFSi_Tg5",
      "generic specialization <Swift.Int> of (extension in Shop):Swift.Array.sum() -> Swift.Int",
      "specialized Array.sum()"}},
    {"Array.map<T>(_:)",
     {"$sSa3mapySayqd__Gqd__xKXEKlFSi_SSTg5",
      "generic specialization <Swift.Int, Swift.String> of Swift.Array.map<A>((A) throws -> A1) "
      "throws -> [A1]",
      "specialized Array.map<A>(_:)", "$sSa3mapySayqd__Gqd__xKXEKlF",
      "Swift.Array.map<A>((A) throws -> A1) throws -> [A1]", "Array.map<A>(_:)",
      "$sSa3mapySayqd__Gqd__xKXEKlFSS_SiTG5",
      "generic not re-abstracted specialization <Swift.String, Swift.Int> of "
      "Swift.Array.map<A>((A) throws -> A1) throws -> [A1]"}},
    {"Helper.run",
     {"$s4Shop6Helper33_83378C430F65473055F1BD53F3ADCDB7LLV3runyyF",
      "Shop.(Helper in _83378C430F65473055F1BD53F3ADCDB7).run() -> ()", "Helper.run()"}},
    {"static Cart.shared.getter",
     {"$s4Shop4CartC6sharedACvgZ", "static Shop.Cart.shared.getter : Shop.Cart",
      "static Cart.shared.getter", "$s4Shop4CartC6sharedACvgZTo",
      "@objc static Shop.Cart.shared.getter : Shop.Cart", "@objc static Cart.shared.getter",
      "$s4Shop4CartC6sharedACvgZTj", "dispatch thunk of static Shop.Cart.shared.getter : Shop.Cart",
      "dispatch thunk of static Cart.shared.getter"}},
    {"static Item.== infix(_:_:)",
     {"$s4Shop4ItemV2eeoiySbAC_ACtFZ",
      "static Shop.Item.== infix(Shop.Item, Shop.Item) -> Swift.Bool", "static Item.== infix(_:_:)",
      "$s4Shop4ItemV2eeoiySbAC_ACtFZTm",
      "merged static Shop.Item.== infix(Shop.Item, Shop.Item) -> Swift.Bool"}},
    {"static Item.< infix(_:_:)",
     {"$s4Shop4ItemV1loiySbAC_ACtFZ",
      "static Shop.Item.< infix(Shop.Item, Shop.Item) -> Swift.Bool", "static Item.< infix(_:_:)"}},
    {"Cart.subscript.getter",
     {"$s4Shop4CartCyAA4ItemVSicig", "Shop.Cart.subscript.getter : (Swift.Int) -> Shop.Item",
      "Cart.subscript.getter"}},
    {"Cart.draw",
     {"$s4Shop4CartCAA8DrawableA2aDP4drawyyFTW",
      "protocol witness for Shop.Drawable.draw() -> () in conformance Shop.Cart : Shop.Drawable in "
      "Shop",
      "protocol witness for Drawable.draw() in conformance Cart"}},
    {"visit<T>(_:) in walk<T>(_:)",
     {"$s4Shop4walkyyxlF5visitL_yyxlF", "visit #1 <A>(A) -> () in Shop.walk<A>(A) -> ()",
      "visit #1 <A>(_:) in walk<A>(_:)", "$s4Shop4walkyyxlF5visitL0_yyxlF",
      "visit #2 <A>(A) -> () in Shop.walk<A>(A) -> ()", "visit #2 <A>(_:) in walk<A>(_:)"}},
    {"default argument 0 of Cart.add(item:)",
     {"$s4Shop4CartC3add4itemyAA4ItemV_tFfA_",
      "default argument 0 of Shop.Cart.add(item: Shop.Item) -> ()",
      "default argument 0 of Cart.add(item:)", "_TIFC4Shop4Cart3addFT4itemVS_4Item_T_A_"}},
    {"type metadata accessor for Cart",
     {"$s4Shop4CartVMa", "type metadata accessor for Shop.Cart", "type metadata accessor for Cart",
      "_TMaV4Shop4Cart"}},
    {"outlined init with copy of Cart",
     {"$s4Shop4CartVWOc", "outlined init with copy of Shop.Cart",
      "outlined init with copy of Cart"}},
    {"CartView.build.<anonymous closure>",
     {"CartView.build.<anonymous closure>",
      "CartView.build.<anonymous closure>.<anonymous closure>",
      "CartView.build.<anonymous closure>.<anonymous closure>.<anonymous closure>"}},
    {"Feed.load",
     {"Feed.load", "Feed.load.<locals>.<listcomp>", "Feed.load.<locals>.<dictcomp>",
      "Feed.load.<locals>.<setcomp>.<locals>.<listcomp>"}},
    {"Feed.load.<locals>.<genexpr>",
     {"Feed.load.<locals>.<genexpr>", "Feed.load.<locals>.<listcomp>.<locals>.<genexpr>"}},
    {"outlined destroy of Cart?",
     {"$s4Shop4CartVSgWOh", "outlined destroy of Shop.Cart?", "outlined destroy of Cart?"}},
};

static void every_form_of_a_function_has_one_name(void **state) {
    (void)state;
    struct strbuf b = {0};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        assert_non_null(families[i].forms[0]);
        for (const char *const *form = families[i].forms; *form; form++) {
            strbuf_clear(&b);
            names_normalise(*form, strlen(*form), &b);
            if (strcmp(strbuf_cstr(&b), families[i].normalised) != 0) {
                fail_msg("%s: '%s', not '%s'", *form, strbuf_cstr(&b), families[i].normalised);
            }
        }
    }
    strbuf_release(&b);
}

static void families_differ(void **state) {
    (void)state;
    size_t count = sizeof families / sizeof *families;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = i + 1; k < count; k++) {
            assert_string_not_equal(families[i].normalised, families[k].normalised);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_of_a_function_has_one_name),
        cmocka_unit_test(families_differ),
    };
    return cmocka_run_group_tests_name("names_families", tests, NULL, NULL);
}
