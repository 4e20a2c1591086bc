// SPDX-License-Identifier: Apache-2.0
// The drive's commands over a unix socket (docs/interfaces/command-socket.md): what NBD cannot say.
//
// One thread serves all clients; it hands commands to the engine in the order of a client's frames and writes answers
// as they come. A client has up to 32 commands under way; while it has, and while it does not take its answers, no more
// of it is read, and the others go on. A frame that cannot be understood ends its client with one line of words. When a
// client has gone and its commands have ended, the transactions that it opened are aborted, unless it said KEEP or they
// are prepared.
#ifndef OTX_COMMAND_SOCKET_H
#define OTX_COMMAND_SOCKET_H

#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "drive_engine.h"

namespace otx {

class CommandSocket {
  public:
    // Calls `start`, which hands the command over, with whatever lock makes the order of commands certain; or does not
    // and returns false: the txid belongs to somebody else.
    using Enter = std::function<bool(const otx_cmd &, const std::function<void()> &start)>;

    // Serves on `path`, which must be free. Throws std::runtime_error with one line of words.
    CommandSocket(DriveEngine &engine, const std::string &path, Enter enter);

    // Closes all clients when their commands have ended; their transactions stay as they are.
    ~CommandSocket();

  private:
    struct Client {
        int fd = -1;  // -1: it has gone
        bool greeted = false, keep = false, leaving = false;
        std::vector<uint8_t> in, out;
        size_t taken = 0;   // of `out`
        int under_way = 0;  // commands that have not ended
        int unsent = 0;     // answers in `out`, as far as is known
    };
    struct Command {
        Client *client;  // nullptr: an ABORT for one that has gone
        uint64_t id;
        otx_cmd cmd;
        std::vector<uint8_t> data;
        otx_cpl cpl;
        uint64_t begun;
    };

    void run();
    bool stopping();
    void accept_one();
    void read_from(Client &client);
    void write_to(Client &client);
    void take_frames(Client &client);
    bool take_frame(Client &client, size_t &at);
    bool greet(Client &client, const uint8_t *frame);
    void begin(Client *client, uint64_t id, const otx_cmd &cmd, std::vector<uint8_t> data);
    void finish();
    void note_owner(const Command &command);
    void answer(Client &client, const Command &command);
    void last_words(Client &client, const char *words);
    void hang_up(Client &client);
    void bury();

    DriveEngine &engine_;
    const std::string path_;
    const Enter enter_;
    int listener_ = -1, wake_ = -1;
    std::list<Client> clients_;
    const Client *owner_[OTX_TXIDS] = {};  // who opened it and did not end it
    std::mutex mutex_;                     // of the next two
    std::vector<Command *> ended_;
    bool stopping_ = false;
    int aborts_ = 0;  // under way for clients that have gone
    std::thread thread_;
};

}  // namespace otx
#endif
