// SPDX-License-Identifier: Apache-2.0
// The simulated drive for many threads: one thread lets the clock run, the others hand over commands and wait for them.
//
// Commands enter the drive in the order of `start` calls, up to 32 at once. With nothing to do the clock runs on until
// the drive is idle (bounded in clocks), then stops until the next command; how many clocks that takes depends on the
// commands alone, never on wall time. `otx_*` calls are made by the engine's thread only, between start-up and stop.
#ifndef OTX_DRIVE_ENGINE_H
#define OTX_DRIVE_ENGINE_H

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "otx_geometry.h"
#include "otx_sim.h"

namespace otx {

// Some commands one waits for together. `status` is that of the first that failed, 0 if none has; `result` that of the
// last.
struct Batch {
    int open = 0;
    uint8_t status = 0;
    uint32_t result = 0;
};

class DriveEngine {
  public:
    // Drive is open and booted. `trace_commits`: record only while a COMMIT is under way.
    explicit DriveEngine(bool trace_commits) : trace_commits_(trace_commits), thread_([this] { run(); }) {}

    // The tag in `cmd` does not matter. `batch` must live until `wait`, data until then too.
    void start(const otx_cmd &cmd, void *data, Batch &batch);
    uint8_t wait(Batch &batch);

    // Called with the completion, and the clock when the command was handed to the drive, by the engine's thread, which
    // holds its lock: it must not call the engine.
    using Done = std::function<void(const otx_cpl &, uint64_t begun)>;
    void start(const otx_cmd &cmd, void *data, Done done);

    // As of the last look, which while commands are under way is at most 200 clocks ago.
    uint64_t clock();

    // After the last command: ends the thread. The caller flushes and closes.
    void stop();

  private:
    struct Command {
        otx_cmd cmd;
        void *data;
        Done done;
        uint64_t begun = 0;
    };

    void run();
    void hand_over();
    void collect();
    bool quiet() const;

    static constexpr uint64_t slice = 200;      // clocks between looks at the queue
    static constexpr uint64_t linger = 20'000;  // clocks after the last command in any case: firmware reacts
    // clocks after the last command at most: what is not flushed may stay under way for ever
    static constexpr uint64_t most_idle = 1'000'000;

    const bool trace_commits_;
    std::mutex mutex_;
    std::condition_variable work_, done_;
    std::deque<Command> queue_;
    Command under_way_[OTX_COMMANDS] = {};
    int count_ = 0, commits_ = 0;
    uint64_t last_ = 0, clock_ = 0;  // of the last completion, of the last look
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace otx
#endif
