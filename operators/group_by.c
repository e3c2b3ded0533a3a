/* operators/group_by.c - see group_by.h.
 * Shape: a batch goes through in two passes, so that the table's cache misses overlap: pass 1 makes
 *        keys and arguments and prefetches slots, pass 2 looks up, checks and adds, and prefetches
 *        entries a little ahead.
 * Bad rows: nothing of a row is added before all its aggregates took it; where it makes the job
 *        stop, nothing of its whole record is (a record may be several rows). */
#include "operators/group_by.h"
#include "operators/group_row.h"
#include "operators/merge.h"
#include "operators/tuple.h"
#include "runtime/base/alloc.h"
#include "runtime/base/hash.h"
#include "runtime/base/rules.h"
#include "state/changelog.h"

#include <inttypes.h>

/* Rows between the prefetch of an entry and its use: some 100 ns, what memory takes. */
enum { PREFETCH_AHEAD = 4 };

/* A row on its way from pass 1 to pass 2. */
typedef struct pending {
    const br_row *row; /* NULL: left out after all */
    uint64_t hash;
    size_t key_at, key_len; /* in keys */
} pending;

typedef struct group_by {
    br_op op; /* first */
    const br_group_conf *conf;
    br_row_type type;
    br_results *results;
    bool counts_heap; /* some aggregate holds heap memory that the budget must know */
    br_sent sent;
    /* One batch's: */
    br_buf keys;
    pending *rows;
    br_value *args; /* arg_stride for each row */
    size_t row_count, row_cap, arg_cap;
    size_t arg_stride; /* aggregate_count; 0: no aggregate has an argument, all rows share nulls */
    /* Flush's: */
    br_buf packed, partial_key;
} group_by;

/* ---- pass 1 ---- */

/* Appends the row's group key to keys. BR_EMPTY: a part of it is null. */
static br_status make_key(group_by *self, const br_row *row, br_err *err)
{
    const br_group_conf *conf = self->conf;
    size_t start = self->keys.len;
    for (size_t i = 0; i < conf->by_count; i++) {
        br_value v;
        br_status st = br_expr_eval(conf->by[i], row, self->op.context->arena, &v, err);
        if (st < 0) return br_wrap(err, "by %s", br_expr_text(conf->by[i]));
        if (br_value_is_null(&v)) return BR_EMPTY;
        br_tuple_add(&self->keys, &v);
    }
    size_t len = self->keys.len - start;
    if (len <= BR_GROUP_KEY_BYTES_MAX) return BR_OK;
    return br_fail(err, BR_ERR_BAD_RECORD, "group key of %zu bytes, allowed are %d", len,
                   BR_GROUP_KEY_BYTES_MAX);
}

static br_status make_args(const group_by *self, const br_row *row, br_value *args, br_err *err)
{
    const br_group_conf *conf = self->conf;
    for (size_t i = 0; i < conf->aggregate_count; i++) {
        const br_group_aggregate *aggregate = &conf->aggregates[i];
        args[i] = br_value_null();
        if (!aggregate->argument) continue;
        br_status st =
            br_expr_eval(aggregate->argument, row, self->op.context->arena, &args[i], err);
        if (st < 0) return br_wrap(err, "aggregate %s", aggregate->name);
    }
    return BR_OK;
}

static br_status prepare_row(group_by *self, const br_row *row, br_err *err)
{
    size_t start = self->keys.len;
    br_value *args = self->args + self->row_count * self->arg_stride;
    br_err why;
    br_status st = make_key(self, row, &why);
    if (st == BR_OK && self->arg_stride > 0) st = make_args(self, row, args, &why);
    if (st == BR_OK) {
        size_t len = self->keys.len - start;
        self->rows[self->row_count++] = (pending){.row = row, .key_at = start, .key_len = len};
        return BR_OK;
    }
    self->keys.len = start;
    if (st < 0) return br_op_bad_row(&self->op, row, &why, err);
    const br_outlet *outlet = self->op.context->outlet;
    outlet->null_key(outlet->self, row);
    return BR_OK;
}

static br_bytes key_of(const group_by *self, const pending *at)
{
    return br_bytes_of(self->keys.data + at->key_at, at->key_len);
}

/* After all keys are made: bytes that were written just now are slow to read as words. */
static void hash_keys(group_by *self)
{
    for (size_t i = 0; i < self->row_count; i++) {
        pending *at = &self->rows[i];
        at->hash = br_hash64(key_of(self, at));
        br_table_prefetch(self->op.table, at->hash);
    }
}

