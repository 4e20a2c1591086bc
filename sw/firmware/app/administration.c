/* SPDX-License-Identifier: Apache-2.0 */
#include "administration.h"

#include "hal.h"
#include "otx_geometry.h"

#if OTX_FRONT_END_NVME

#include "nvme_control.h"

static struct nvme nvme;
static struct nvme_drive drive;
static uint32_t clocks, parts; /* as they were seen last, and those that make no second yet */

void administration_begin(const struct ftl *f, bool read_only) {
    const struct ftl_report *r = &f->report;
    clocks = hal_clocks();
    drive = (struct nvme_drive){
        .model = "OpenTxSSD " OTX_PRESET,
        .id = f->old_root.drive_id,
        .blocks = OTX_LBAS,
        .tx_entries = OTX_TX_ENTRIES,
        .clock_ps = OTX_CLOCK_PS,
        .read_only = read_only,
        .orderly = r->orderly,
        .starts = r->generation,
        .power_cuts = f->health.cuts,
        .start_clocks = r->clocks,
        .dropped = r->lost.dropped,
        .lost_log_pages = r->lost.log_pages,
        .foreign = r->lost.foreign,
        .doubtful = r->lost.doubtful,
        .doubtful_lpn = r->lost.lpn,
    };
    nvme_begin(&nvme, &drive);
}

void administration_step(const struct ftl *f) {
    const struct ftl_health *h = &f->health;
    drive.spare = h->spare, drive.bad = h->bad;
    drive.mean_erases = f->wear.mean;
    drive.corrected_reads = hal_corrected_reads(), drive.weak_reads = hal_weak_reads();
    drive.host_pages = h->host, drive.nand_pages = h->nand, drive.moved_pages = h->moved;
    drive.failed = hal_fault();
    uint32_t now = hal_clocks();
    parts += now - clocks, clocks = now;
    for (; parts >= OTX_CLOCK_MHZ * 1000000u; parts -= OTX_CLOCK_MHZ * 1000000u) drive.seconds++;
    nvme_step(&nvme);
}

void administration_fail(void) { nvme_hal_csts(NVME_CSTS_CFS); }

#else

void administration_begin(const struct ftl *f, bool read_only) { (void)f, (void)read_only; }
void administration_step(const struct ftl *f) { (void)f; }
void administration_fail(void) {}

#endif
