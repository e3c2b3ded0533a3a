/* tests/unit/operators/test_scope.c - what names mean behind set, keep, drop and groupBy. */
#include "operators/scope.h"

#include "runtime/base/limits.h"

#include <stdio.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static int set_up(void **state)
{
    *state = br_layout_create();
    return 0;
}

static int tear_down(void **state)
{
    br_layout_destroy(*state);
    return 0;
}

/* Resolves text; the steps left into the slot go to *rest_count. */
static br_status resolve(br_scope *scope, const char *text, uint32_t *slot, size_t *rest_count,
                         br_err *err)
{
    br_path path, rest;
    assert_int_equal(br_path_parse(&path, br_str(text), err), BR_OK);
    br_status st = br_scope_resolve(scope, &path, slot, &rest, err);
    *rest_count = rest.count;
    br_path_dispose(&path);
    br_path_dispose(&rest);
    return st;
}

static uint32_t slot_of(br_scope *scope, const char *text, size_t rest_wanted)
{
    uint32_t slot = UINT32_MAX;
    size_t rest;
    br_err err;
    assert_int_equal(resolve(scope, text, &slot, &rest, &err), BR_OK);
    assert_int_equal(rest, rest_wanted);
    return slot;
}

static void assert_unknown(br_scope *scope, const char *text, const char *says)
{
    uint32_t slot;
    size_t rest;
    br_err err = {0};
    assert_int_equal(resolve(scope, text, &slot, &rest, &err), BR_ERR_CONFIG);
    if (!strstr(err.message, says)) fail_msg("`%s` lacks `%s`", err.message, says);
}

static uint32_t set(br_scope *scope, const char *name)
{
    uint32_t slot;
    br_err err;
    assert_int_equal(br_scope_set(scope, name, &slot, &err), BR_OK);
    return slot;
}

static void record__any_path__one_slot_each(void **state)
{
    /* The layout lists each path that was asked for once, with its text and slot. */
    br_scope *scope = br_scope_of_record(*state);
    const br_path *paths;
    const char *const *names;
    const uint32_t *slots;
    uint32_t id = slot_of(scope, "device.id", 0), tag = slot_of(scope, "tags[0]", 0);
    assert_int_not_equal(id, tag);
    assert_int_equal(slot_of(scope, "device.id", 0), id);
    assert_int_equal(br_layout_fields(*state, &paths, &names, &slots), 2);
    assert_string_equal(names[0], "device.id");
    assert_string_equal(names[1], "tags[0]");
    assert_int_equal(paths[1].count, 2);
    assert_int_equal(slots[0], id);
    assert_int_equal(slots[1], tag);
    assert_int_equal(br_layout_slots(*state), 2);
}

static void set__a_name_of_the_record__hides_it_here_only(void **state)
{
    /* What a branch sets is not seen by the scope that it was derived from. */
    br_scope *record = br_scope_of_record(*state), *branch = br_scope_derive(record);
    uint32_t read = slot_of(record, "cost", 0), made = set(branch, "cost");
    assert_int_not_equal(read, made);
    assert_int_equal(slot_of(branch, "cost", 0), made);
    assert_int_equal(slot_of(branch, "cost.cents", 1), made);
    assert_int_equal(slot_of(record, "cost", 0), read);
    assert_int_not_equal(set(branch, "cost"), made);
}

static void drop__names__are_gone_until_set_again(void **state)
{
    /* A dropped name means nothing, neither the set one nor the record's field beneath. */
    br_scope *scope = br_scope_of_record(*state);
    static const char *const names[] = {"spend", "user"};
    br_err err = {0};
    set(scope, "spend");
    assert_int_equal(br_scope_drop(scope, names, 2, &err), BR_OK);
    assert_unknown(scope, "spend", "was dropped");
    assert_unknown(scope, "user.id", "`user` was dropped");
    slot_of(scope, "other", 0);
    assert_int_equal(br_scope_drop(scope, names, 1, &err), BR_ERR_CONFIG);
    set(scope, "spend");
    slot_of(scope, "spend", 0);
}

static void keep__names__only_they_are_left(void **state)
{
    /* Behind keep, a name that was not kept is an error with the nearest that was. */
    br_scope *scope = br_scope_of_record(*state);
    static const char *const names[] = {"aggregate", "device", "user-id"};
    br_err err;
    uint32_t made = set(scope, "aggregate");
    assert_int_equal(br_scope_keep(scope, names, 3, &err), BR_OK);
    assert_int_equal(slot_of(scope, "aggregate", 0), made);
    slot_of(scope, "device.id", 0); /* read straight from the record, not out of `device` */
    slot_of(scope, ".\"user-id\"", 0);
    assert_unknown(scope, "agregate", "unknown field `agregate`, did you mean `aggregate`?");
    assert_unknown(scope, "zzzzzzzzzz", "`aggregate`, `device`");
}

static void keep_and_drop__of_what_is_not_there__refused(void **state)
{
    /* Names that the scope cannot have, and parts of fields, are errors of the job file. */
    static const char *const fields[] = {"region", "device.id", "clicks"};
    static const struct {
        const char *name, *says;
    } cases[] = {
        {"regoin", "did you mean `region`"}, {"device", "unknown"}, {"a.b", "lies inside"}};
    br_scope *scope = br_scope_of_fields(*state, fields, 3, 2);
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        br_err err = {0};
        assert_int_equal(br_scope_keep(scope, &cases[i].name, 1, &err), BR_ERR_CONFIG);
        assert_non_null(strstr(err.message, cases[i].says));
        assert_int_equal(br_scope_drop(scope, &cases[i].name, 1, &err), BR_ERR_CONFIG);
    }
    slot_of(scope, "region", 0);
}