static br_status prepare(group_by *self, br_row *const *rows, size_t count, br_err *err)
{
    size_t arg_count = count * self->arg_stride;
    self->rows = br_grow(self->rows, &self->row_cap, count, sizeof *self->rows);
    self->args = br_grow(self->args, &self->arg_cap, arg_count, sizeof *self->args);
    br_buf_reset(&self->keys);
    self->row_count = 0;
    br_status st = BR_OK;
    for (size_t i = 0; st == BR_OK && i < count; i++) st = prepare_row(self, rows[i], err);
    /* A row that stops the job takes the rows of its record before it out as well. */
    int64_t stop = self->op.context->stop_offset;
    while (self->row_count > 0 && self->rows[self->row_count - 1].row->offset >= stop) {
        self->row_count--;
    }
    hash_keys(self);
    return st;
}

/* ---- pass 2 ---- */

static void account(group_by *self, size_t before, size_t after)
{
    if (before != after) br_table_account(self->op.table, (int64_t)after - (int64_t)before);
}

static void reset(group_by *self, br_entry *entry)
{
    void *payload = br_entry_payload(entry);
    account(self, br_group_acc_heap(self->conf, payload), 0);
    br_group_acc_dispose(self->conf, payload);
    memset(payload, 0, self->conf->payload_bytes);
    br_group_acc_init(self->conf, payload);
    entry->version = BR_VERSION_NONE;
}

/* Whether the row holds records of this incarnation of the job. */
static bool is_current(const group_by *self, const br_entry *entry)
{
    return entry->version.offset >= 0 &&
           entry->version.incarnation == self->op.context->incarnation;
}

static br_status fenced(const group_by *self, const br_entry *entry, br_err *err)
{
    return br_fail(err, BR_ERR_FENCED,
                   "groupBy %s: a row was written by incarnation %" PRIu32
                   " of the job, this is incarnation %" PRIu32 ": another worker runs a newer one",
                   self->conf->id, entry->version.incarnation, self->op.context->incarnation);
}

/* Finds the row's entry, and decides, once per record and group, whether it already holds the
 * record. NULL: the record is applied, as nothing. */
static br_status look_up(group_by *self, const pending *at, br_entry **out, br_err *err)
{
    const br_task_context *context = self->op.context;
    br_bytes key = key_of(self, at);
    int64_t offset = at->row->offset;
    /* Below the horizon every store is complete: a group that is not there got nothing from this
     * record (it was a bad one, say), so no row is made for it. */
    bool applied = offset <= context->horizon;
    br_status st = applied ? br_table_find(self->op.table, key, at->hash, out, err)
                           : br_table_obtain(self->op.table, key, at->hash, out, err);
    if (st < 0) return br_wrap(err, "groupBy %s", self->conf->id);
    if (st == BR_NOT_FOUND) {
        *out = NULL;
        return BR_OK;
    }
    br_entry *entry = *out;
    if (entry->version.incarnation > context->incarnation) return fenced(self, entry, err);
    if (!is_current(self, entry) && entry->version.offset >= 0) reset(self, entry);
    if (entry->seen != offset || !BR_RULE(skip_once_per_record)) {
        entry->seen = offset;
        entry->skip = applied || (BR_RULE(row_offsets) && offset <= entry->version.offset);
    }
    return BR_OK;
}

static br_origin origin_of(const br_row *row)
{
    return (br_origin){.time_ms = row->time_ms, .offset = row->offset};
}

static br_status check(const group_by *self, const br_entry *entry, const br_row *row,
                       const br_value *args, br_err *err)
{
    br_origin origin = origin_of(row);
    const char *payload = br_entry_payload(entry);
    for (size_t i = 0; i < self->conf->aggregate_count; i++) {
        const br_group_aggregate *aggregate = &self->conf->aggregates[i];
        br_status st = aggregate->fn->check(payload + aggregate->offset, &args[i], &origin, err);
        if (st < 0) return br_wrap(err, "aggregate %s", aggregate->name);
    }
    return BR_OK;
}

static void add(group_by *self, br_entry *entry, const br_row *row, const br_value *args)
{
    br_origin origin = origin_of(row);
    char *payload = br_entry_payload(entry);
    size_t before = self->counts_heap ? br_group_acc_heap(self->conf, payload) : 0;
    for (size_t i = 0; i < self->conf->aggregate_count; i++) {
        const br_group_aggregate *aggregate = &self->conf->aggregates[i];
        aggregate->fn->add(payload + aggregate->offset, &args[i], &origin);
    }
    if (self->counts_heap) account(self, before, br_group_acc_heap(self->conf, payload));
    entry->version = (br_version){self->op.context->incarnation, row->offset};
    if (!entry->dirty) br_table_mark_dirty(self->op.table, entry);
    if (!entry->emit) br_table_mark_emit(self->op.table, entry);
}

