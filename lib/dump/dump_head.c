/* Reads the members of a dump that describe the stall, the app, the device and the bucket. */
#include "dump/dump_head_private.h"

#include <stddef.h>

enum field_kind { FIELD_TEXT, FIELD_NUMBER, FIELD_TRUE };

/* Maps a JSON member to the member of struct dump that gets its value, with the type of that value.
 */
struct dump_field {
    struct tape_name name;
    enum field_kind kind;
    size_t at;
};

#define TEXT(member, place)                                                                        \
    { TAPE_NAME(member), FIELD_TEXT, offsetof(struct dump, place) }
#define NUMBER(member, place)                                                                      \
    { TAPE_NAME(member), FIELD_NUMBER, offsetof(struct dump, place) }
#define IS_TRUE(member, place)                                                                     \
    { TAPE_NAME(member), FIELD_TRUE, offsetof(struct dump, place) }

/* Each table below lists the fields in the order in which recorders usually write them, which makes
 * the search for a field's row short. */
static const struct dump_field root_fields[] = {
    TEXT("id", id),
    TEXT("time", time),
    TEXT("lack", lack),
    TEXT("user", user),
    NUMBER("threads_left_out", threads_left_out),
};
static const struct dump_field app_fields[] = {
    TEXT("id", app.id),
    TEXT("version", app.version),
    TEXT("build", app.build),
};
static const struct dump_field device_fields[] = {
    TEXT("model", device.model), TEXT("os", device.os),       TEXT("os_build", device.os_build),
    TEXT("arch", device.arch),   NUMBER("cpus", device.cpus),
};
static const struct dump_field class_fields[] = {
    TEXT("level1", class.level1),         TEXT("level2", class.level2),
    TEXT("action", class.action),         TEXT("level1_was", class.level1_was),
    TEXT("level2_was", class.level2_was), TEXT("action_was", class.action_was),
    TEXT("cause", class.cause),           TEXT("title", class.title),
};
static const struct dump_field stall_fields[] = {
    TEXT("id", stall.id),
    NUMBER("seq", stall.seq),
    TEXT("kind", stall.kind),
    TEXT("detector", stall.detector),
    TEXT("activity", stall.activity),
    TEXT("loop_at", stall.loop_at),
    NUMBER("threshold_ms", stall.threshold_ms),
    NUMBER("at_ms", stall.at_ms),
    NUMBER("duration_ms", stall.duration_ms),
    NUMBER("span_ms", stall.span_ms),
    IS_TRUE("ended", stall.ended),
    IS_TRUE("fatal", stall.fatal),
    NUMBER("gap_ms", stall.gap_ms),
    NUMBER("cpu_permille", stall.cpu_permille),
    NUMBER("suppressed", stall.suppressed),
    TEXT("app_state", stall.app_state),
    TEXT("visibility", stall.visibility),
    TEXT("mode", stall.mode),
    TEXT("action", stall.action),
    IS_TRUE("prewarmed", stall.prewarmed),
};
static const struct dump_field top_thread_fields[] = {
    NUMBER("id", stall.top_thread),
    TEXT("name", stall.top_thread_name),
};

static void set_head_field(struct dump_build *b, const struct dump_field *field,
                           const struct tape_value *value) {
    void *place = (char *)b->d + field->at;
    switch (field->kind) {
    case FIELD_TEXT:
        *(const char **)place = build_value(b, value);
        break;
    case FIELD_NUMBER:
        *(int64_t *)place = build_number(b, value);
        break;
    case FIELD_TRUE:
        *(bool *)place = tape_is(value, VALUE_TRUE);
        break;
    }
}

/* Reads the fields of an object. If two members have the same name, the last one counts, because it
 * is stored last. */
static void build_fields(struct dump_build *b, const struct tape_value *object,
                         const struct dump_field *fields, size_t count) {
    for (size_t i = 0; i < count; i++) {
        set_head_field(b, &fields[i], NULL);
    }
    if (!tape_is(object, VALUE_OBJECT)) {
        return;
    }
    size_t likely = 0;
    const struct tape_value *end = tape_end(object);
    for (const struct tape_value *key = tape_first(object); key < end; key = tape_next(key + 1)) {
        size_t i = tape_which(&b->tape, key, fields, count, sizeof *fields, likely);
        if (i < count) {
            set_head_field(b, &fields[i], key + 1);
            likely = i + 1;
        }
    }
}

#define BUILD_FIELDS(b, object, fields)                                                            \
    build_fields(b, object, fields, sizeof(fields) / sizeof *(fields))

void build_head(struct dump_build *b, const struct tape_value *root) {
    enum { APP, DEVICE, STALL, CLASS, MEMBERS };
    static const struct tape_name names[MEMBERS] = {
        [APP] = TAPE_NAME("app"),
        [DEVICE] = TAPE_NAME("device"),
        [STALL] = TAPE_NAME("stall"),
        [CLASS] = TAPE_NAME("class"),
    };
    const struct tape_value *m[MEMBERS];
    tape_members(&b->tape, root, names, MEMBERS, m);
    BUILD_FIELDS(b, root, root_fields);
    BUILD_FIELDS(b, m[APP], app_fields);
    BUILD_FIELDS(b, m[DEVICE], device_fields);
    BUILD_FIELDS(b, m[CLASS], class_fields);
    BUILD_FIELDS(b, m[STALL], stall_fields);
    BUILD_FIELDS(b, tape_member(&b->tape, m[STALL], "top_thread"), top_thread_fields);
}
