// SPDX-License-Identifier: Apache-2.0
package opentxssd.log

import opentxssd._

/** How many log pages new writes leave alone, and why these are enough in every state.
  *
  * A page of the log is used when it closes: when it is full, when a group does not fit, or when somebody waits for an
  * entry in it (`LogAssembler`). So each needs a new entry, and a FLUSH with nothing new uses none. `logLeft`
  * (`LogLanes`) is the number of pages that can close and be placed from now on, in any lane.
  *
  * WRITE, TRIM, WRITE ZEROES, BEGIN and PREPARE, one at a time (`CommandExecutor`: Room), and the move of a page by
  * firmware (`DataPath`) begin only while `logLeft` is above `reserved`. Nobody else asks. Once the last of these has
  * begun, at most so many pages are still to close, whatever else the host does and in whatever order:
  *
  *   -  1: the one that is open then, if somebody waits for it or the command's entries do not fit
  *   -  1: the one with the command's entries (up to 32, and its COMMIT or PREPARE record)
  *   -  those with the entries of frames that wait in the write buffer, which may be all. When the log is about to be
  *      short (`spread`) they are all on their way, and who waits for one waits for all of them, so they share pages
  *   -  3: those with the entry of a move and of a note that began in the same clocks; a note waits until what stands
  *     before it is durable, so it may take two
  *   -  6: those with the three notes that firmware lets into the reserve, so that a checkpoint can free the log when
  *     it is full. It counts them (`ftl_supply.h`)
  *   -  1: one that closed in the clocks by which `logLeft` is late
  *   - 32: an end for each open or prepared transaction: COMMIT, also RELAXED with a FLUSH behind it, ABORT or
  *     RECOVER, whose entries share pages. No transaction opens without being one of these commands, but for those
  *     that a mount brings back
  *
  * And a block may fail just then. A copy of a log page that fails is placed again in its lane; one bad block takes
  * its pages from the lane at most, half of `pagesPerBlock` of `logLeft`, and one in each lane half of `lanes *
  * pagesPerBlock`. A page of data that fails costs a page of the log (its RELOCATE becomes durable alone), so a data
  * block costs `pagesPerBlock` at most. The lanes hold so many blocks that more than all this has a place
  * (`lane_blocks` of `soc/geometry.py`).
  *
  * If more than that fails at the very end, spare blocks have run out (guarantee 14): an entry or a page without a
  * place in a lane that gets no further block sets `fault` (`CommitLog`). Waits end with WRITE_FAULT, writes with
  * READ_ONLY, reads go on: nobody hangs. Above `reserved` nobody waits for ever either: firmware hands over blocks, or
  * says `logFull` and the answer is CAPACITY.
  */
object LogReserve {
  def reserved(p: OtxParam): Int =
    1 + 1 + waiting(p) + 3 + 6 + 1 + OtxParam.txids + (p.pagesPerBlock max p.lanes * p.pagesPerBlock / 2)

  private def waiting(p: OtxParam) = p.writeFrames / Number.LOG_ENTRIES + 1

  /** The command queue lets such commands go above this: three may be before one in the data path, of two pages each.
    * So the command executor finds its pages and does not wait. */
  def open(p: OtxParam): Int = reserved(p) + 6

  /** So many pages above `open` the write buffer begins to be emptied. */
  def spread(p: OtxParam): Int = waiting(p) + 2
}
