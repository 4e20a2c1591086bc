/* SPDX-License-Identifier: Apache-2.0 */
/* hal.h on the drive: the CSRs of the core (LiteX module `otx`, docs/interfaces.md "Firmware port"), its two memories and the UART. */
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

uint32_t *hal_frame(uint32_t frame) { return (uint32_t *)(OTX_FRAME_BASE + frame * 4096u); }

uint32_t *hal_map(void) { return (uint32_t *)OTX_TABLE_BASE; }

uint32_t *hal_tx_area(uint32_t txid) { return (uint32_t *)(OTX_TX_BASE + txid * (65536u * 16u)); }

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

void hal_enable(void) { otx_enable_write(1); }

void hal_read_only(void) { otx_read_only_write(1); }

void hal_full(bool full) { otx_full_write(full); }

void hal_log_full(uint32_t lanes) { otx_log_full_write(lanes); }

bool hal_bad_block(uint32_t *block_id) {
    if (!otx_bad_block_valid_read()) return false;
    *block_id = otx_bad_block_read();
    return true;
}

void hal_bad_block_taken(void) { otx_bad_block_pop_write(1); }

uint32_t hal_log_head(void) { return otx_log_head_read(); }

uint32_t hal_log_mark(void) { return otx_log_mark_read(); }

bool hal_relocate_room(void) { return otx_move_ready_read(); }

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

bool hal_busy(void) { return otx_busy_read() != 0; }

/* There is no source of chance here: drives of one geometry get one number. The log of another drive is kept apart by generation and PPN too. */
uint32_t hal_new_drive_id(void) { return (OTX_RAW_PAGES * 2654435761u ^ OTX_LBAS << 8 ^ OTX_DIES) | 1u; }

void hal_putc(char c) {
#ifdef CSR_UART_XOVER_RXTX_ADDR
    if (uart_txfull_read()) return; /* a board's report waits in the queue until a PC reads it; what does not fit is dropped, so that nothing waits for a PC */
#endif
    while (uart_txfull_read()) {
    }
    uart_rxtx_write((uint8_t)c);
}
