/* runtime/log/local.c - the embedded log: opening, closing, and its table of calls. See local.h. */
#include "runtime/log/local.h"

#include "runtime/base/alloc.h"

static void close_log(br_log *base)
{
    br_local *log = (br_local *)base;
    br_local_env_close(log);
    br_free(log->description);
    br_free(log);
}

static const char *describe(const br_log *base)
{
    return ((const br_local *)base)->description;
}

const br_log_vtable br_local_vtable = {
    .close = close_log,
    .describe = describe,
    .topic = br_local_topic_info,
    .create_topic = br_local_create_topic,
    .grow_topic = br_local_grow_topic,
    .topics = br_local_topics,
    .offsets = br_local_offsets,
    .offset_at = br_local_offset_at,
    .consumer_open = br_local_consumer_open,
    .consumer_close = br_local_consumer_close,
    .consumer_poll = br_local_consumer_poll,
    .consumer_start = br_local_consumer_start,
    .consumer_committed = br_local_consumer_committed,
    .consumer_commit = br_local_consumer_commit,
    .reader_open = br_local_reader_open,
    .reader_close = br_local_reader_close,
    .reader_poll = br_local_reader_poll,
    .reader_position = br_local_reader_position,
    .producer_open = br_local_producer_open,
    .producer_close = br_local_producer_close,
    .producer_topic = br_local_producer_topic,
    .producer_send = br_local_producer_send,
    .producer_flush = br_local_producer_flush,
    .producer_open_transactional = br_local_producer_open_transactional,
    .producer_commit = br_local_producer_commit,
};

br_status br_local_open(br_log **out, const br_local_opts *opts, br_err *err)
{
    *out = NULL;
    br_local *log = BR_NEW(br_local);
    log->base.vtable = &br_local_vtable;
    if (br_local_env_open(log, opts, err) != BR_OK) {
        close_log(&log->base);
        return err->status;
    }
    br_buf text = {0};
    br_buf_printf(&text, "the embedded log in %s", opts->dir);
    log->description = br_strdup(br_buf_cstr(&text));
    br_buf_dispose(&text);
    *out = &log->base;
    return BR_OK;
}

br_status br_log_open_local(br_log **out, const char *dir, bool sync, br_err *err)
{
    return br_local_open(out, &(br_local_opts){.dir = dir, .sync = sync}, err);
}
