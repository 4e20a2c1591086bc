// SPDX-License-Identifier: Apache-2.0
#include "drive_engine.h"

namespace otx {

void DriveEngine::start(const otx_cmd &cmd, void *data, Batch &batch) {
    const std::lock_guard lock(mutex_);
    batch.open++;
    queue_.push_back({cmd, data, &batch});
    work_.notify_one();
}

uint8_t DriveEngine::wait(Batch &batch) {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return batch.open == 0; });
    return batch.status;
}

void DriveEngine::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        work_.notify_one();
    }
    thread_.join();
}

void DriveEngine::hand_over() {
    for (uint8_t tag = 0; tag < OTX_TAGS && !queue_.empty(); tag++) {
        if (under_way_[tag].batch) continue;
        Command command = queue_.front();
        queue_.pop_front();
        command.cmd.tag = tag;
        under_way_[tag] = command;
        count_++;
        if (command.cmd.opcode == OTX_OP_COMMIT && commits_++ == 0 && trace_commits_) otx_trace_pause(0);
        otx_submit(&command.cmd, command.data);
    }
}

void DriveEngine::collect() {
    otx_cpl cpl;
    while (otx_poll(&cpl)) {
        Command &command = under_way_[cpl.tag];
        if (cpl.status && !command.batch->status) command.batch->status = cpl.status;
        if (command.cmd.opcode == OTX_OP_COMMIT && --commits_ == 0 && trace_commits_) otx_trace_pause(1);
        command.batch->open--;
        command = {};
        count_--;
        last_ = cpl.clock;
        done_.notify_all();
    }
}

bool DriveEngine::quiet() const {
    if (count_ || !queue_.empty()) return false;
    if (stopping_) return true;
    const uint64_t since = otx_clock() - last_;
    return since > most_idle || (since > linger && !otx_busy());
}

void DriveEngine::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        hand_over();
        if (quiet()) {
            if (stopping_) return;
            work_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
            continue;
        }
        lock.unlock();
        otx_step(slice);
        lock.lock();
        collect();
    }
}

}  // namespace otx
