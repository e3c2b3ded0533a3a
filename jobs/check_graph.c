/* jobs/check_graph.c - ids, `from`, and the graph of a job's operators; see check.h. */
#include "jobs/check.h"

#include "jobs/graph.h"
#include "runtime/base/alloc.h"
#include "runtime/base/names.h"

#include <stdio.h>

typedef struct checker {
    const br_job *job;
    Brine__Job__Job *spec;
    br_job_errors *errors;
    br_graph *graph; /* once all names are known */
} checker;

/* Ids */

static const char *id_of(const checker *c, size_t index)
{
    return *br_operator_id(c->spec->operators[index]);
}

static void check_unique_ids(const checker *c)
{
    for (size_t i = 0; i < c->spec->n_operators; i++) {
        const char *id = id_of(c, i);
        size_t first = id ? br_graph_find(c->spec, id) : i;
        if (first != i)
            br_job_operator_error(c->job, c->errors, i, "id",
                                  "`%s` is the id of operators[%zu] already", id, first);
    }
}

/* Its kind and number; a higher number where somebody has given that name to another. */
static void set_default_id(const checker *c, size_t index)
{
    const br_operator *op = c->spec->operators[index];
    bool group = br_operator_is(op, BR_KIND_GROUP_BY);
    size_t number = 1;
    for (size_t i = 0; i < index; i++) number += c->spec->operators[i]->kind_case == op->kind_case;
    char id[BR_OPERATOR_ID_BYTES_MAX + 1];
    do
        (void)snprintf(id, sizeof(id), "%s%zu", group ? "group_by" : br_operator_kind_name(op),
                       number++);
    while (br_graph_find(c->spec, id) < c->spec->n_operators);
    *br_operator_id(op) = br_strdup(id);
}

/* From */

static void set_default_from(const checker *c, size_t index, char ***from, size_t *count)
{
    if (index == 0) {
        br_job_operator_error(c->job, c->errors, index, "",
                              "there is no operator above that it could read: the first one is a "
                              "source");
        return;
    }
    if (br_operator_is(c->spec->operators[index - 1], BR_KIND_SINK)) {
        br_job_operator_error(c->job, c->errors, index, "",
                              "the operator above is a sink, which nothing can read: say with "
                              "`from` what it reads");
        return;
    }
    *from = br_calloc(1, sizeof(char *));
    (*from)[0] = br_strdup(id_of(c, index - 1));
    *count = 1;
}

static void add_unknown_from(const checker *c, size_t index, const char *field, const char *name)
{
    const char *ids[BR_OPERATORS_MAX];
    for (size_t i = 0; i < c->spec->n_operators; i++) ids[i] = id_of(c, i);
    const char *near = br_nearest(br_str(name), ids, c->spec->n_operators);
    br_job_operator_error(c->job, c->errors, index, field, "no operator has the id `%.80s`%s%s%s",
                          name, near ? ", did you mean `" : "", near ? near : "", near ? "`?" : "");
}

static void check_from(const checker *c, size_t index, char *const *from, size_t count)
{
    if (count > BR_OPERATORS_MAX) {
        br_job_operator_error(c->job, c->errors, index, "from", "found %zu, up to %d are allowed",
                              count, BR_OPERATORS_MAX);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        char field[32];
        size_t target = br_graph_find(c->spec, from[i]);
        (void)snprintf(field, sizeof(field), "from[%zu]", i);
        if (target == c->spec->n_operators)
            add_unknown_from(c, index, field, from[i]);
        else if (br_operator_is(c->spec->operators[target], BR_KIND_SINK))
            br_job_operator_error(c->job, c->errors, index, field,
                                  "`%s` is a sink, which nothing can read", from[i]);
        for (size_t j = 0; j < i; j++)
            if (strcmp(from[i], from[j]) == 0)
                br_job_operator_error(c->job, c->errors, index, field, "`%s` stands twice",
                                      from[i]);
    }
}

static void check_all_from(const checker *c)
{
    for (size_t i = 0; i < c->spec->n_operators; i++) {
        size_t *count = NULL;
        char ***from = br_operator_from(c->spec->operators[i], &count);
        if (from && *count == 0)
            set_default_from(c, i, from, count);
        else if (from)
            check_from(c, i, *from, *count);
    }
}

/* The graph */

static void check_has(const checker *c, br_op_kind kind, const char *name)
{
    for (size_t i = 0; i < c->spec->n_operators; i++)
        if (br_operator_is(c->spec->operators[i], kind)) return;
    br_job_error_at(c->job, c->errors, "operators", "at least one %s is needed", name);
}

