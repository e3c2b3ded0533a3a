/* runtime/cli/query.c - brine query: reads the state of a job's groupBy, also while the job runs.
 * Shape:     folders of the job's tasks -> those that answer -> rows -> sorted -> printed
 *            A groupBy of two stages is answered by stage two only (the tasks of its repartition
 *            topic): what stage one holds are shares of groups.
 * Memory:    what is printed, for the sorting. */
#include "runtime/base/alloc.h"
#include "runtime/base/json_out.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/connect.h"
#include "runtime/cli/grid.h"
#include "runtime/cli/stored_group.h"
#include "state/env.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

typedef struct found_row {
    size_t key_start, key_len; /* in keys: the group's tuple, whose order is that of its values */
    size_t first_cell;
} found_row;

typedef struct query {
    const char *operator_id;
    char **wanted; /* groups as text; none: all */
    size_t wanted_count;
    bool json;
    br_buf spec; /* of the stores; the same in all */
    br_column *columns;
    size_t column_count;
    br_stored_group *group; /* of the store in hand, and at the end of the last */
    br_buf keys, cells;     /* of all rows found */
    size_t *cell_ends;
    size_t cell_count, cell_cap;
    found_row *rows;
    size_t row_count, row_cap;
    br_buf text;
} query;

/* ---- rows ---- */

/* The group's fields as text, joined by commas. */
static void group_text(const query *q, const br_value *slots, br_buf *out)
{
    br_buf_reset(out);
    for (size_t i = 0; i < br_stored_group_by_count(q->group); i++) {
        if (i > 0) br_buf_addc(out, ',');
        br_value_to_text(&slots[i], out);
    }
}

static bool is_wanted(query *q, const br_value *slots)
{
    if (q->wanted_count == 0) return true;
    group_text(q, slots, &q->text);
    for (size_t i = 0; i < q->wanted_count; i++)
        if (br_bytes_equal(br_buf_bytes(&q->text), br_str(q->wanted[i]))) return true;
    return false;
}

static void end_cell(query *q)
{
    q->cell_ends = br_grow(q->cell_ends, &q->cell_cap, q->cell_count + 1, sizeof(*q->cell_ends));
    q->cell_ends[q->cell_count++] = q->cells.len;
}

static void add_json(query *q, const br_value *slots)
{
    size_t count;
    const char *const *names = br_stored_group_names(q->group, &count);
    br_json_out out = br_json_begin(&q->cells);
    br_json_open(&out, '{');
    for (size_t i = 0; i < count; i++) {
        br_json_name(&out, br_str(names[i]));
        br_value_to_json(&slots[i], &q->cells);
        out.comma = true;
    }
    br_json_close(&out, '}');
    end_cell(q);
}

static void add_cells(query *q, const br_value *slots)
{
    for (size_t i = 0; i < q->column_count; i++) {
        br_value_to_text(&slots[i], &q->cells);
        end_cell(q);
    }
}

static br_status take_row(void *arg, br_bytes key, br_bytes val, br_err *err)
{
    query *q = arg;
    const br_value *slots;
    br_status st = br_stored_group_key(q->group, key, &slots, err);
    if (st != BR_OK || !is_wanted(q, slots)) return st;
    st = br_stored_group_row(q->group, key, val, &slots, err);
    if (st != BR_OK) return st;
    q->rows = br_grow(q->rows, &q->row_cap, q->row_count + 1, sizeof(*q->rows));
    q->rows[q->row_count++] = (found_row){q->keys.len, key.len, q->cell_count};
    br_buf_addb(&q->keys, key);
    if (q->json)
        add_json(q, slots);
    else
        add_cells(q, slots);
    return BR_OK;
}

/* ---- stores ---- */

static void make_columns(query *q)
{
    const char *const *names = br_stored_group_names(q->group, &q->column_count);
    q->columns = br_calloc(q->column_count, sizeof(*q->columns));
    for (size_t i = 0; i < q->column_count; i++)
        q->columns[i] = (br_column){names[i], i >= br_stored_group_by_count(q->group)};
}

/* Opens q->group for this store's rows; the names of an older one stay until then. */
static br_status open_group(query *q, br_bytes spec, bool partials, br_err *err)
{
    br_stored_group *group;
    if (q->group && !br_bytes_equal(spec, br_buf_bytes(&q->spec)))
        return br_fail(err, BR_ERR_CONFIG,
                       "it was written by another version of the job than the folders before it: "
                       "give one folder instead of the job");
    br_status st = br_stored_group_open(&group, spec, partials, err);
    if (st != BR_OK) return st;
    br_stored_group_close(q->group);
    q->group = group;
    br_buf_reset(&q->spec);
    br_buf_addb(&q->spec, spec);
    br_free(q->columns);
    make_columns(q);
    return BR_OK;
}