static void group_fields__in_order__slots_from_zero(void **state)
{
    /* A groupBy's result has exactly its names; one like device.id is found by its whole text. */
    static const char *const fields[] = {"region", "device.id", "clicks"};
    static const char *const kept[] = {"clicks", "device.id"};
    br_scope *scope = br_scope_of_fields(*state, fields, 3, 2);
    br_shape shape;
    br_err err;
    assert_int_equal(slot_of(scope, "region", 0), 0);
    assert_int_equal(slot_of(scope, "device.id", 0), 1);
    assert_int_equal(slot_of(scope, "device.id.x[0]", 2), 1);
    assert_int_equal(slot_of(scope, "clicks", 0), 2);
    assert_unknown(scope, "device", "unknown field");
    assert_int_equal(br_scope_shape(scope, &shape, &err), BR_OK);
    assert_false(shape.whole);
    assert_int_equal(shape.count, 3);
    assert_int_equal(shape.group_count, 2);
    assert_int_equal(br_scope_keep(scope, kept, 2, &err), BR_OK);
    assert_int_equal(br_scope_shape(scope, &shape, &err), BR_OK);
    assert_int_equal(shape.group_count, 1); /* the group's fields come first */
    assert_string_equal(shape.names[0], "device.id");
    assert_int_equal(shape.slots[0], 1);
    assert_int_equal(shape.slots[1], 2);
}

static void shape__untouched_record__bytes_can_go_on(void **state)
{
    /* Reading fields does not touch a record; nothing of it needs to be decoded for a sink. */
    br_scope *scope = br_scope_of_record(*state);
    br_shape shape;
    br_err err;
    slot_of(scope, "a", 0);
    assert_int_equal(br_scope_shape(scope, &shape, &err), BR_OK);
    assert_true(shape.whole && shape.untouched);
    assert_int_equal(shape.count + shape.hidden_count + shape.group_count, 0);
    assert_int_equal(br_layout_slots(*state), 1);
}

static void shape__set_and_dropped__whole_record_without_them(void **state)
{
    /* A set name is listed, and hidden in the record so that it does not appear twice. */
    br_scope *scope = br_scope_of_record(*state);
    static const char *const dropped[] = {"user"};
    const br_path *paths;
    const char *const *names;
    const uint32_t *slots;
    br_shape shape;
    br_err err;
    uint32_t spend = set(scope, "spend");
    assert_int_equal(br_scope_drop(scope, dropped, 1, &err), BR_OK);
    assert_int_equal(br_scope_shape(scope, &shape, &err), BR_OK);
    assert_int_equal(br_scope_shape(scope, &shape, &err), BR_OK); /* asking twice is fine */
    assert_true(shape.whole && !shape.untouched);
    assert_int_equal(shape.count, 1);
    assert_string_equal(shape.names[0], "spend");
    assert_int_equal(shape.slots[0], spend);
    assert_int_equal(shape.hidden_count, 2);
    assert_string_equal(shape.hidden[0], "user");
    assert_string_equal(shape.hidden[1], "spend");
    assert_int_equal(br_layout_fields(*state, &paths, &names, &slots), 1);
    assert_int_equal(paths[0].count, 0);
    assert_int_equal(slots[0], shape.whole_slot);
}

static void shape__kept_fields__are_read_in_that_order(void **state)
{
    /* keep decides the order; a kept field of the record is read from then on. */
    br_scope *scope = br_scope_of_record(*state);
    static const char *const kept[] = {"b", "spend", "a", "b"};
    br_shape shape;
    br_err err;
    uint32_t spend = set(scope, "spend");
    assert_int_equal(br_scope_keep(scope, kept, 4, &err), BR_OK);
    assert_int_equal(br_scope_shape(scope, &shape, &err), BR_OK);
    assert_false(shape.whole);
    assert_int_equal(shape.count, 3);
    assert_string_equal(shape.names[0], "b");
    assert_int_equal(shape.slots[0], slot_of(scope, "b", 0));
    assert_int_equal(shape.slots[1], spend);
    assert_string_equal(shape.names[2], "a");
}

static void slots__more_than_allowed__limit(void **state)
{
    /* BR_SLOTS_MAX is a refusal, for fields and set names alike, and known fields still resolve. */
    br_scope *scope = br_scope_of_record(*state);
    char name[16];
    uint32_t slot;
    size_t rest;
    br_err err = {0};
    for (int i = 0; i < BR_SLOTS_MAX; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        slot_of(scope, name, 0);
    }
    assert_int_equal(resolve(scope, "one_more", &slot, &rest, &err), BR_ERR_LIMIT);
    assert_int_equal(br_scope_set(scope, "x", &slot, &err), BR_ERR_LIMIT);
    slot_of(scope, "f7", 0);
}

#define SCOPE_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCOPE_TEST(record__any_path__one_slot_each),
        SCOPE_TEST(set__a_name_of_the_record__hides_it_here_only),
        SCOPE_TEST(drop__names__are_gone_until_set_again),
        SCOPE_TEST(keep__names__only_they_are_left),
        SCOPE_TEST(keep_and_drop__of_what_is_not_there__refused),
        SCOPE_TEST(group_fields__in_order__slots_from_zero),
        SCOPE_TEST(shape__untouched_record__bytes_can_go_on),
        SCOPE_TEST(shape__set_and_dropped__whole_record_without_them),
        SCOPE_TEST(shape__kept_fields__are_read_in_that_order),
        SCOPE_TEST(slots__more_than_allowed__limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