/* dry: only checks. A row that its aggregates refuse is left out from then on. */
static br_status apply_row(group_by *self, size_t i, bool dry, br_err *err)
{
    pending *at = &self->rows[i];
    if (!at->row) return BR_OK;
    br_entry *entry;
    br_status st = look_up(self, at, &entry, err);
    if (st < 0 || !entry) return st;
    if (entry->skip) {
        if (!entry->emit && BR_RULE(mark_for_emission)) br_table_mark_emit(self->op.table, entry);
        return BR_OK;
    }
    const br_value *args = self->args + i * self->arg_stride;
    br_err why;
    if (check(self, entry, at->row, args, &why) < 0) {
        const br_row *row = at->row;
        at->row = NULL;
        return br_op_bad_row(&self->op, row, &why, err);
    }
    if (!dry) add(self, entry, at->row, args);
    return BR_OK;
}

/* All rows of one record are checked before any is added, so that a record that stops the job is
 * not half in the state. (Their sums may still overflow together: then it is, up to that row.) */
static br_status apply_record(group_by *self, size_t first, size_t end, br_err *err)
{
    br_status st = BR_OK;
    if (end - first > 1) {
        for (size_t i = first; st == BR_OK && i < end; i++) st = apply_row(self, i, true, err);
    }
    for (size_t i = first; st == BR_OK && i < end; i++) st = apply_row(self, i, false, err);
    return st;
}

static br_status apply(group_by *self, br_err *err)
{
    br_status st = BR_OK;
    for (size_t first = 0, end; st == BR_OK && first < self->row_count; first = end) {
        if (first + PREFETCH_AHEAD < self->row_count)
            br_table_prefetch_entry(self->op.table, self->rows[first + PREFETCH_AHEAD].hash);
        int64_t offset = self->rows[first].row->offset;
        for (end = first + 1; end < self->row_count && self->rows[end].row->offset == offset;) {
            end++;
        }
        st = apply_record(self, first, end, err);
    }
    return st;
}

static br_status process(br_op *op, br_row *const *rows, size_t count, br_err *err)
{
    group_by *self = (group_by *)op;
    self->sent = (br_sent){0};
    size_t allowed = br_rows_allowed(op->context, rows, count);
    br_status prepared = prepare(self, rows, allowed, err);
    if (prepared < 0 && prepared != BR_ERR_BAD_RECORD) return prepared;
    br_status st = apply(self, err);
    return st < 0 ? st : prepared;
}

/* ---- flush ---- */

static br_status send_partial(group_by *self, const br_entry *entry, br_err *err)
{
    const br_outlet *outlet = self->op.context->outlet;
    br_bytes group = br_entry_key(entry);
    br_buf_reset(&self->partial_key);
    br_partial_key(&self->partial_key, group, self->op.context->partial_id);
    return outlet->partial(outlet->self, self->conf->output, group,
                           br_buf_bytes(&self->partial_key), br_buf_bytes(&self->packed), err);
}

static void pack(group_by *self, const br_entry *entry)
{
    br_buf_reset(&self->packed);
    self->type.encode(self->conf, entry, &self->packed);
}

/* A row of an older incarnation may be mended, but its group has no total. */
static bool sends_partial(const group_by *self, const br_entry *entry)
{
    return self->conf->two_stages && entry->emit && is_current(self, entry);
}

/* A changed row is the same bytes for the changelog and as a partial: packed once. */
static br_status send_changed(group_by *self, br_err *err)
{
    const br_outlet *outlet = self->op.context->outlet;
    size_t count;
    br_entry *const *dirty = br_table_dirty(self->op.table, &count);
    br_status st = BR_OK;
    for (size_t i = 0; st == BR_OK && i < count; i++) {
        pack(self, dirty[i]);
        st = outlet->changelog(outlet->self, self->conf->store, br_entry_key(dirty[i]),
                               br_buf_bytes(&self->packed), err);
        if (st == BR_OK && sends_partial(self, dirty[i])) st = send_partial(self, dirty[i], err);
    }
    return st;
}

/* Groups that a skipped record touched: nothing changed, but what was sent may be missing. */
static br_status send_unchanged_partials(group_by *self, br_err *err)
{
    size_t count;
    br_entry *const *emit = br_table_emit(self->op.table, &count);
    br_status st = BR_OK;
    for (size_t i = 0; st == BR_OK && i < count; i++) {
        if (emit[i]->dirty || !sends_partial(self, emit[i])) continue;
        pack(self, emit[i]);
        st = send_partial(self, emit[i], err);
    }
    return st;
}

