/* tests/unit/operators/test_aggregate.c - aggregates: their calls, what they take, what they give.
 */
#include "operators/record.h"
#include "unit/operators/aggregate_fixture.h"

#include <math.h>
#include <stdio.h>

static const br_origin at_noon = {.time_ms = 43200000, .offset = 7};

static void add(const br_aggregate *fn, void *acc, br_value v)
{
    br_err err;
    assert_int_equal(fn->check(acc, &v, &at_noon, &err), BR_OK);
    fn->add(acc, &v, &at_noon);
}

static br_value text(const char *s)
{
    return br_value_text(br_str(s));
}

static void assert_same(const br_value *a, const br_value *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(br_value_compare(a, b), 0);
}

static void parse__valid_calls__function_and_argument(void **state)
{
    /* Claim: name and argument come apart, whatever parentheses and quotes the argument has. */
    (void)state;
    static const struct {
        const char *text, *name, *argument;
    } cases[] = {
        {"count()", "count", NULL},
        {" count ( ) ", "count", NULL},
        {"count(x)", "count", "x"},
        {"sum( price * (1 + tax) )", "sum", "price * (1 + tax)"},
        {"min(part(@key, \")\", 0))", "min", "part(@key, \")\", 0)"},
        {"max(a[\"b,c\"])", "max", "a[\"b,c\"]"},
        {"first('it\\'s)')", "first", "'it\\'s)'"},
    };
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        const br_aggregate *fn;
        br_bytes argument;
        br_err err;
        assert_int_equal(br_aggregate_parse(br_str(cases[i].text), &fn, &argument, &err), BR_OK);
        assert_string_equal(fn->name, cases[i].name);
        assert_int_equal(fn->takes_argument, cases[i].argument != NULL);
        if (!cases[i].argument) {
            assert_null(argument.data);
        } else {
            assert_true(br_bytes_equal(argument, br_str(cases[i].argument)));
        }
    }
}

static void parse__anything_else__config_error_that_helps(void **state)
{
    /* Claim: the message says what is wrong and what to write. */
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "is not an aggregate"},
        {"price", "'price' is not an aggregate"},
        {"(x)", "is not an aggregate"},
        {"sum(x", "is not an aggregate"},
        {"sum(x]", "is not an aggregate"},
        {"sum(x) + 1", "is not an aggregate"},
        {"sum(x) + sum(y)", "is not an aggregate"},
        {"sum(\"x)", "is not an aggregate"},
        {"summ(x)", "unknown aggregate 'summ', did you mean sum?"},
        {"percentile(x)", "allowed are count, sum, min, max, avg, first, last"},
        {"sum()", "sum takes an argument, such as sum(price)"},
        {"avg(a, b)", "avg takes one argument, found 2"},
    };
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        const br_aggregate *fn;
        br_bytes argument;
        br_err err = {.status = BR_OK};
        assert_int_equal(br_aggregate_parse(br_str(cases[i].text), &fn, &argument, &err),
                         BR_ERR_CONFIG);
        if (!strstr(err.message, cases[i].says)) fail_msg("%s: %s", cases[i].text, err.message);
    }
}

static void result__of_values__as_expected(void **state)
{
    /* Claim: each function's result over a few values; avg is of the records, not of averages
     * (FAULTS 45), and nulls count for nothing but count(). */
    (void)state;
    br_value null = br_value_null();
    struct {
        const char *call;
        br_value in[4], out;
    } cases[] = {
        {"count()", {null, br_value_int(1), text("a"), null}, br_value_int(4)},
        {"count(x)", {null, br_value_int(1), text("a"), null}, br_value_int(2)},
        {"sum(x)", {null, br_value_int(1), br_value_int(2), null}, br_value_int(3)},
        {"sum(x)", {br_value_int(5), br_value_int(-5), null, null}, br_value_int(0)},
        {"sum(x)", {br_value_int(1), br_value_float(.5), null, null}, br_value_float(1.5)},
        {"sum(x)", {null, null, null, null}, null},
        {"avg(x)", {br_value_int(1), br_value_int(2), br_value_int(6), null}, br_value_float(3)},
        {"avg(x)", {br_value_float(.5), br_value_int(1), null, null}, br_value_float(.75)},
        {"avg(x)", {null, null, null, null}, null},
        {"min(x)",
         {br_value_int(3), br_value_float(2.5), br_value_int(9), null},
         br_value_float(2.5)},
        {"max(x)", {text("b"), text("abc"), text(""), null}, text("b")},
        {"min(x)", {text("b"), text("abc"), text(""), null}, text("")},
        {"max(x)", {br_value_bool(false), br_value_bool(true), null, null}, br_value_bool(true)},
        {"max(x)", {br_value_int(7), text("7"), br_value_bool(true), null}, text("7")},
        {"min(x)", {null, null, null, null}, null},
    };
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        const br_aggregate *fn = function(cases[i].call);
        void *acc = create(fn);
        for (size_t k = 0; k < 4; k++) add(fn, acc, cases[i].in[k]);
        br_value out;
        fn->result(acc, &out);
        assert_same(&out, &cases[i].out);
        destroy(fn, acc);
    }
}