static bool is_read(const br_graph *graph, size_t index)
{
    for (size_t i = 0; i < graph->count; i++)
        if (graph->reads[i][index]) return true;
    return false;
}

static void check_read(const checker *c)
{
    for (size_t i = 0; i < c->spec->n_operators; i++)
        if (!br_operator_is(c->spec->operators[i], BR_KIND_SINK) && !is_read(c->graph, i))
            br_job_operator_error(c->job, c->errors, i, "",
                                  "nothing reads `%s`: add a sink below it, or remove it",
                                  id_of(c, i));
}

/* Rows of one source that came to an operator on two ways would be told apart by nothing: the
 * second of them would be taken for a replay of the first. */
static void check_ways(const checker *c, size_t head)
{
    int ways[BR_OPERATORS_MAX];
    const br_operator *op = c->spec->operators[head];
    if (!br_operator_is(op, BR_KIND_SOURCE) && !br_operator_is(op, BR_KIND_GROUP_BY)) return;
    br_graph_ways(c->graph, c->spec, head, ways);
    for (size_t i = 0; i < c->spec->n_operators; i++)
        if (ways[i] > 1)
            br_job_operator_error(c->job, c->errors, i, "from",
                                  "`%s` comes here on two ways: a union is of different sources; "
                                  "put both conditions into one map (`where: a or b`)",
                                  id_of(c, head));
}

static void check_group_order(const checker *c)
{
    for (size_t i = 0; i < c->spec->n_operators; i++)
        for (size_t j = 0; j < c->spec->n_operators; j++)
            if (br_operator_is(c->spec->operators[i], BR_KIND_GROUP_BY) &&
                br_operator_is(c->spec->operators[j], BR_KIND_GROUP_BY) && c->graph->reaches[j][i])
                br_job_operator_error(c->job, c->errors, i, "from",
                                      "a groupBy cannot read another groupBy (`%s`) yet; let both "
                                      "read the source",
                                      id_of(c, j));
}

/* Topics */

static void check_topic_pair(const checker *c, size_t a, size_t b)
{
    const br_operator *x = c->spec->operators[a], *y = c->spec->operators[b];
    const Brine__Job__Sink *sink = br_operator_is(y, BR_KIND_SINK) ? y->sink : NULL;
    if (br_operator_is(x, BR_KIND_SOURCE) && sink && strcmp(x->source->topic, sink->topic) == 0)
        br_job_operator_error(c->job, c->errors, b, "topic",
                              "the job reads `%s` (operators[%zu]): it would read its own results",
                              sink->topic, a);
    if (a >= b) return;
    if (br_operator_is(x, BR_KIND_SOURCE) && br_operator_is(y, BR_KIND_SOURCE) &&
        strcmp(x->source->topic, y->source->topic) == 0)
        br_job_operator_error(c->job, c->errors, b, "topic",
                              "operators[%zu] reads `%s` already: let others read it with "
                              "`from: %s`",
                              a, y->source->topic, id_of(c, a));
    if (br_operator_is(x, BR_KIND_SINK) && sink && strcmp(x->sink->topic, sink->topic) == 0 &&
        x->sink->partitions != sink->partitions)
        br_job_operator_error(c->job, c->errors, b, "topic",
                              "operators[%zu] writes `%s` too, with other `partitions`", a,
                              sink->topic);
}

static void check_topics(const checker *c)
{
    for (size_t i = 0; i < c->spec->n_operators; i++)
        for (size_t j = 0; j < c->spec->n_operators; j++) check_topic_pair(c, i, j);
}

static void check_shape(checker *c)
{
    c->graph = BR_NEW(br_graph);
    br_graph_init(c->graph, c->spec);
    size_t cycle = 0;
    while (cycle < c->graph->count && !c->graph->reaches[cycle][cycle]) cycle++;
    if (cycle < c->graph->count) {
        br_job_operator_error(c->job, c->errors, cycle, "from",
                              "`%s` reads its own output (a cycle)", id_of(c, cycle));
    } else {
        check_read(c);
        for (size_t i = 0; i < c->spec->n_operators; i++) check_ways(c, i);
        check_group_order(c);
    }
    br_free(c->graph);
}

void br_check_graph(const br_job *job, Brine__Job__Job *spec, br_job_errors *errors)
{
    checker c = {.job = job, .spec = spec, .errors = errors};
    check_has(&c, BR_KIND_SOURCE, "source");
    check_has(&c, BR_KIND_SINK, "sink");
    check_unique_ids(&c);
    for (size_t i = 0; i < spec->n_operators; i++)
        if (!id_of(&c, i)) set_default_id(&c, i);
    size_t before = errors->count;
    check_all_from(&c);
    if (errors->count == before) check_shape(&c);
    check_topics(&c);
}