static br_status push_results(group_by *self, br_err *err)
{
    size_t count;
    br_entry *const *emit = br_table_emit(self->op.table, &count);
    br_status st = BR_OK;
    for (size_t i = 0; st == BR_OK && i < count; i++) {
        if (!is_current(self, emit[i])) continue;
        st = br_results_add(self->results, br_entry_key(emit[i]), br_entry_payload(emit[i]), err);
    }
    return st == BR_OK ? br_results_push(self->results, err) : st;
}

static br_status flush(br_op *op, br_err *err)
{
    group_by *self = (group_by *)op;
    br_sent sent = br_sent_of(op->table);
    if (br_sent_equal(sent, self->sent)) return BR_OK;
    br_status st = send_changed(self, err);
    if (st == BR_OK) {
        st = self->conf->two_stages ? send_unchanged_partials(self, err) : push_results(self, err);
    }
    if (st == BR_OK) self->sent = sent;
    return st;
}

/* ---- life ---- */

/* Nulls for all rows, or none where rows have their own arguments. */
static void prepare_args(group_by *self)
{
    const br_group_conf *conf = self->conf;
    for (size_t i = 0; i < conf->aggregate_count; i++)
        if (conf->aggregates[i].argument) self->arg_stride = conf->aggregate_count;
    if (self->arg_stride > 0) return;
    self->args = br_grow(NULL, &self->arg_cap, conf->aggregate_count, sizeof *self->args);
    for (size_t i = 0; i < conf->aggregate_count; i++) self->args[i] = br_value_null();
}

static void destroy(br_op *op)
{
    group_by *self = (group_by *)op;
    br_table_destroy(op->table);
    br_results_destroy(self->results);
    br_buf_dispose(&self->keys);
    br_buf_dispose(&self->packed);
    br_buf_dispose(&self->partial_key);
    br_free(self->rows);
    br_free(self->args);
    br_free(self);
}

static const br_op_class group_by_class = {
    .kind = "groupBy",
    .process = process,
    .flush = flush,
    .destroy = destroy,
};

br_op *br_group_by_create(const br_group_conf *conf, br_task_context *context, br_env *env,
                          br_budget *budget)
{
    group_by *self = BR_NEW(group_by);
    self->conf = conf;
    self->type = br_group_row_type(conf);
    self->op.class = &group_by_class;
    self->op.id = conf->id;
    self->op.context = context;
    self->op.store = conf->store;
    self->op.table = br_table_create(env, conf->store, &self->type, budget);
    if (!conf->two_stages) self->results = br_results_create(conf, &self->op);
    for (size_t i = 0; i < conf->aggregate_count; i++) {
        if (conf->aggregates[i].fn->heap) self->counts_heap = true;
    }
    prepare_args(self);
    return &self->op;
}

br_status br_group_by_mend(br_op *op, const br_bytes *keys, size_t count, br_err *err)
{
    BR_ASSERT(op->class == &group_by_class);
    group_by *self = (group_by *)op;
    self->sent = (br_sent){0};
    for (size_t i = 0; i < count; i++) {
        br_entry *entry;
        br_status st = br_table_find(op->table, keys[i], br_hash64(keys[i]), &entry, err);
        if (st < 0) return br_wrap(err, "groupBy %s", self->conf->id);
        if (st == BR_NOT_FOUND) {
            return br_fail(err, BR_ERR_CORRUPT,
                           "groupBy %s: a row that the restore wrote is not in the store",
                           self->conf->id);
        }
        br_table_mark_dirty(op->table, entry);
    }
    return BR_OK;
}

br_status br_group_by_join(br_op *op, br_bytes key, br_bytes row, br_err *err)
{
    BR_ASSERT(op->class == &group_by_class);
    group_by *self = (group_by *)op;
    br_version version;
    br_entry *entry;
    br_status st = br_changelog_row_version(row, &version, err);
    if (st < 0) return st;
    st = br_table_obtain(op->table, key, br_hash64(key), &entry, err);
    if (st < 0) return br_wrap(err, "groupBy %s", self->conf->id);
    int order = br_version_compare(version, entry->version);
    if (order == 0) return BR_OK;
    if (order > 0) {
        reset(self, entry);
        st = self->type.decode(self->conf, entry, row, err);
        if (st < 0) return st;
        account(self, 0, br_group_acc_heap(self->conf, br_entry_payload(entry)));
        br_table_mark_emit(op->table, entry);
    }
    self->sent = (br_sent){0};
    br_table_mark_dirty(op->table, entry);
    return BR_OK;
}
