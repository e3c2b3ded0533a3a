/* tests/unit/operators/test_aggregate_laws.c - what makes an aggregate mergeable, for each of them:
 * init is the identity, merge is associative and commutative, and stored bytes change nothing. */
#include "runtime/base/rng.h"
#include "unit/operators/aggregate_fixture.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

enum { EVENTS = 40, PARTS = 5, ROUNDS = 300 };

typedef struct event {
    br_value v;
    br_origin origin;
    char text[8];
} event;

static const char *const calls[] = {
    "count()", "count(x)", "sum(x)", "avg(x)", "min(x)", "max(x)", "first(x)", "last(x)",
};

/* Numbers of all kinds with many ties (1 and 1.0, 0.0 and -0.0), and, where not only numbers are
 * taken, texts, bools and nulls. */
static br_value random_value(br_rng *rng, event *room)
{
    switch (br_rng_below(rng, 9)) {
    case 0: return br_value_null();
    case 1: return br_value_i128((br_i128)br_rng_next(rng) << 20);
    case 2: return br_value_float(ldexp(br_rng_unit(rng), (int)br_rng_below(rng, 200) - 100));
    case 3: return br_value_float((double)br_rng_below(rng, 3));
    case 4: return br_value_float(-0.0);
    case 5: return br_value_bool(br_rng_below(rng, 2));
    case 6:
    case 7: {
        size_t len = br_rng_below(rng, sizeof room->text);
        for (size_t i = 0; i < len; i++) room->text[i] = (char)('a' + br_rng_below(rng, 3));
        return br_value_text(br_bytes_of(room->text, len));
    }
    default: return br_value_int((int64_t)br_rng_below(rng, 5) - 2);
    }
}

static void make_events(br_rng *rng, const br_aggregate *fn, event *events)
{
    void *empty = create(fn);
    for (size_t i = 0; i < EVENTS; i++) {
        br_err err;
        do {
            events[i].v = random_value(rng, &events[i]);
            events[i].origin.time_ms = (int64_t)br_rng_below(rng, 4);
            events[i].origin.offset = (int64_t)br_rng_below(rng, 8);
        } while (fn->check(empty, &events[i].v, &events[i].origin, &err) != BR_OK);
    }
    destroy(fn, empty);
}

static void shuffle(br_rng *rng, size_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++) order[i] = i;
    for (size_t i = count; i > 1; i--) {
        size_t k = br_rng_below(rng, i), swapped = order[k];
        order[k] = order[i - 1];
        order[i - 1] = swapped;
    }
}

static void *through_bytes(const br_aggregate *fn, void *acc)
{
    Brine__State__Accumulator message = BRINE__STATE__ACCUMULATOR__INIT;
    Brine__State__Value room = BRINE__STATE__VALUE__INIT;
    fn->encode(acc, &message, &room);
    uint8_t *bytes = br_alloc(brine__state__accumulator__get_packed_size(&message));
    size_t len = brine__state__accumulator__pack(&message, bytes);
    destroy(fn, acc);
    Brine__State__Accumulator *stored = brine__state__accumulator__unpack(NULL, len, bytes);
    assert_non_null(stored);
    void *copy = create(fn);
    br_err err;
    assert_int_equal(fn->decode(copy, stored, &err), BR_OK);
    brine__state__accumulator__free_unpacked(stored, NULL);
    br_free(bytes);
    return copy;
}

/* The same value to the last bit: kind, and the sign of a zero too. */
static void assert_same_result(const br_aggregate *fn, const void *a, const void *b)
{
    br_value x, y;
    fn->result(a, &x);
    fn->result(b, &y);
    assert_int_equal(x.kind, y.kind);
    assert_int_equal(br_value_compare(&x, &y), 0);
    if (x.kind == BR_FLOAT) assert_memory_equal(&x.f, &y.f, sizeof x.f);
}

static void *fold(const br_aggregate *fn, const event *events)
{
    void *acc = create(fn);
    for (size_t i = 0; i < EVENTS; i++) fn->add(acc, &events[i].v, &events[i].origin);
    return acc;
}

/* The same events in another order over several accumulators, some of them stored between, and
 * those merged as a random tree. */
static void *fold_apart(br_rng *rng, const br_aggregate *fn, const event *events)
{
    void *parts[PARTS];
    size_t order[EVENTS], left = PARTS;
    for (size_t i = 0; i < PARTS; i++) parts[i] = create(fn);
    shuffle(rng, order, EVENTS);
    for (size_t i = 0; i < EVENTS; i++) {
        size_t part = br_rng_below(rng, PARTS);
        fn->add(parts[part], &events[order[i]].v, &events[order[i]].origin);
        if (br_rng_below(rng, 4) == 0) parts[part] = through_bytes(fn, parts[part]);
    }
    for (; left > 1; left--) {
        size_t a = br_rng_below(rng, left - 1);
        bool swap = br_rng_below(rng, 2);
        void *to = swap ? parts[left - 1] : parts[a], *from = swap ? parts[a] : parts[left - 1];
        fn->merge(to, from);
        destroy(fn, from);
        parts[a] = to;
    }
    return parts[0];
}

static void check_laws(br_rng *rng, const br_aggregate *fn)
{
    event events[EVENTS];
    make_events(rng, fn, events);
    void *once = fold(fn, events), *apart = fold_apart(rng, fn, events);
    assert_same_result(fn, once, apart);
    void *empty = through_bytes(fn, create(fn));
    fn->merge(apart, empty); /* right identity */
    assert_same_result(fn, once, apart);
    fn->merge(empty, apart); /* left identity */
    assert_same_result(fn, once, empty);
    once = through_bytes(fn, once);
    assert_same_result(fn, once, empty);
    destroy(fn, once);
    destroy(fn, apart);
    destroy(fn, empty);
}

static void laws__random_events__hold(void **state)
{
    /* Claim: identity, associativity, any order, any spread, stored or not: one result. */
    (void)state;
    uint64_t seed = (uint64_t)time(NULL);
    print_message("seed %" PRIu64 "\n", seed);
    br_rng rng = {seed};
    for (size_t i = 0; i < BR_COUNTOF(calls); i++) {
        for (int round = 0; round < ROUNDS; round++) check_laws(&rng, function(calls[i]));
    }
}

static void laws__every_aggregate__is_tested_here(void **state)
{
    /* Claim: the list of this test has every name that job files may use. */
    (void)state;
    for (size_t i = 0; br_aggregates[i]; i++) {
        bool found = false;
        for (size_t k = 0; k < BR_COUNTOF(calls); k++) {
            found |= strcmp(function(calls[k])->name, br_aggregates[i]->name) == 0;
        }
        assert_true(found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(laws__random_events__hold),
        cmocka_unit_test(laws__every_aggregate__is_tested_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
