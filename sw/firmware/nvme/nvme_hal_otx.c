/* SPDX-License-Identifier: Apache-2.0 */
/* nvme_hal.h on the drive: the CSRs `nvme_*` of soc/otx_nvme.py. */
#include "nvme_hal.h"

#include "mmio.h"

#include <generated/csr.h>

static uint64_t wide(uint32_t low, uint32_t high) { return low | (uint64_t)high << 32; }

uint32_t nvme_hal_cc(void) { return nvme_cc_read(); }
uint32_t nvme_hal_aqa(void) { return nvme_aqa_read(); }
uint64_t nvme_hal_asq(void) { return wide(nvme_asq_lo_read(), nvme_asq_hi_read()); }
uint64_t nvme_hal_acq(void) { return wide(nvme_acq_lo_read(), nvme_acq_hi_read()); }
void nvme_hal_csts(uint32_t csts) { nvme_csts_write(csts); }
bool nvme_hal_quiet(void) { return nvme_quiet_read(); }

void nvme_hal_working(bool working) { nvme_working_write(working); }

uint32_t nvme_hal_events(void) {
    uint32_t events = nvme_events_read();
    if (events) nvme_events_clear_write(events);
    return events;
}

bool nvme_hal_command(uint32_t sqe[16]) {
    if (!nvme_admin_valid_read()) return false;
    for (uint32_t i = 0; i < 16; i++) {
        nvme_admin_index_write(i);
        sqe[i] = nvme_admin_word_read();
    }
    nvme_admin_pop_write(1);
    return true;
}

bool nvme_hal_room(void) { return nvme_admin_room_read(); }

void nvme_hal_complete(uint32_t cid, uint32_t status, uint32_t dw0) {
    nvme_admin_dw0_write(dw0);
    nvme_admin_dw1_write(0);
    nvme_admin_status_write(status);
    nvme_admin_cid_write(cid);
    nvme_admin_complete_write(1);
}

static uint32_t index; /* of the buffer */

static void seek(uint32_t word) {
    if (word != index) nvme_buffer_seek_write(word);
    index = word;
}

void nvme_hal_put(uint32_t word, uint32_t value) {
    seek(word);
    nvme_buffer_write_write(value);
    index = (word + 1) % NVME_BUFFER_WORDS;
}

uint32_t nvme_hal_get(uint32_t word) {
    seek(word);
    return nvme_buffer_word_read();
}

static void transfer(uint64_t address, uint32_t at, uint32_t bytes, bool to_host) {
    nvme_transfer_address_lo_write((uint32_t)address);
    nvme_transfer_address_hi_write((uint32_t)(address >> 32));
    nvme_transfer_first_write(at / 4);
    nvme_transfer_length_write(bytes);
    nvme_transfer_tohost_write(to_host);
    nvme_transfer_go_write(1);
    while (nvme_transferring_read()) {}
}

void nvme_hal_to_host(uint64_t address, uint32_t at, uint32_t bytes) { transfer(address, at, bytes, true); }
bool nvme_hal_from_host(uint64_t address, uint32_t at, uint32_t bytes) {
    transfer(address, at, bytes, false);
    return !nvme_transfer_failed_read();
}

void nvme_hal_queue(const struct nvme_queue *q) {
    while (nvme_context_busy_read()) {} /* of a queue that is set: some clocks */
    nvme_context_queue_write(q->number);
    nvme_context_completes_write(q->completion);
    nvme_context_valid_write(q->valid);
    nvme_context_base_lo_write((uint32_t)q->base);
    nvme_context_base_hi_write((uint32_t)(q->base >> 32));
    nvme_context_size_write(q->entries - 1);
    nvme_context_cq_write(q->cq);
    nvme_context_priority_write(q->priority);
    nvme_context_vector_write(q->vector);
    nvme_context_interrupts_write(q->interrupts);
    nvme_context_go_write(1);
}
bool nvme_hal_queue_busy(void) { return nvme_context_busy_read(); }

void nvme_hal_coalesce(uint32_t threshold, uint32_t time, uint32_t vectors_without) {
    nvme_coalesce_write(threshold | time << 8);
    nvme_at_once_write(vectors_without);
}
void nvme_hal_modes(bool write_through, bool streams) {
    nvme_modes_write((uint32_t)write_through | (uint32_t)streams << 1);
}
void nvme_hal_arbitration(uint32_t word) { nvme_arbitration_write(word); }

bool nvme_hal_failed(struct nvme_failed *failed) {
    if (!nvme_failed_valid_read()) return false;
    failed->queue = (uint16_t)nvme_failed_queue_read();
    failed->cid = (uint16_t)nvme_failed_cid_read();
    failed->status = (uint16_t)nvme_failed_status_read();
    nvme_failed_pop_write(1);
    return true;
}

struct nvme_traffic nvme_hal_traffic(void) {
    return (struct nvme_traffic){.blocks_read = nvme_blocks_read_read(),
                                 .blocks_written = nvme_blocks_written_read(),
                                 .reads = nvme_host_reads_read(),
                                 .writes = nvme_host_writes_read()};
}

uint32_t nvme_hal_latency(uint32_t bucket) {
    nvme_latency_index_write(bucket);
    return nvme_latency_count_read();
}

bool nvme_hal_own_start(const struct nvme_own *own) {
    if (nvme_own_busy_read()) return false;
    nvme_own_opcode_write(own->opcode);
    nvme_own_lba_write(own->lba);
    nvme_own_count_write(own->count);
    nvme_own_txid_write(own->txid);
    nvme_own_arg_write(own->arg);
    nvme_own_go_write(1);
    return true;
}

bool nvme_hal_own_done(uint32_t *status, uint32_t *result) {
    if (nvme_own_busy_read()) return false;
    *status = nvme_own_status_read();
    *result = nvme_own_result_read();
    return true;
}
