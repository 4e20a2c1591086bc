/* SPDX-License-Identifier: Apache-2.0 */
#include "nvme_features.h"

#define QUEUES ((NVME_QUEUES - 1) << 16 | (NVME_QUEUES - 1))
#define ARBITRATION 0x0f070303u /* burst 8; weights 16, 8, 4 of high, medium, low; 0's based */
#define TEMPERATURE 0xffffu     /* there is no sensor: it is never reached */
#define CHANGEABLE 4u

static void apply(const struct nvme *n) {
    nvme_hal_arbitration(n->arbitration);
    nvme_hal_modes(n->write_through, n->streams);
    nvme_hal_coalesce(n->coalescing & 0xff, n->coalescing >> 8 & 0xff, n->vectors_without);
}

void nvme_features_reset(struct nvme *n) {
    n->arbitration = ARBITRATION;
    n->temperature = TEMPERATURE;
    n->error_recovery = n->coalescing = n->vectors_without = n->atomicity = n->events = 0;
    n->write_through = n->streams = false;
    apply(n);
}

/* The word of a feature that a host may set as it likes; NULL: it is another one. */
static uint32_t *stored(struct nvme *n, uint32_t feature) {
    switch (feature) {
        case NVME_FEATURE_ARBITRATION: return &n->arbitration;
        case NVME_FEATURE_ERROR_RECOVERY: return &n->error_recovery;
        case NVME_FEATURE_COALESCING: return &n->coalescing;
        case NVME_FEATURE_ATOMICITY: return &n->atomicity;
        case NVME_FEATURE_EVENTS: return &n->events;
        default: return 0;
    }
}

static uint32_t default_of(uint32_t feature, uint32_t vector) {
    switch (feature) {
        case NVME_FEATURE_ARBITRATION: return ARBITRATION;
        case NVME_FEATURE_TEMPERATURE: return TEMPERATURE;
        case NVME_FEATURE_WRITE_CACHE: return 1;
        case NVME_FEATURE_QUEUES: return QUEUES;
        case NVME_FEATURE_VECTOR: return vector;
        default: return 0;
    }
}

static uint32_t current(struct nvme *n, uint32_t feature, uint32_t vector) {
    const uint32_t *word = stored(n, feature);
    if (word) return *word;
    if (feature == NVME_FEATURE_TEMPERATURE) return n->temperature;
    if (feature == NVME_FEATURE_WRITE_CACHE) return !n->write_through;
    if (feature == NVME_FEATURE_QUEUES) return QUEUES;
    if (feature == NVME_FEATURE_VECTOR) return vector | (n->vectors_without >> vector & 1) << 16;
    return default_of(feature, vector);
}

static bool known(uint32_t feature) {
    return (feature >= NVME_FEATURE_ARBITRATION && feature <= NVME_FEATURE_EVENTS && feature != 3);
}

/* What is common: a feature that there is, a vector that there is, a temperature that there is: one, or `all`. */
static uint32_t check(uint32_t feature, uint32_t dw11, uint32_t all) {
    uint32_t sensor = dw11 >> 16 & 15;
    if (!known(feature)) return NVME_STATUS_INVALID_FIELD;
    if (feature == NVME_FEATURE_VECTOR && (dw11 & 0xffff) >= NVME_VECTORS) return NVME_STATUS_INVALID_FIELD;
    if (feature == NVME_FEATURE_TEMPERATURE && ((sensor != 0 && sensor != all) || dw11 >> 20 & 3))
        return NVME_STATUS_INVALID_FIELD;
    return NVME_STATUS_SUCCESS;
}

struct nvme_answer nvme_get_features(struct nvme *n, const struct nvme_command *c) {
    uint32_t feature = c->dw10 & 0xff, select = c->dw10 >> 8 & 7, status = check(feature, c->dw11, 0);
    uint32_t vector = c->dw11 & 0xffff;
    if (!status && select > 3) status = NVME_STATUS_INVALID_FIELD;
    if (status) return (struct nvme_answer){.status = status};
    uint32_t word = select == 0   ? current(n, feature, vector)
                    : select == 3 ? CHANGEABLE
                                  : default_of(feature, vector); /* a default, or saved: which none is */
    return (struct nvme_answer){.dw0 = word};
}

/* Number of Queues: all that there are, once, before any is created. */
static struct nvme_answer set_queues(struct nvme *n, uint32_t wanted) {
    if ((wanted & 0xffff) == 0xffff || wanted >> 16 == 0xffff)
        return (struct nvme_answer){.status = NVME_STATUS_INVALID_FIELD};
    if (n->sqs | n->cqs) return (struct nvme_answer){.status = NVME_STATUS_SEQUENCE_ERROR};
    return (struct nvme_answer){.dw0 = QUEUES};
}

static uint32_t set(struct nvme *n, uint32_t feature, uint32_t word) {
    uint32_t *kept = stored(n, feature);
    switch (feature) {
        case NVME_FEATURE_POWER:
            return word & 0x1f ? NVME_STATUS_INVALID_FIELD : NVME_STATUS_SUCCESS; /* state 0 is the only one */
        case NVME_FEATURE_TEMPERATURE: n->temperature = word & 0xffff; return NVME_STATUS_SUCCESS;
        case NVME_FEATURE_WRITE_CACHE: n->write_through = !(word & 1); break;
        case NVME_FEATURE_ERROR_RECOVERY: *kept = word & 0xffff; return NVME_STATUS_SUCCESS;
        case NVME_FEATURE_COALESCING: *kept = word & 0xffff; break;
        case NVME_FEATURE_VECTOR:
            n->vectors_without &= ~(1u << (word & 0xffff));
            n->vectors_without |= (word >> 16 & 1) << (word & 0xffff);
            break;
        case NVME_FEATURE_ATOMICITY: *kept = word & 1; return NVME_STATUS_SUCCESS;
        case NVME_FEATURE_EVENTS: *kept = word & 0xff; return NVME_STATUS_SUCCESS;
        default: *kept = word; break;
    }
    apply(n);
    return NVME_STATUS_SUCCESS;
}

struct nvme_answer nvme_set_features(struct nvme *n, const struct nvme_command *c) {
    uint32_t feature = c->dw10 & 0xff, status = check(feature, c->dw11, 15);
    if (!status && c->dw10 >> 31) status = NVME_STATUS_NOT_SAVEABLE;
    if (status) return (struct nvme_answer){.status = status};
    if (feature == NVME_FEATURE_QUEUES) return set_queues(n, c->dw11);
    return (struct nvme_answer){.status = set(n, feature, c->dw11)};
}
