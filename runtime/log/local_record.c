/* runtime/log/local_record.c - see local_record.h. */
#include "runtime/log/local_record.h"

static const uint32_t null_len = UINT32_MAX;

typedef struct head {
    int64_t timestamp_ms;
    uint32_t key_len, value_len, header_count, headers_len;
} head;

typedef struct header_head {
    uint32_t name_len, value_len;
} header_head;

static uint32_t len_of(br_bytes bytes)
{
    return bytes.data ? (uint32_t)bytes.len : null_len;
}

void br_local_record_encode(br_buf *out, int64_t timestamp_ms, br_bytes key, br_bytes value,
                            const br_header *headers, size_t header_count)
{
    size_t start = out->len;
    head h = {timestamp_ms, len_of(key), len_of(value), (uint32_t)header_count, 0};
    br_buf_reserve(out, sizeof(h) + key.len + value.len);
    br_buf_add(out, &h, sizeof(h));
    for (size_t i = 0; i < header_count; i++) {
        header_head hh = {(uint32_t)headers[i].name.len, len_of(headers[i].value)};
        br_buf_add(out, &hh, sizeof(hh));
        br_buf_addb(out, headers[i].name);
        br_buf_addb(out, headers[i].value);
    }
    h.headers_len = (uint32_t)(out->len - start - sizeof(h));
    memcpy(out->data + start, &h, sizeof(h));
    br_buf_addb(out, key);
    br_buf_addb(out, value);
}

/* Takes len bytes from *rest. false: it has fewer. */
static bool take(br_bytes *rest, uint32_t len, br_bytes *out)
{
    *out = BR_NO_BYTES;
    if (len == null_len) return true;
    if (len > rest->len) return false;
    *out = br_bytes_of(rest->data, len);
    *rest = br_bytes_of(rest->data + len, rest->len - len);
    return true;
}

static bool next_header(br_bytes *rest, br_header *out)
{
    header_head hh;
    br_bytes bytes;
    if (!take(rest, sizeof(hh), &bytes)) return false;
    memcpy(&hh, bytes.data, sizeof(hh));
    return hh.name_len != null_len && take(rest, hh.name_len, &out->name) &&
           take(rest, hh.value_len, &out->value);
}

bool br_local_record_decode(br_bytes bytes, br_local_record *out)
{
    head h;
    br_bytes rest = bytes, fixed;
    if (!take(&rest, sizeof(h), &fixed)) return false;
    memcpy(&h, fixed.data, sizeof(h));
    *out = (br_local_record){.timestamp_ms = h.timestamp_ms, .header_count = h.header_count};
    if (h.headers_len == null_len || !take(&rest, h.headers_len, &out->headers)) return false;
    if (!take(&rest, h.key_len, &out->key) || !take(&rest, h.value_len, &out->value)) return false;
    br_bytes headers = out->headers;
    br_header header;
    for (size_t i = 0; i < out->header_count; i++)
        if (!next_header(&headers, &header)) return false;
    return rest.len == 0 && headers.len == 0;
}

void br_local_record_headers(const br_local_record *record, br_header *out)
{
    br_bytes rest = record->headers;
    for (size_t i = 0; i < record->header_count; i++) {
        bool whole = next_header(&rest, &out[i]);
        BR_ASSERT(whole); /* decode has looked at them */
    }
}
