/* SPDX-License-Identifier: Apache-2.0 */
/* hal.h on the drive: the CSRs of the core (LiteX module `otx`, docs/interfaces.md "Firmware port"), its two memories
 * and the UART. */
#include "hal.h"

#include "ftl.h"
#include "mmio.h"

#include <generated/csr.h>

#include "otx_geometry.h"

bool hal_nand_start(const struct hal_nand_op *op) {
    if (!otx_firmware_ready_read()) return false;
    otx_firmware_op_write(op->op);
    otx_firmware_ppn_write(op->ppn);
    otx_firmware_frame_write(op->frame);
    otx_firmware_cookie_write(op->cookie);
    otx_firmware_kind_write(op->kind);
    otx_firmware_lpn_write(op->lpn);
    if (op->op == HAL_PROGRAM) {
        otx_firmware_seq_lo_write((uint32_t)op->sequence);
        otx_firmware_seq_hi_write((uint32_t)(op->sequence >> 32));
    }
    otx_firmware_go_write(1);
    return true;
}

bool hal_nand_done(struct hal_nand_done *done) {
    if (!otx_firmware_done_valid_read()) return false;
    done->cookie = otx_firmware_done_cookie_read();
    done->status = otx_firmware_done_status_read();
    done->kind = otx_firmware_done_kind_read();
    done->generation = otx_firmware_done_generation_read();
    done->lpn = otx_firmware_done_lpn_read();
    done->sequence = (uint64_t)otx_firmware_done_seq_hi_read() << 32 | otx_firmware_done_seq_lo_read();
    otx_firmware_done_pop_write(1);
    return true;
}

uint64_t hal_data_room(void) {
#if OTX_DIES > 32
    return (uint64_t)otx_free_block_room_hi_read() << 32 | otx_free_block_room_lo_read();
#else
    return otx_free_block_room_lo_read();
#endif
}

void hal_data_block(uint32_t block_id) { otx_free_block_write(block_id); }

uint32_t hal_log_room(void) { return otx_log_block_room_read(); }

void hal_log_block(uint32_t lane, uint32_t block_id) {
    otx_log_block_lane_write(lane);
    otx_log_block_write(block_id);
}

void hal_nand_mode(uint32_t mode) { otx_nand_mode_write(mode); }

void hal_nand_capabilities(uint32_t capabilities) { otx_nand_capabilities_write(capabilities); }

void hal_generation(uint32_t generation) { otx_generation_write(generation); }

void hal_identity(uint32_t drive_id, const struct ftl_lost *lost) {
    otx_drive_id_write(drive_id);
    otx_dropped_write(lost->dropped);
    otx_lost_log_pages_write(lost->log_pages);
    otx_doubtful_write(lost->doubtful);
}

void hal_enable(void) {
    otx_idle_dies_write(OTX_IDLE_DIES);
    otx_cost_benefit_write(OTX_COST_BENEFIT);
    otx_class_turns_write((OTX_LOW_WEIGHT - 1) | (OTX_MEDIUM_WEIGHT - 1) << 4 | (OTX_HIGH_WEIGHT - 1) << 8 |
                          (OTX_CLASS_PATIENCE - 3) << 12);
    otx_buffer_limit_write(OTX_WRITE_FRAMES * OTX_BUFFER_PERCENT / 100);
    otx_host_timeout_write(OTX_HOST_TIMEOUT);
    otx_persist_order_write(OTX_PERSIST_ORDER);
    otx_plp_rounds_write(OTX_PLP_ROUNDS);
    otx_enable_write(1);
}

void hal_read_only(void) { otx_read_only_write(1); }

void hal_full(bool full) { otx_full_write(full); }

void hal_log_full(uint32_t lanes) { otx_log_full_write(lanes); }

bool hal_bad_block(uint32_t *block_id) {
    if (!otx_bad_block_valid_read()) return false;
    *block_id = otx_bad_block_read();
    return true;
}

void hal_bad_block_taken(void) { otx_bad_block_pop_write(1); }

