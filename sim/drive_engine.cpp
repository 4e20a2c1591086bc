// SPDX-License-Identifier: Apache-2.0
#include "drive_engine.h"

namespace otx {

void DriveEngine::start(const otx_cmd &cmd, void *data, Batch &batch) {
    {
        const std::lock_guard lock(mutex_);
        batch.open++;
    }
    start(cmd, data, [this, &batch](const otx_cpl &cpl, uint64_t) {
        if (cpl.status && !batch.status) batch.status = cpl.status;
        batch.result = cpl.result;
        batch.open--;
        done_.notify_all();
    });
}

void DriveEngine::start(const otx_cmd &cmd, void *data, Done done) {
    const std::lock_guard lock(mutex_);
    queue_.push_back({cmd, data, std::move(done)});
    work_.notify_one();
}

uint64_t DriveEngine::clock() {
    const std::lock_guard lock(mutex_);
    return clock_;
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
    for (unsigned tag = 0; tag < OTX_COMMANDS && !queue_.empty(); tag++) {
        if (under_way_[tag].done) continue;
        Command &command = under_way_[tag] = std::move(queue_.front());
        queue_.pop_front();
        command.cmd.tag = uint8_t(tag);
        command.begun = otx_clock();
        count_++;
        if (command.cmd.opcode == OTX_OP_COMMIT && commits_++ == 0 && trace_commits_) otx_trace_pause(0);
        otx_submit(&command.cmd, command.data);
    }
}

void DriveEngine::collect() {
    otx_cpl cpl;
    while (otx_poll(&cpl)) {
        Command &command = under_way_[cpl.tag];
        if (command.cmd.opcode == OTX_OP_COMMIT && --commits_ == 0 && trace_commits_) otx_trace_pause(1);
        command.done(cpl, command.begun);
        command = {};
        count_--;
        last_ = cpl.clock;
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
    clock_ = otx_clock();
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
        clock_ = otx_clock();
        collect();
    }
}

}  // namespace otx