/* What the rows of the operator's store mean; borrows env. BR_NO_BYTES: nothing is committed. */
static br_bytes find_spec(const br_env *env, const char *operator_id)
{
    const Brine__State__Checkpoint *checkpoint = br_env_checkpoint(env);
    for (size_t i = 0; checkpoint && i < checkpoint->n_stores; i++) {
        const Brine__State__StoreCheckpoint *store = checkpoint->stores[i];
        if (strcmp(store->id, operator_id) == 0)
            return br_bytes_of(store->operator_.data, store->operator_.len);
    }
    return BR_NO_BYTES;
}

/* BR_NOT_FOUND: no environment, or not one with this operator. */
static br_status read_store(query *q, const char *dir, bool partials, br_err *err)
{
    br_env *env;
    br_status st = br_env_peek(&env, dir, err);
    if (st != BR_OK) return st;
    int store = br_env_store_index(env, q->operator_id);
    br_bytes spec = find_spec(env, q->operator_id);
    if (store < 0 || !spec.data) {
        br_env_close(env, false);
        return BR_NOT_FOUND;
    }
    st = open_group(q, spec, partials, err);
    if (st == BR_OK) st = br_env_scan(env, (size_t)store, BR_NO_BYTES, take_row, q, err);
    br_env_close(env, false);
    return st < 0 ? br_wrap(err, "%s", dir) : BR_OK;
}

/* ---- folders ---- */

