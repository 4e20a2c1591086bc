/* SPDX-License-Identifier: Apache-2.0 */
#include "nvme_power.h"

enum step { ABORT_ALL, FLUSH, CHECKPOINT, ASK, DONE };

static const struct nvme_own commands[] = {
    [ABORT_ALL] = {.opcode = OTX_OP_RECOVER},
    [FLUSH] = {.opcode = OTX_OP_FLUSH},
    [CHECKPOINT] = {.opcode = OTX_OP_CHECKPOINT, .arg = 1},
    [ASK] = {.opcode = OTX_OP_QUERY, .arg = OTX_QUERY_HEALTH + FTL_HEALTH_ASKED_CHECKPOINT},
};

bool nvme_power_down(struct nvme *n) {
    if (n->drive->read_only) n->shutdown = DONE;
    if (n->shutdown == DONE) return true;
    if (!n->own) {
        n->own = nvme_hal_own_start(&commands[n->shutdown]);
        return false;
    }
    uint32_t status, result;
    if (!nvme_hal_own_done(&status, &result)) return false;
    n->own = false;
    if (n->shutdown == CHECKPOINT) n->asked = result & 0xff;
    if (n->shutdown != ASK)
        n->shutdown = status ? DONE : n->shutdown + 1; /* a drive that has failed goes off as it is */
    else if ((result & 0xff) == n->asked) n->shutdown = DONE;
    return n->shutdown == DONE;
}
