/* runtime/log/kafka_record.c - a librdkafka message as a br_record, without copying.
 * Lifetime: the record's bytes are the message's; its headers live in the caller's br_kafka_headers
 *           until the next record. */
#include "runtime/log/kafka.h"

#include "runtime/base/alloc.h"

static size_t read_headers(const rd_kafka_message_t *message, br_kafka_headers *headers)
{
    rd_kafka_headers_t *list;
    if (rd_kafka_message_headers(message, &list) != RD_KAFKA_RESP_ERR_NO_ERROR) return 0;
    size_t count = rd_kafka_header_cnt(list);
    headers->at = br_grow(headers->at, &headers->cap, count, sizeof(*headers->at));
    for (size_t i = 0; i < count; i++) {
        const char *name = "";
        const void *value = NULL;
        size_t len = 0;
        rd_kafka_header_get_all(list, i, &name, &value, &len);
        headers->at[i] = (br_header){br_str(name), br_bytes_of(value, len)};
    }
    return count;
}

br_record br_kafka_record_of(const rd_kafka_message_t *message, br_kafka_headers *headers)
{
    rd_kafka_timestamp_type_t type;
    int64_t timestamp_ms = rd_kafka_message_timestamp(message, &type);
    size_t header_count = read_headers(message, headers);
    return (br_record){
        .topic = rd_kafka_topic_name(message->rkt),
        .partition = message->partition,
        .offset = message->offset,
        .timestamp_ms = type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? -1 : timestamp_ms,
        .key = br_bytes_of(message->key, message->key_len),
        .value = br_bytes_of(message->payload, message->len),
        .headers = headers->at,
        .header_count = header_count,
    };
}
