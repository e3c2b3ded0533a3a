/* tests/unit/operators/test_operator.c - which rows children get when a record stops the job. */
#include "operators/operator.h"
#include "runtime/base/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

/* Takes rows up to one that it refuses with `refusal`. */
typedef struct fake_op {
    br_op op;
    int64_t refuse_at; /* offset; INT64_MAX: none */
    br_status refusal;
    size_t taken, calls;
} fake_op;

static br_status fake_process(br_op *op, br_row *const *rows, size_t count, br_err *err)
{
    fake_op *fake = (fake_op *)op;
    fake->calls++;
    for (size_t i = 0; i < count; i++) {
        if (rows[i]->offset == fake->refuse_at) {
            if (fake->refusal == BR_ERR_BAD_RECORD) {
                br_err why = {.status = BR_ERR_BAD_RECORD};
                return br_op_bad_row(op, rows[i], &why, err);
            }
            return br_fail(err, fake->refusal, "refused by %s", op->id);
        }
        fake->taken++;
    }
    return BR_OK;
}

static const br_op_class fake_class = {.kind = "fake", .process = fake_process};

static br_status stop_job(void *self, const br_row *row, const char *id, const br_err *why,
                          br_err *err)
{
    (void)self;
    (void)row;
    (void)why;
    return br_fail(err, BR_ERR_BAD_RECORD, "stopped by %s", id);
}

static br_status skip_row(void *self, const br_row *row, const char *id, const br_err *why,
                          br_err *err)
{
    (void)row;
    (void)id;
    (void)why;
    (void)err;
    ++*(int *)self;
    return BR_OK;
}

enum { ROWS = 5, CHILDREN = 3 };

typedef struct fixture {
    br_outlet outlet;
    br_task_context context;
    fake_op children[CHILDREN];
    br_op *links[CHILDREN];
    br_op parent;
    br_row rows[ROWS]; /* offsets 10, 11, 12, 12, 13 */
    br_row *at[ROWS];
    br_err err;
    int skipped;
} fixture;

static int setup(void **state)
{
    static fixture f;
    static const char *const ids[CHILDREN] = {"a", "b", "c"};
    static const int64_t offsets[ROWS] = {10, 11, 12, 12, 13};
    f = (fixture){.outlet = {.bad_record = stop_job}};
    f.context = (br_task_context){.outlet = &f.outlet, .stop_offset = INT64_MAX};
    for (size_t i = 0; i < CHILDREN; i++) {
        f.children[i].op = (br_op){.class = &fake_class, .id = ids[i], .context = &f.context};
        f.children[i].refuse_at = INT64_MAX;
        f.links[i] = &f.children[i].op;
    }
    f.parent = (br_op){.context = &f.context, .children = f.links, .child_count = CHILDREN};
    for (size_t i = 0; i < ROWS; i++) {
        f.rows[i].offset = offsets[i];
        f.at[i] = &f.rows[i];
    }
    *state = &f;
    return 0;
}

static void assert_taken(const fixture *f, size_t a, size_t b, size_t c)
{
    assert_int_equal(f->children[0].taken, a);
    assert_int_equal(f->children[1].taken, b);
    assert_int_equal(f->children[2].taken, c);
}

static void rows_allowed__stop_offset__rows_below_it(void **state)
{
    /* Only rows below the stop are allowed, and never a part of a record's rows. */
    fixture *f = *state;
    static const struct {
        int64_t stop;
        size_t allowed;
    } cases[] = {{INT64_MAX, 5}, {14, 5}, {13, 4}, {12, 2}, {11, 1}, {10, 0}, {-1, 0}};
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        f->context.stop_offset = cases[i].stop;
        assert_int_equal(br_rows_allowed(&f->context, f->at, ROWS), cases[i].allowed);
    }
    assert_int_equal(br_rows_allowed(&f->context, f->at, 0), 0);
}

static void forward__no_failure__every_child_gets_all(void **state)
{
    /* Each child gets every row in one call, and nothing is called for no rows. */
    fixture *f = *state;
    assert_int_equal(br_op_forward(&f->parent, f->at, ROWS, &f->err), BR_OK);
    assert_taken(f, ROWS, ROWS, ROWS);
    assert_int_equal(br_op_forward(&f->parent, f->at, 0, &f->err), BR_OK);
    assert_int_equal(f->children[0].calls, 1);
}

static void forward__a_child_stops__the_others_get_rows_before(void **state)
{
    /* A bad record that stops the job lets the siblings finish what is before it. */
    fixture *f = *state;
    f->children[1].refuse_at = 12;
    f->children[1].refusal = BR_ERR_BAD_RECORD;
    assert_int_equal(br_op_forward(&f->parent, f->at, ROWS, &f->err), BR_ERR_BAD_RECORD);
    assert_taken(f, ROWS, 2, 2);
    assert_int_equal(f->context.stop_offset, 12);
    assert_string_equal(f->err.message, "stopped by b");
}

static void forward__two_children_stop__the_earlier_record_is_told(void **state)
{
    /* The lowest stop counts, with its message. */
    fixture *f = *state;
    f->children[0].refuse_at = 13;
    f->children[2].refuse_at = 11;
    f->children[0].refusal = f->children[2].refusal = BR_ERR_BAD_RECORD;
    assert_int_equal(br_op_forward(&f->parent, f->at, ROWS, &f->err), BR_ERR_BAD_RECORD);
    assert_taken(f, 4, 4, 1);
    assert_int_equal(f->context.stop_offset, 11);
    assert_string_equal(f->err.message, "stopped by c");
}

static void forward__other_failure__ends_it(void **state)
{
    /* A broker failure goes up at once, also behind a stop. */
    fixture *f = *state;
    f->children[0].refuse_at = 13;
    f->children[0].refusal = BR_ERR_BAD_RECORD;
    f->children[1].refuse_at = 10;
    f->children[1].refusal = BR_ERR_BROKER;
    assert_int_equal(br_op_forward(&f->parent, f->at, ROWS, &f->err), BR_ERR_BROKER);
    assert_int_equal(f->children[2].calls, 0);
    assert_string_equal(f->err.message, "refused by b");
}

static void bad_row__dealt_with__no_stop(void **state)
{
    /* Where the outlet takes the row, the job goes on; a stop never moves to a later record. */
    fixture *f = *state;
    br_err why = {.status = BR_ERR_BAD_RECORD};
    f->outlet = (br_outlet){.self = &f->skipped, .bad_record = skip_row};
    assert_int_equal(br_op_bad_row(f->links[0], f->at[2], &why, &f->err), BR_OK);
    assert_int_equal(f->skipped, 1);
    assert_true(f->context.stop_offset == INT64_MAX);
    f->outlet.bad_record = stop_job;
    f->context.stop_offset = 11;
    assert_int_equal(br_op_bad_row(f->links[0], f->at[2], &why, &f->err), BR_ERR_BAD_RECORD);
    assert_int_equal(f->context.stop_offset, 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(rows_allowed__stop_offset__rows_below_it, setup),
        cmocka_unit_test_setup(forward__no_failure__every_child_gets_all, setup),
        cmocka_unit_test_setup(forward__a_child_stops__the_others_get_rows_before, setup),
        cmocka_unit_test_setup(forward__two_children_stop__the_earlier_record_is_told, setup),
        cmocka_unit_test_setup(forward__other_failure__ends_it, setup),
        cmocka_unit_test_setup(bad_row__dealt_with__no_stop, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