static void first_last__by_time_then_offset_then_value__chosen(void **state)
{
    /* Claim: arrival order does not matter; equal times go by offset, equal offsets by value. */
    (void)state;
    static const struct {
        br_origin origin;
        int64_t v;
    } events[] = {
        {{20, 1}, 1}, {{10, 5}, 2}, {{10, 4}, 4}, {{10, 4}, 3},
        {{30, 2}, 5}, {{30, 9}, 6}, {{30, 9}, 7}, {{30, 3}, 8},
    };
    const br_aggregate *first = function("first(x)"), *last = function("last(x)");
    void *a = create(first), *b = create(last);
    for (size_t i = 0; i < BR_COUNTOF(events); i++) {
        br_value v = br_value_int(events[i].v);
        first->add(a, &v, &events[i].origin);
        last->add(b, &v, &events[i].origin);
    }
    br_value out;
    first->result(a, &out);
    assert_int_equal(out.i, 3);
    last->result(b, &out);
    assert_int_equal(out.i, 7);
    destroy(first, a);
    destroy(last, b);
}

static void check__values_it_cannot_take__bad_record(void **state)
{
    /* Claim: a value that an aggregate has no use for is refused by name, and changes nothing. */
    (void)state;
    br_value json = {.kind = BR_JSON, .s = BR_LITERAL("[1]")};
    br_origin no_time = {.time_ms = BR_NO_TIME, .offset = 7};
    struct {
        const char *call;
        br_value v;
        const br_origin *origin;
        const char *says;
    } cases[] = {
        {"sum(x)", text("12"), &at_noon, "sum takes numbers, found text"},
        {"avg(x)", br_value_bool(true), &at_noon, "avg takes numbers, found bool"},
        {"min(x)", json, &at_noon, "min takes numbers, text or bool, found object or array"},
        {"max(x)", json, &at_noon, "max takes numbers, text or bool, found object or array"},
        {"first(x)", br_value_int(1), &no_time, "need an event time"},
        {"last(x)", br_value_int(1), &no_time, "need an event time"},
    };
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        const br_aggregate *fn = function(cases[i].call);
        void *acc = create(fn);
        br_err err;
        assert_int_equal(fn->check(acc, &cases[i].v, cases[i].origin, &err), BR_ERR_BAD_RECORD);
        if (!strstr(err.message, cases[i].says)) fail_msg("%s", err.message);
        br_value out;
        fn->result(acc, &out);
        assert_true(br_value_is_null(&out));
        destroy(fn, acc);
    }
}

static void count__at_int32_bound_from_stored_bytes__goes_on(void **state)
{
    /* Claim: counts have 64 bits, also one that comes from a hand-made row (FAULTS 49). */
    (void)state;
    const br_aggregate *fn = function("count()");
    void *acc = create(fn);
    Brine__State__Accumulator in = BRINE__STATE__ACCUMULATOR__INIT;
    in.has_count = 1;
    in.count = 2147483647;
    br_err err;
    br_value out;
    assert_int_equal(fn->decode(acc, &in, &err), BR_OK);
    add(fn, acc, br_value_null());
    fn->result(acc, &out);
    assert_same(&out, &(br_value){.kind = BR_INT, .i = 2147483648});
    in.count = UINT64_MAX;
    assert_int_equal(fn->decode(acc, &in, &err), BR_OK);
    br_value null = br_value_null();
    assert_int_equal(fn->check(acc, &null, &at_noon, &err), BR_ERR_BAD_RECORD);
    fn->result(acc, &out);
    assert_int_equal(out.kind, BR_BIG);
    destroy(fn, acc);
}

static void sum__of_zero__stored_as_a_value(void **state)
{
    /* Claim: a sum of 0 has bytes and comes back as 0; no sum comes back as null (FAULTS 28). */
    (void)state;
    const br_aggregate *fn = function("sum(x)");
    void *acc = create(fn), *copy = create(fn);
    add(fn, acc, br_value_int(5));
    add(fn, acc, br_value_int(-5));
    Brine__State__Accumulator message = BRINE__STATE__ACCUMULATOR__INIT;
    Brine__State__Value room = BRINE__STATE__VALUE__INIT;
    fn->encode(acc, &message, &room);
    assert_true(brine__state__accumulator__get_packed_size(&message) > 0);
    br_err err;
    br_value out;
    assert_int_equal(fn->decode(copy, &message, &err), BR_OK);
    fn->result(copy, &out);
    assert_same(&out, &(br_value){.kind = BR_INT, .i = 0});
    destroy(fn, acc);
    destroy(fn, copy);
}

