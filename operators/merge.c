/* operators/merge.c - see merge.h. */
#include "operators/merge.h"
#include "operators/group_row.h"
#include "operators/merge_row.h"
#include "runtime/base/alloc.h"
#include "runtime/base/hash.h"
#include "runtime/base/rules.h"

typedef struct merge {
    br_op op; /* first */
    const br_group_conf *conf;
    br_row_type type;
    br_results *results;
    br_sent sent;
    void *scratch; /* an accumulator payload: decoding, totals */
    /* Groups with a partial to be written again: a zombie's record stands behind it in the log.
     * Good until the next commit, whose flush empties the list. */
    br_entry **repairs;
    size_t repair_count, repair_cap;
    br_buf repair_key, repair_row;
} merge;

/* ---- keys ---- */

void br_partial_key(br_buf *out, br_bytes group, br_bytes partial_id)
{
    br_buf_addb(out, group);
    br_buf_addb(out, partial_id);
}

/* Length of the text at the start of `in`, behind its code: ends with 00 01, has 00 as 00 ff; 0:
 * it does not end. */
static size_t text_len(br_bytes in)
{
    for (size_t at = 0; at + 1 < in.len;) {
        const char *zero = memchr(in.data + at, 0, in.len - 1 - at);
        if (!zero) return 0;
        at = (size_t)(zero - in.data) + 2;
        if (zero[1] == 1) return at;
        if (zero[1] != (char)0xff) return 0;
    }
    return 0;
}

/* Length of the first value of a tuple, by its code (tuple.h); 0: it is none. Here so that a key is
 * split without making values of its parts. */
static size_t value_len(br_bytes tuple)
{
    size_t len = 0;
    switch ((unsigned char)tuple.data[0]) {
    case 0x00: /* null */
    case 0x26: /* false */
    case 0x27: /* true */ len = 1; break;
    case 0x14: /* integer */
    case 0x21: /* float */ len = 1 + 8; break;
    case 0x0b: /* below 64 bits */
    case 0x1d: /* above */ len = 1 + 16; break;
    case 0x02: /* text */
    case 0x03: /* json */ {
        size_t text = text_len(br_bytes_of(tuple.data + 1, tuple.len - 1));
        return text > 0 ? 1 + text : 0;
    }
    default: break;
    }
    return len <= tuple.len ? len : 0;
}

br_status br_partial_key_split(br_bytes key, size_t by_count, br_bytes *group, br_bytes *partial_id,
                               br_err *err)
{
    size_t at = 0, group_len = 0, values = 0;
    while (at < key.len) {
        size_t len = value_len(br_bytes_of(key.data + at, key.len - at));
        if (len == 0) break;
        at += len;
        if (++values == by_count) group_len = at;
    }
    if (at < key.len || values <= by_count) {
        return br_fail(err, BR_ERR_CORRUPT,
                       "key of %zu bytes is not a group of %zu values and a partial id", key.len,
                       by_count);
    }
    *group = br_bytes_of(key.data, group_len);
    *partial_id = br_bytes_of(key.data + group_len, key.len - group_len);
    return BR_OK;
}

/* ---- joining ---- */

static void note_repair(merge *self, br_entry *entry)
{
    if (entry->pinned) return;
    entry->pinned = true;
    self->repairs =
        br_grow(self->repairs, &self->repair_cap, self->repair_count + 1, sizeof *self->repairs);
    self->repairs[self->repair_count++] = entry;
}

/* BR_OK also where the partial was known; the group is marked as it should be. */
static br_status join(merge *self, br_bytes group, br_bytes id, int64_t offset,
                      const br_row_parts *row, br_err *err)
{
    br_entry *entry;
    br_status st = br_table_obtain(self->op.table, group, br_hash64(group), &entry, err);
    if (st < 0) return st;
    br_partials *partials = br_entry_payload(entry);
    size_t heap = partials->heap;
    st = br_partials_join(self->conf, partials, id, row, self->scratch, err);
    if (st < 0) return st;
    if (st == BR_END && BR_RULE(stage_two_repair)) note_repair(self, entry);
    if (partials->heap != heap) {
        br_table_account(self->op.table, (int64_t)partials->heap - (int64_t)heap);
    }
    if (st == BR_OK) br_table_mark_dirty(self->op.table, entry);
    if (offset >= self->op.context->emit_from) br_table_mark_emit(self->op.table, entry);
    return BR_OK;
}

