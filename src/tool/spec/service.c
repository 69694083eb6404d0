/* SPDX-License-Identifier: Apache-2.0 */
/* The section of `anemone spec` about the service and the broker: messages, ring, methods, tiers, limits. */
#include "protocol/broker.h"
#include "protocol/entitlement.h"
#include "protocol/qos.h"
#include "protocol/service_ring.h"
#include "tool/spec/spec.h"

static const struct spec_column message_columns[] = {SPEC_NUMBER("number"),
                                                     SPEC_TEXT("message"),
                                                     SPEC_NUMBER("request_bytes"),
                                                     SPEC_NUMBER("reply_bytes"),
                                                     SPEC_NUMBER("descriptors_in"),
                                                     SPEC_NUMBER("descriptors_out"),
                                                     SPEC_TEXT("what"),
                                                     SPEC_END};
static const struct spec_column method_columns[] = {SPEC_NUMBER("number"),
                                                    SPEC_TEXT("method"),
                                                    SPEC_NUMBER("request_bytes"),
                                                    SPEC_NUMBER("reply_bytes"),
                                                    SPEC_NUMBER("descriptors_in"),
                                                    SPEC_NUMBER("descriptors_out"),
                                                    SPEC_TEXT("key"),
                                                    SPEC_TEXT("what"),
                                                    SPEC_END};
static const struct spec_column notice_columns[] = {SPEC_NUMBER("number"),
                                                    SPEC_TEXT("notice"),
                                                    SPEC_NUMBER("bytes"),
                                                    SPEC_NUMBER("descriptors"),
                                                    SPEC_TEXT("way"),
                                                    SPEC_TEXT("what"),
                                                    SPEC_END};
static const struct spec_column tier_columns[] = {SPEC_TEXT("tier"), SPEC_TEXT("who"), SPEC_END};
static const struct spec_column qos_columns[] = {
    SPEC_TEXT("class"), SPEC_HEX("value"), SPEC_NUMBER("queue_index"), SPEC_NUMBER("priority"), SPEC_END};
static const struct spec_column limit_columns[] = {SPEC_TEXT("service"), SPEC_NUMBER("processor_seconds"),
                                                   SPEC_NUMBER("wall_seconds"), SPEC_NUMBER("bytes"),
                                                   SPEC_END};

static const struct spec_column share_columns[] = {SPEC_TEXT("what"), SPEC_NUMBER("of_a_user"),
                                                   SPEC_NUMBER("of_all"), SPEC_END};

/* A method that needs admission alone has no key. */
#define PR_ENTITLEMENT_NONE PR_ENTITLEMENT_COUNT
static const char *key_of(unsigned id)
{
    return id == PR_ENTITLEMENT_NONE ? "" : pr_entitlement_key(id);
}

static void write_messages(struct spec *spec)
{
#define X(id, number, request, reply, in, out, what)                                                 \
    SPEC_N(number), SPEC_T(#id), SPEC_N(PR_SERVICE_BYTES(request)), SPEC_N(PR_SERVICE_BYTES(reply)), \
        SPEC_N(in), SPEC_N(out), SPEC_T(what),
    SPEC_TABLE(spec, "messages", message_columns, PR_SERVICE_MESSAGES(X));
#undef X
#define X(id, number, request, reply, in, out, key, what)                                          \
    SPEC_N(number), SPEC_T(#id), SPEC_N(PR_BROKER_BYTES(request)), SPEC_N(PR_BROKER_BYTES(reply)), \
        SPEC_N(in), SPEC_N(out), SPEC_T(key_of(PR_ENTITLEMENT_##key)), SPEC_T(what),
    SPEC_TABLE(spec, "methods", method_columns, PR_BROKER_METHODS(X));
#undef X
#define X(id, number, body, descriptors, way, what)                                                \
    SPEC_N(number), SPEC_T(#id), SPEC_N(PR_BROKER_BYTES(body)), SPEC_N(descriptors), SPEC_T(#way), \
        SPEC_T(what),
    SPEC_TABLE(spec, "notices", notice_columns, PR_BROKER_NOTICES(X));
#undef X
#define X(id, number, request, reply, in, out, what)                                               \
    SPEC_N(number), SPEC_T(#id), SPEC_N(PR_BROKER_BYTES(request)), SPEC_N(PR_BROKER_BYTES(reply)), \
        SPEC_N(in), SPEC_N(out), SPEC_T(what),
    SPEC_TABLE(spec, "orders", message_columns, PR_COMPILE_MESSAGES(X));
#undef X
}

static void write_limits(struct spec *spec)
{
    spec_object(spec, "limits");
    spec_number(spec, "version", PR_SERVICE_VERSION);
    spec_number(spec, "body_bytes", PR_SERVICE_BODY);
    spec_number(spec, "sessions", PR_SERVICE_SESSIONS);
    spec_number(spec, "sessions_of_a_user", PR_SERVICE_USER);
    spec_number(spec, "connections_of_a_session", PR_SERVICE_CONNECTS);
    spec_number(spec, "surfaces_of_a_session", PR_SERVICE_SURFACES);
    spec_number(spec, "surface_bytes_of_a_session", PR_SERVICE_BYTES_MAX);
    spec_number(spec, "broker_connections_of_a_session", PR_SERVICE_BROKERS);
    spec_number(spec, "observers", PR_SERVICE_OBSERVERS);
    spec_number(spec, "hello_seconds", PR_SERVICE_HELLO_S);
    spec_number(spec, "blessed_slots", PR_BLESSED_SLOTS);
    spec_number(spec, "ring_slots", PR_RING_SLOTS);
    spec_number(spec, "ring_completions", PR_RING_COMPLETIONS);
    spec_number(spec, "ring_bytes", PR_RING_BYTES);
    spec_number(spec, "spin_ns", PR_RING_SPIN_NS);
    spec_number(spec, "spin_blessed_ns", PR_RING_SPIN_BLESSED_NS);
    spec_number(spec, "weight_files", PR_BROKER_FILES);
    spec_number(spec, "back_off_ms", PR_COMPILE_BACKOFF_MS);
    spec_number(spec, "back_off_max_ms", PR_COMPILE_BACKOFF_MAX_MS);
    spec_object_end(spec);
}

void spec_service(struct spec *spec)
{
    write_messages(spec);
#define X(id, name, who) SPEC_T(name), SPEC_T(who),
    SPEC_TABLE(spec, "tiers", tier_columns, PR_BROKER_TIER_LIST(X));
#undef X
#define X(id, class, index, priority) SPEC_T(#id), SPEC_N(class), SPEC_N(index), SPEC_N(priority),
    SPEC_TABLE(spec, "quality", qos_columns, PR_QOS_CLASSES(X));
#undef X
#define X(id, number, processor, wall, bytes) SPEC_T(#id), SPEC_N(processor), SPEC_N(wall), SPEC_N(bytes),
    SPEC_TABLE(spec, "compile_limits", limit_columns, PR_COMPILE_LIMITS(X));
#undef X
#define X(id, user, all, what) SPEC_T(what), SPEC_N(user), SPEC_N(all),
    SPEC_TABLE(spec, "shares", share_columns, PR_SERVICE_SHARES(X));
#undef X
    write_limits(spec);
}
