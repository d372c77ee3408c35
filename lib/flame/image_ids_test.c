#include "flame/image_ids.h"

#include "flame/flame_support_test.h"

static void add(struct image_ids *ids, const char *images) {
    struct strbuf text = {0};
    struct dump d;
    strbuf_addf(&text, "{\"format\":\"stall-dump/1\",\"images\":[%s]}", images);
    assert_int_equal(dump_parse(&d, strbuf_cstr(&text), text.len, NULL), ST_OK);
    assert_int_equal(image_ids_add(ids, &d, NULL), ST_OK);
    dump_release(&d);
    strbuf_release(&text);
}

static void assert_id(struct image_ids *ids, const char *module, const char *want) {
    assert_string_equal(image_ids_find(ids, module, strlen(module)), want);
}

static void modules_have_ids(void **state) {
    (void)state;
    struct image_ids ids = {0};
    assert_id(&ids, "Shop", "");
    add(&ids, "{\"name\":\"Shop\",\"uuid\":\"6B834217-0000-4000-8000-0000000000AB\",\"load\":4096},"
              "{\"path\":\"/lib/libc.so.6\",\"build_id\":\"0123abcd\",\"load\":8192},"
              "{\"name\":\"no id\",\"load\":16384},"
              "{\"name\":\"my app\",\"build_id\":\"ff00\",\"load\":32768}");
    assert_id(&ids, "Shop", "6b8342170000400080000000000000ab");
    assert_id(&ids, "libc.so.6", "0123abcd");
    assert_id(&ids, "no_id", "");
    assert_id(&ids, "my_app", "ff00"); /* looked up by the name that frames have */
    add(&ids,
        "{\"path\":\"/lib/libc.so.6\",\"build_id\":\"0123abcd\",\"load\":4096},"
        "{\"name\":\"Shop\",\"uuid\":\"6B834217-0000-4000-8000-0000000000AC\",\"load\":8192}");
    assert_id(&ids, "libc.so.6", "0123abcd");
    assert_id(&ids, "Shop", ""); /* two builds have this name, so no id is given */
    image_ids_release(&ids);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(modules_have_ids)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