br_status br_merge_apply(br_op *op, int64_t offset, br_bytes key, br_bytes value, br_err *err)
{
    merge *self = (merge *)op;
    if (!value.data) return BR_OK;
    br_bytes group, id;
    br_status st = br_partial_key_split(key, self->conf->by_count, &group, &id, err);
    if (st < 0) return br_wrap(err, "groupBy %s", self->conf->id);
    br_row_parts row;
    if (!br_row_read(value, &row) || !row.has_version) {
        return br_fail(err, BR_ERR_CORRUPT, "value of %zu bytes is not a partial of groupBy %s",
                       value.len, self->conf->id);
    }
    /* Older: of a job of the same name that was reset; it counts for nothing. */
    if (row.version.incarnation < op->context->incarnation) return BR_OK;
    self->sent = (br_sent){0};
    return join(self, group, id, offset, &row, err);
}

/* ---- operator ---- */

/* Stage two reads records of its own topic, through br_merge_apply; no operator stands above it. */
static br_status process(br_op *op, br_row *const *rows, size_t count, br_err *err)
{
    (void)op, (void)rows, (void)err;
    BR_ASSERT(count == 0);
    return BR_OK;
}

static br_status push_total(merge *self, const br_entry *entry, br_err *err)
{
    const br_group_conf *conf = self->conf;
    const br_partials *partials = br_entry_payload(entry);
    if (partials->count == 0) return BR_OK;
    if (br_partials_incarnation(partials) < self->op.context->incarnation) return BR_OK;
    br_merge_total(conf, partials, self->scratch);
    br_status st = br_results_add(self->results, br_entry_key(entry), self->scratch, err);
    br_group_acc_dispose(conf, self->scratch);
    memset(self->scratch, 0, conf->payload_bytes);
    br_group_acc_init(conf, self->scratch);
    return st;
}

static br_status repair_group(merge *self, const br_entry *entry, br_err *err)
{
    const br_outlet *outlet = self->op.context->outlet;
    br_partials *partials = br_entry_payload(entry);
    br_status st = BR_OK;
    for (size_t i = 0; st == BR_OK && i < partials->count; i++) {
        if (!partials->at[i]->repair) continue;
        partials->at[i]->repair = false;
        br_buf_reset(&self->repair_key);
        br_buf_reset(&self->repair_row);
        br_partials_record(self->conf, partials, i, br_entry_key(entry), &self->repair_key,
                           &self->repair_row);
        st = outlet->repair(outlet->self, br_buf_bytes(&self->repair_key),
                            br_buf_bytes(&self->repair_row), err);
    }
    return st;
}

static br_status flush(br_op *op, br_err *err)
{
    merge *self = (merge *)op;
    while (self->repair_count > 0) {
        br_entry *entry = self->repairs[--self->repair_count];
        br_status repaired = repair_group(self, entry, err);
        if (repaired < 0) return repaired;
        entry->pinned = false;
    }
    br_sent sent = br_sent_of(op->table);
    if (br_sent_equal(sent, self->sent)) return BR_OK;
    size_t count;
    br_entry *const *emit = br_table_emit(op->table, &count);
    br_status st = BR_OK;
    for (size_t i = 0; st == BR_OK && i < count; i++) st = push_total(self, emit[i], err);
    if (st == BR_OK) st = br_results_push(self->results, err);
    if (st == BR_OK) self->sent = sent;
    return st;
}

static void destroy(br_op *op)
{
    merge *self = (merge *)op;
    br_table_destroy(op->table);
    br_results_destroy(self->results);
    br_group_acc_dispose(self->conf, self->scratch);
    br_free(self->scratch);
    br_free(self->repairs);
    br_buf_dispose(&self->repair_key);
    br_buf_dispose(&self->repair_row);
    br_free(self);
}

static const br_op_class merge_class = {
    .kind = "groupBy",
    .process = process,
    .flush = flush,
    .destroy = destroy,
};

br_op *br_merge_create(const br_group_conf *conf, br_task_context *context, br_env *env,
                       br_budget *budget)
{
    merge *self = BR_NEW(merge);
    self->conf = conf;
    self->type = br_merge_row_type(conf);
    self->op.class = &merge_class;
    self->op.id = conf->id;
    self->op.context = context;
    self->op.store = conf->store;
    self->op.table = br_table_create(env, conf->store, &self->type, budget);
    self->results = br_results_create(conf, &self->op);
    self->scratch = br_calloc(1, conf->payload_bytes);
    br_group_acc_init(conf, self->scratch);
    return &self->op;
}
