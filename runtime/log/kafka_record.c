/* runtime/log/kafka_record.c - a librdkafka message as a br_record, without copying.
 * Lifetime: the record's bytes are the message's; its headers live in the caller's br_kafka_headers
 *           until the next record.
 * Headers are found when they are asked for: librdkafka builds a list to say that there are none,
 * which costs as much as the rest of a record's way to us. */
#include "runtime/log/kafka.h"

#include "runtime/base/alloc.h"

static br_headers find_headers(void *finder)
{
    br_kafka_headers *headers = finder;
    rd_kafka_headers_t *list;
    if (rd_kafka_message_headers(headers->message, &list) != RD_KAFKA_RESP_ERR_NO_ERROR)
        return (br_headers){0};
    size_t count = rd_kafka_header_cnt(list);
    headers->at = br_grow(headers->at, &headers->cap, count, sizeof(*headers->at));
    for (size_t i = 0; i < count; i++) {
        const char *name = "";
        const void *value = NULL;
        size_t len = 0;
        rd_kafka_header_get_all(list, i, &name, &value, &len);
        headers->at[i] = (br_header){br_str(name), br_bytes_of(value, len)};
    }
    return (br_headers){headers->at, count};
}

br_record br_kafka_record_of(const rd_kafka_message_t *message, const char *topic,
                             br_kafka_headers *headers)
{
    rd_kafka_timestamp_type_t type;
    int64_t timestamp_ms = rd_kafka_message_timestamp(message, &type);
    headers->message = message;
    return (br_record){
        .topic = topic,
        .partition = message->partition,
        .offset = message->offset,
        .timestamp_ms = type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? -1 : timestamp_ms,
        .key = br_bytes_of(message->key, message->key_len),
        .value = br_bytes_of(message->payload, message->len),
        .find_headers = find_headers,
        .finder = headers,
    };
}
