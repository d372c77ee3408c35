/* Tests of names of Swift 3 and older: the forms of docs/ABI/OldMangling.rst, full and simplified.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "demangle/demangle.h"

struct old_row {
    const char *mangled, *full, *simplified;
};

static void check_style(const char *mangled, enum demangle_style style, const char *expected) {
    struct strbuf out = {0};
    enum st st = demangle(mangled, strlen(mangled), style, &out, NULL);
    assert_int_equal(st, expected ? ST_OK : ST_NONE);
    assert_string_equal(strbuf_cstr(&out), expected ? expected : "");
    strbuf_release(&out);
}

static void every_form_is_read(void **state) {
    (void)state;
    static const struct old_row rows[] = {
        {"_TtBf32_", "Builtin.FPIEEE32", "Builtin.FPIEEE32"},
        {"_TtBi8_", "Builtin.Int8", "Builtin.Int8"},
        {"_TtBO", "Builtin.UnknownObject", "Builtin.UnknownObject"},
        {"_TtBv4Bf16_", "Builtin.Vec4xFPIEEE16", "Builtin.Vec4xFPIEEE16"},
        {"_TtBv4Bp", "Builtin.Vec4xRawPointer", "Builtin.Vec4xRawPointer"},
        {"_TtSa", "Swift.Array", "Array"},
        {"_TtSQ", "Swift.ImplicitlyUnwrappedOptional", "ImplicitlyUnwrappedOptional"},
        {"_TtVs5Int32", "Swift.Int32", "Int32"},
        {"_TtCs5Int32", "Swift.Int32", "Int32"},
        {"_TtTSiSu_", "(Swift.Int, Swift.UInt)", "(Int, UInt)"},
        {"_TtTSi3fooSu_", "(Swift.Int, foo: Swift.UInt)", "(Int, foo: UInt)"},
        {"_TtVV4meow6barbar3bas", "meow.barbar.bas", "barbar.bas"},
        {"_TtP_", "Any", "Any"},
        {"_TtP3foo3bar_", "foo.bar", "bar"},
        {"_TtRSi", "inout Swift.Int", "inout Int"},
        {"_TtGSaSi_", "[Swift.Int]", "[Int]"},
        {"_TtMSi", "Swift.Int.Type", "Int.Type"},
        {"_TtXMtC1a1A", "@thin a.A.Type", "@thin A.Type"},
        {"_TtXPMTP_", "@thick Any.Type", "@thick Any.Type"},
        {"_TtFSiFSiSi", "(Swift.Int) -> (Swift.Int) -> Swift.Int", "(_:)"},
        {"_TtFzSiSi", "(Swift.Int) throws -> Swift.Int", "(_:)"},
        {"_TtbSiSu", "@convention(block) (Swift.Int) -> Swift.UInt", "@convention(block) (_:)"},
        {"_TFC3foo3bar3basfT3zimCS_3zim_T_", "foo.bar.bas(zim: foo.zim) -> ()", "bar.bas(zim:)"},
        {"_TF3foooi1pFTCS_3barVS_3bas_OS_3zim", "foo.+ infix(foo.bar, foo.bas) -> foo.zim",
         "+ infix(_:_:)"},
        {"_TF3foooP1xFTCS_3barVS_3bas_OS_3zim", "foo.^ postfix(foo.bar, foo.bas) -> foo.zim",
         "^ postfix(_:_:)"},
        {"_TFC3foo3barCfT_S0_", "foo.bar.__allocating_init() -> foo.bar",
         "bar.__allocating_init()"},
        {"_TFC3foo3barD", "foo.bar.__deallocating_deinit", "bar.__deallocating_deinit"},
        {"_TFC3foo3bard", "foo.bar.deinit", "bar.deinit"},
        {"_TFC3foo3barE", "foo.bar.__ivar_destroyer", "bar.__ivar_destroyer"},
        {"_TFC3foo3bars3basS_3zim", "foo.bar.bas.setter : foo with unmangled suffix \"3zim\"",
         "bar.bas.setter"},
        {"_TFC3foo3barg9subscriptFSiSi", "foo.bar.subscript.getter : (Swift.Int) -> Swift.Int",
         "bar.subscript.getter"},
        {"_TFC3foo3barZ", "foo.bar.__isolated_deallocating_deinit",
         "bar.__isolated_deallocating_deinit"},
        {"_TMPC3foo3bar", "generic type metadata pattern for foo.bar",
         "generic type metadata pattern for bar"},
        {"_TMnC3foo3bar", "nominal type descriptor for foo.bar", "nominal type descriptor for bar"},
        {"_TMaC3foo3bar", "type metadata accessor for foo.bar", "type metadata accessor for bar"},
        {"_TMmC3foo3bar", "metaclass for foo.bar", "metaclass for bar"},
        {"_TMLC3foo3bar", "lazy cache variable for type metadata for foo.bar",
         "lazy cache variable for type metadata for bar"},
        {"_TPA_", "partial apply forwarder with unmangled suffix \"_\"", "partial apply"},
        {"_TPA__TTRXFo_oSSoSS_dSb_XFo_iSSiSS_dSb_",
         "partial apply forwarder for reabstraction thunk helper from @callee_owned (@in "
         "Swift.String, @in Swift.String) -> (@unowned Swift.Bool) to @callee_owned (@owned "
         "Swift.String, @owned Swift.String) -> (@unowned Swift.Bool)",
         "partial apply for thunk for @callee_owned (@in String, @in String) -> (@unowned Bool)"},
        {"_TPAo__TTRGrXFo_dGSPx__dGSPx__XFo_iGSPx__iGSPx__",
         "partial apply ObjC forwarder for reabstraction thunk helper <A> from @callee_owned (@in "
         "Swift.UnsafePointer<A>) -> (@out Swift.UnsafePointer<A>) to @callee_owned (@unowned "
         "Swift.UnsafePointer<A>) -> (@unowned Swift.UnsafePointer<A>)",
         "partial apply for thunk for @callee_owned (@in UnsafePointer<A>) -> (@out "
         "UnsafePointer<A>)"},
        {"_TWVC3foo3bar", "value witness table for foo.bar", "value witness table for bar"},
        {"_TWvdvC3foo3bar3basSi", "direct field offset for foo.bar.bas : Swift.Int",
         "direct field offset for bar.bas"},
        {"_TWPC3foo3barS_8barrableS_", "protocol witness table for foo.bar : foo.barrable in foo",
         "protocol witness table for bar"},
        {"_TWtC3foo3barS_8barrableS_4fred",
         "associated type metadata accessor for fred in foo.bar : foo.barrable in foo",
         "associated type metadata accessor for fred in bar"},
        {"_TWTC3foo3barS_8barrableS_4fredS_6thomas",
         "associated type witness table accessor for fred : foo.thomas in foo.bar : foo.barrable "
         "in foo",
         "associated type witness table accessor for fred : thomas in bar"},
        {"_TTWC3foo3barS_8barrableS_FS1_3fooFT_T_",
         "protocol witness for foo.barrable.foo() -> () in conformance foo.bar : foo.barrable in "
         "foo",
         "protocol witness for barrable.foo() in conformance bar"},
        {"_TToFC3foo3bar3basfT_T_", "@objc foo.bar.bas() -> ()", "@objc bar.bas()"},
        {"_TTDFC3foo3bar3basfT_T_", "dynamic foo.bar.bas() -> ()", "dynamic bar.bas()"},
        {"_TTSg5Si___TFSqcfT_GSqx_",
         "generic specialization <Swift.Int> of Swift.Optional.init() -> A?",
         "specialized Optional.init()"},
        {"_TTSg5SiSis3Foos_Sf___TFSqcfT_GSqx_",
         "generic specialization <Swift.Int with Swift.Int : Swift.Foo in Swift, Swift.Float> of "
         "Swift.Optional.init() -> A?",
         "specialized Optional.init()"},
        {"_TTSf2d_dg_s_i_k_r_n___TFSqcfT_GSqx_",
         "function signature specialization <Arg[0] = Dead, Arg[1] = Dead and Owned To Guaranteed, "
         "Arg[2] = Exploded, Arg[3] = Value Promoted from Box, Arg[4] = Stack Promoted from Box, "
         "Arg[5] = InOut Converted to Out> of Swift.Optional.init() -> A?",
         "specialized Optional.init()"},
        {"_TFF4test4loopFT_T_U_FT_T_", "closure #1 () -> () in test.loop() -> ()",
         "closure #1 in loop()"},
        {"_TFF4test4loopFT_T_L_3varSi", "var #1 : Swift.Int in test.loop() -> ()",
         "var #1 in loop()"},
        {"_TIF3foo3barFT_T_A_", "default argument 0 of foo.bar() -> ()",
         "default argument 0 of bar()"},
        {"_TFE3fooSi3barFT_T_", "(extension in foo):Swift.Int.bar() -> ()", "Int.bar()"},
        {"_TtCFFC4Shop4Cart3runFT_T_U_FT_T_L_5Local",
         "Local #1 in closure #1 () -> () in Shop.Cart.run() -> ()",
         "Local #1 in closure #1 in Cart.run()"},
        {"_TF4main3barFPMPS_3Foo_T_", "main.bar(main.Foo.Type) -> ()", "bar(_:)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_style(rows[i].mangled, DEMANGLE_FULL, rows[i].full);
        check_style(rows[i].mangled, DEMANGLE_SIMPLIFIED, rows[i].simplified);
    }
}

static void other_and_damaged_names_are_left_alone(void **state) {
    (void)state;
    static const char *const names[] = {
        "_TtPS_3foo_",
        "_TtXFo_iV1a1A_oS_",
        "_TtuRxs8Runciblew3FooRxs8Fungible_FxT_",
        "_TFC3foo3bara1uS_3zim",
        "_TWGVs6UInt16GVs12SomeGenericx_S_",
        ("_TTSf1cpi3__cpfl0__cpse0v4u123_cpg53globalinit_33_06E7F1D906492AE070936A9B58CBAE1C_"
         "token8_"
         "cpfr36_TFtest_capture_propagation2_closure___TF7specgen12take_closureFFTSiSi_T_T_"),
        "_TFIvV8patatino1x1ySii",
        "_TFeRxs9Equatable3fooSa3barfT_T_",
        "_TF4main3fooU__FQ_T_",
        "_TFV4main3Foog4_barP33_A14CF6B1DAD27A3AF9C4D1B3C8A2F5C23zimSi",
        "_TFC4mainX8egbpdajGe5XyzabcfT_T_",
        "_TF5types5fooFT1xSi_T_.cold.1",
        "_TFC4Shop4Cart3addfT4itemV0_4Item_Si",
        "_TFC4Shop4Cart",
        "_TtC",
        "_TF",
        "_TtGSaSi",
        "_TtFSi",
        "_TFC3foo3bar3ba",
        "_TTSg5Si",
        "_TTSf2d_",
        "_TWvxvC3foo3bar3basSi",
        "_Txyz",
        "_TtS9_",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        check_style(names[i], DEMANGLE_FULL, NULL);
        check_style(names[i], DEMANGLE_SIMPLIFIED, NULL);
    }
}

/* Checks names of deep nests, lists without an end and numbers that do not fit. */
static void hostile_names_end_soon(void **state) {
    (void)state;
    static const char *const patterns[] = {"M",  "R",   "G",  "F",   "T",   "Q", "GSa", "u",
                                           "XF", "E1a", "PM", "P1a", "TSg", "9", "wx",  "W"};
    char name[40000];
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        size_t n = strlen(patterns[i]);
        memcpy(name, "_Tt", 3);
        for (size_t at = 3; at < sizeof name; at++) {
            name[at] = patterns[i][(at - 3) % n];
        }
        struct strbuf out = {0};
        clock_t start = clock();
        assert_int_equal(demangle(name, sizeof name, DEMANGLE_FULL, &out, NULL), ST_NONE);
        assert_true((clock() - start) / (CLOCKS_PER_SEC / 1000) < 1000);
        assert_int_equal(out.len, 0);
        strbuf_release(&out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_is_read),
        cmocka_unit_test(other_and_damaged_names_are_left_alone),
        cmocka_unit_test(hostile_names_end_soon),
    };
    return cmocka_run_group_tests_name("swift_old", tests, NULL, NULL);
}