static void text__longer_and_shorter__heap_is_told(void **state)
{
    /* Claim: kept text is the accumulator's own, and its memory is what heap() says. */
    (void)state;
    const br_aggregate *fn = function("max(x)");
    void *acc = create(fn);
    assert_int_equal(fn->heap(acc), 0);
    char room[100];
    memset(room, 'a', sizeof room);
    add(fn, acc, br_value_text(br_bytes_of(room, sizeof room)));
    assert_int_equal(fn->heap(acc), 100);
    memset(room, 'b', sizeof room);
    add(fn, acc, br_value_text(br_bytes_of(room, 3)));
    memset(room, 'x', sizeof room);
    assert_int_equal(fn->heap(acc), 100);
    br_value out;
    fn->result(acc, &out);
    assert_true(br_bytes_equal(out.s, BR_LITERAL("bbb")));
    destroy(fn, acc);
}

static void decode__hostile_accumulators__corrupt(void **state)
{
    /* Claim: what no aggregate writes is refused, never undefined. */
    (void)state;
    Brine__State__Value two = BRINE__STATE__VALUE__INIT, none = BRINE__STATE__VALUE__INIT,
                        nan = BRINE__STATE__VALUE__INIT, small = BRINE__STATE__VALUE__INIT,
                        cut = BRINE__STATE__VALUE__INIT, one = BRINE__STATE__VALUE__INIT,
                        json = BRINE__STATE__VALUE__INIT, null = BRINE__STATE__VALUE__INIT;
    uint8_t zeros[16] = {0};
    two.has_int_ = two.has_bool_ = 1;
    nan.has_float_ = 1;
    nan.float_ = NAN;
    small.has_big = cut.has_big = 1;
    small.big = (ProtobufCBinaryData){16, zeros};
    cut.big = (ProtobufCBinaryData){3, zeros};
    one.has_int_ = 1;
    json.has_json = 1;
    null.has_null = 1;
    struct {
        const char *call;
        Brine__State__Value *value;
    } cases[] = {
        {"count()", NULL}, {"avg(x)", NULL},   {"min(x)", &two},  {"min(x)", &none},
        {"max(x)", &nan},  {"max(x)", &small}, {"max(x)", &cut},  {"min(x)", &json},
        {"max(x)", &null}, {"first(x)", &one}, {"last(x)", &one}, {"first(x)", &none},
    };
    for (size_t i = 0; i < BR_COUNTOF(cases); i++) {
        const br_aggregate *fn = function(cases[i].call);
        void *acc = create(fn);
        Brine__State__Accumulator in = BRINE__STATE__ACCUMULATOR__INIT;
        in.value = cases[i].value;
        br_err err;
        assert_int_equal(fn->decode(acc, &in, &err), BR_ERR_CORRUPT);
        destroy(fn, acc);
    }
}

static void decode__avg_with_sum_and_no_count__corrupt(void **state)
{
    /* Claim: a stored average whose halves do not fit together is refused: no division by 0. */
    (void)state;
    const br_aggregate *fn = function("avg(x)");
    void *acc = create(fn);
    Brine__State__Accumulator in = BRINE__STATE__ACCUMULATOR__INIT;
    br_err err;
    in.has_count = in.has_sum = 1;
    assert_int_equal(fn->decode(acc, &in, &err), BR_ERR_CORRUPT);
    in.has_sum = 0;
    in.count = 1;
    assert_int_equal(fn->decode(acc, &in, &err), BR_ERR_CORRUPT);
    destroy(fn, acc);
}

static void check__takes_any__refuses_no_value(void **state)
{
    /* Claim: where takes_any is set no value is refused; so rows need no dead letter. */
    (void)state;
    const br_value values[] = {{.kind = BR_MISSING},
                               br_value_null(),
                               br_value_bool(true),
                               br_value_int(INT64_MIN),
                               br_value_i128(-((br_i128)1 << 100)),
                               br_value_float(-0.5),
                               text("a"),
                               {.kind = BR_JSON, .s = br_str("{}")}};
    static const char *const calls[] = {"count()", "count(x)", "sum(x)",   "min(x)",
                                        "max(x)",  "avg(x)",   "first(x)", "last(x)"};
    size_t checked = 0;
    for (size_t f = 0; f < BR_COUNTOF(calls); f++) {
        const br_aggregate *fn = function(calls[f]);
        for (size_t i = 0; fn->takes_any && i < BR_COUNTOF(values); i++, checked++) {
            void *acc = create(fn);
            add(fn, acc, values[i]);
            destroy(fn, acc);
        }
    }
    assert_int_equal(checked, 2 * BR_COUNTOF(values)); /* count() and count(x) */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parse__valid_calls__function_and_argument),
        cmocka_unit_test(parse__anything_else__config_error_that_helps),
        cmocka_unit_test(result__of_values__as_expected),
        cmocka_unit_test(first_last__by_time_then_offset_then_value__chosen),
        cmocka_unit_test(check__values_it_cannot_take__bad_record),
        cmocka_unit_test(check__takes_any__refuses_no_value),
        cmocka_unit_test(count__at_int32_bound_from_stored_bytes__goes_on),
        cmocka_unit_test(sum__of_zero__stored_as_a_value),
        cmocka_unit_test(text__longer_and_shorter__heap_is_told),
        cmocka_unit_test(decode__hostile_accumulators__corrupt),
        cmocka_unit_test(decode__avg_with_sum_and_no_count__corrupt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