/* <job>-<operator>-repartition-<partition> */
static bool is_stage_two(const query *q, const char *job, const char *name)
{
    br_buf prefix = {0};
    br_buf_printf(&prefix, "%s-%s-repartition-", job, q->operator_id);
    bool is = strncmp(name, br_buf_cstr(&prefix), prefix.len) == 0 &&
              strspn(name + prefix.len, "0123456789") == strlen(name + prefix.len);
    br_buf_dispose(&prefix);
    return is;
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* The part of the path behind the last slash, and the part before it. */
static void split_path(const char *path, br_buf *parent, br_buf *name)
{
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/') len--;
    size_t start = len;
    while (start > 0 && path[start - 1] != '/') start--;
    br_buf_add(name, path + start, len - start);
    if (start > 0) br_buf_add(parent, path, start > 1 ? start - 1 : 1);
}

/* A single environment. Its job's name is its parent folder's. */
static br_status read_folder(query *q, const char *dir, br_err *err)
{
    br_buf parent = {0}, grandparent = {0}, name = {0}, job = {0};
    split_path(dir, &parent, &name);
    split_path(br_buf_cstr(&parent), &grandparent, &job);
    bool partials = is_stage_two(q, br_buf_cstr(&job), br_buf_cstr(&name));
    br_status st = read_store(q, dir, partials, err);
    if (st == BR_NOT_FOUND)
        st = br_fail(err, BR_ERR_CONFIG, "%s holds no state of operator `%s`", dir, q->operator_id);
    br_buf_dispose(&parent);
    br_buf_dispose(&grandparent);
    br_buf_dispose(&name);
    br_buf_dispose(&job);
    return st;
}

static br_status read_entries(query *q, const char *job, const char *dir, struct dirent **entries,
                              int count, br_err *err)
{
    bool two_stages = false, found = false;
    for (int i = 0; i < count; i++) two_stages |= is_stage_two(q, job, entries[i]->d_name);
    for (int i = 0; i < count; i++) {
        if (is_stage_two(q, job, entries[i]->d_name) != two_stages) continue;
        br_buf path = {0};
        br_buf_printf(&path, "%s/%s", dir, entries[i]->d_name);
        br_status st = read_store(q, br_buf_cstr(&path), two_stages, err);
        br_buf_dispose(&path);
        if (st < 0) return st;
        found |= st == BR_OK;
    }
    if (found || two_stages) return BR_OK; /* stage two may not have committed yet */
    return br_fail(err, BR_ERR_CONFIG,
                   "%s holds no state of an operator `%s`: `brine plan` shows a job's operators; "
                   "only a groupBy has state, from its first commit on",
                   dir, q->operator_id);
}

/* All environments of a job. */
static br_status read_job(query *q, const char *state_dir, const char *job, br_err *err)
{
    struct dirent **entries;
    br_buf dir = {0};
    br_status st;
    br_buf_printf(&dir, "%s/%s", state_dir, job);
    int count = scandir(br_buf_cstr(&dir), &entries, visible, alphasort);
    if (count < 0) {
        st = br_fail_errno(err, BR_ERR_IO, errno,
                           "no state of job `%s` (--state-dir says where to look): cannot read %s",
                           job, br_buf_cstr(&dir));
    } else {
        st = read_entries(q, job, br_buf_cstr(&dir), entries, count, err);
        for (int i = 0; i < count; i++) free(entries[i]); /* scandir's own */
        free(entries);
    }
    br_buf_dispose(&dir);
    return st;
}

/* ---- printing ---- */

static int by_key(const void *a, const void *b, void *arg)
{
    const query *q = arg;
    const found_row *x = a, *y = b;
    return br_bytes_compare(br_bytes_of(q->keys.data + x->key_start, x->key_len),
                            br_bytes_of(q->keys.data + y->key_start, y->key_len));
}

static br_bytes cell(const query *q, size_t index)
{
    size_t start = index > 0 ? q->cell_ends[index - 1] : 0;
    return br_bytes_of(q->cells.data + start, q->cell_ends[index] - start);
}

static void print_rows(query *q)
{
    if (q->row_count > 0) qsort_r(q->rows, q->row_count, sizeof(*q->rows), by_key, q);
    if (q->json) {
        for (size_t i = 0; i < q->row_count; i++) {
            br_bytes line = cell(q, q->rows[i].first_cell);
            (void)fwrite(line.data, 1, line.len, stdout);
            (void)putchar('\n');
        }
        return;
    }
    if (!q->group) return; /* nothing is committed yet */
    br_grid *grid = br_grid_create(q->columns, q->column_count);
    for (size_t i = 0; i < q->row_count; i++)
        for (size_t c = 0; c < q->column_count; c++)
            br_grid_add(grid, cell(q, q->rows[i].first_cell + c));
    br_grid_print(grid, stdout);
    br_grid_destroy(grid);
}

static void dispose(query *q)
{
    br_stored_group_close(q->group);
    br_free(q->columns);
    br_buf_dispose(&q->spec);
    br_buf_dispose(&q->keys);
    br_buf_dispose(&q->cells);
    br_buf_dispose(&q->text);
    br_free(q->cell_ends);
    br_free(q->rows);
}

int br_cmd_query(int argc, char **argv)
{
    br_connect connect = {0};
    query q = {0};
    const br_option options[] = {
        BR_STATE_DIR_OPTION(connect),
        {"local", "DIR", "folder of the embedded log that the job runs on (or BRINE_LOCAL)",
         BR_OPTION_TEXT, &connect.local, 0, 0},
        {"json", NULL, "a JSON object a group", BR_OPTION_FLAG, &q.json, 0, 0},
    };
    const br_usage usage = {
        .command = "query",
        .arguments = "JOB|FOLDER OPERATOR [KEY…]",
        .argument_min = 2,
        .argument_max = 10000,
        .summary =
            "Prints the groups of a groupBy as of its last commit, also while the job runs.\n"
            "KEY: only this group, as text; several fields are joined by commas.\n"
            "FOLDER: one task's, with a slash: ./state/JOB/TOPIC-0.\n",
        .notes = "It reads the state folders of this machine: of a job that runs on several, the\n"
                 "groups whose partitions are here.\n",
        .options = options,
        .option_count = BR_COUNTOF(options),
    };
    br_args args;
    br_err err;
    br_buf state_dir = {0};
    int code;
    if (!br_options_read(&usage, argc, argv, &args, &code)) return code;
    q.operator_id = args.at[1];
    q.wanted = args.at + 2;
    q.wanted_count = args.count - 2;
    br_status st = br_connect_state_dir(&connect, &state_dir, &err);
    if (st == BR_OK && strchr(args.at[0], '/'))
        st = read_folder(&q, args.at[0], &err);
    else if (st == BR_OK)
        st = read_job(&q, br_buf_cstr(&state_dir), args.at[0], &err);
    if (st == BR_OK) print_rows(&q);
    dispose(&q);
    br_buf_dispose(&state_dir);
    return st == BR_OK ? BR_EXIT_DONE : br_cli_failed(usage.command, BR_EXIT_NOT_STARTED, &err);
}