/* A 48-bit counter that only rises: its high half as it was when the low half was read. */
#define COUNTER(name)                           \
    do {                                        \
        uint32_t hi, lo;                        \
        do {                                    \
            hi = otx_##name##_hi_read();        \
            lo = otx_##name##_lo_read();        \
        } while (hi != otx_##name##_hi_read()); \
        return (uint64_t)hi << 32 | lo;         \
    } while (0)

uint64_t hal_log_head(void) { COUNTER(log_head); }

uint64_t hal_log_mark(void) { COUNTER(log_mark); }

uint64_t hal_log_durable_mark(void) { COUNTER(log_durable_mark); }

uint64_t hal_log_fence(uint32_t *beyond) {
    *beyond = otx_buffered_read(); /* first: what it does not name is in the log before its head */
    return hal_log_head() + *beyond;
}

bool hal_log_dirty(void) { return otx_log_dirty_read() != 0; }

bool hal_log_note(bool urgent) {
    if (!urgent && otx_log_noting_read()) return false; /* one that waits becomes urgent */
    otx_log_note_write(urgent);
    return true;
}

void hal_log_place(struct hal_log_place *place) {
    otx_log_place_take_write(1);
    place->page = otx_log_place_page_read();
    place->first = (uint64_t)otx_log_place_first_hi_read() << 32 | otx_log_place_first_lo_read();
    for (uint32_t l = 0; l < OTX_LANES; l++) {
        otx_log_place_lane_write(l);
        place->lane[l].block = otx_log_place_block_read();
        place->lane[l].page = otx_log_place_row_read();
    }
}

bool hal_tx_first(uint32_t txid, uint64_t *index) {
    otx_tx_ask_write(txid);
    (void)otx_tx_open_read(); /* the answer comes some clocks after the question */
    *index = (uint64_t)otx_tx_first_hi_read() << 32 | otx_tx_first_lo_read();
    return otx_tx_open_read();
}

void hal_tx_prepared(uint32_t txid, uint32_t entries) {
    otx_tx_prepared_entries_write(entries);
    otx_tx_prepared_write(txid);
}

uint32_t hal_lookup(uint32_t lpn) {
    otx_lookup_write(lpn);
    while (!otx_lookup_valid_read()) {}
    return otx_lookup_word_read();
}

uint32_t hal_memory_errors(void) { return otx_memory_errors_read(); }

uint32_t hal_live(uint32_t block_id) {
    otx_live_block_write(block_id);
    while (!otx_live_valid_read()) {}
    return otx_live_answer_read();
}

uint32_t hal_live_pages(uint32_t block_id, uint32_t word) {
    otx_live_word_write(word);
    otx_live_block_write(block_id);
    while (!otx_live_valid_read()) {}
    return otx_live_pages_read();
}

void hal_page_clocks(uint32_t clocks) { otx_page_clocks_write(clocks); }

bool hal_cost_benefit(void) { return otx_cost_benefit_read(); }

uint32_t hal_alloc_left(void) { return otx_alloc_left_read(); }

void hal_live_set(uint32_t block_id, uint32_t pages) {
    otx_live_block_write(block_id);
    otx_live_count_write(pages);
}

void hal_live_scan(uint32_t block_id) { otx_live_scan_write(block_id); }

uint32_t hal_live_mask(void) {
    while (!otx_live_mask_valid_read()) {}
    return otx_live_mask_read();
}

struct hal_map_state hal_map_wait(void) {
    uint32_t state;
    do state = otx_map_state_read();
    while (state & 1u);
    return (struct hal_map_state){.bad = (state & 2u) != 0, .any = (state & 4u) != 0, .stop = state >> 8};
}

void hal_map_start(const struct hal_map_task *task) {
    (void)hal_map_wait();
    otx_map_frame_write(task->frame);
    otx_map_page_write(task->page);
    otx_map_entries_write(task->first | task->end << 7);
    otx_map_op_write(task->op);
}

uint32_t hal_map_changed(uint32_t group, bool take) {
    otx_map_changed_ask_write(group | (take ? 1u << 13 : 0));
    while (!otx_map_changed_valid_read()) {}
    return otx_map_changed_read();
}

void hal_map_touch(uint32_t page) { otx_map_changed_set_write(page); }

void hal_reads_turn(void) { otx_reads_turn_write(1); }

bool hal_reads_old(void) { return otx_reads_old_read(); }

bool hal_relocate_room(void) { return otx_move_ready_read(); }

bool hal_moving(void) { return otx_moving_read() != 0; }

bool hal_move_logged(void) { return (otx_moving_read() & 2u) != 0; }

bool hal_page_wanted(void) { return otx_page_wanted_read() != 0; }

void hal_relocate(uint32_t lpn, uint32_t old_ppn, uint32_t new_ppn, uint64_t sequence) {
    otx_move_lpn_write(lpn);
    otx_move_old_write(old_ppn);
    otx_move_new_write(new_ppn);
    otx_move_seq_lo_write((uint32_t)sequence);
    otx_move_seq_hi_write((uint32_t)(sequence >> 32));
    otx_move_go_write(1);
}

bool hal_weak_page(uint32_t *ppn) {
    if (!otx_weak_page_valid_read()) return false;
    *ppn = otx_weak_page_read();
    otx_weak_page_pop_write(1);
    return true;
}

/* The SoC's timer counts down, round and round. */
uint32_t hal_clocks(void) {
    if (!timer0_en_read()) {
        timer0_load_write(0xffffffffu);
        timer0_reload_write(0xffffffffu);
        timer0_en_write(1);
    }
    timer0_update_value_write(1);
    return ~timer0_value_read();
}

void hal_health(enum ftl_health_word index, uint32_t word) {
    otx_health_index_write(index);
    otx_health_word_write(word);
}

uint32_t hal_asked(void) { return otx_asked_read(); }

uint32_t hal_data_pages(void) { return otx_data_pages_read(); }

uint32_t hal_log_pages(void) { return FTL_LOG_COPIES * otx_log_pages_read(); }

uint32_t hal_corrected_reads(void) { return otx_corrected_reads_read(); }

uint32_t hal_weak_reads(void) { return otx_weak_reads_read(); }

bool hal_fault(void) { return otx_fault_read() != 0; }

bool hal_busy(void) { return otx_busy_read() != 0; }

/* There is no source of chance here: drives of one geometry get one number. The log of another drive is kept apart by
 * generation and PPN too. */
uint32_t hal_new_drive_id(void) { return (OTX_RAW_PAGES * 2654435761u ^ OTX_LBAS << 8 ^ OTX_DIES) | 1u; }

void hal_putc(char c) {
#ifdef CSR_UART_XOVER_RXTX_ADDR
    /* a board's report waits in the queue until a PC reads it; what does not fit is dropped, so that nothing waits for
     * a PC */
    if (uart_txfull_read()) return;
#endif
    while (uart_txfull_read()) {}
    uart_rxtx_write((uint8_t)c);
}
