// SPDX-License-Identifier: Apache-2.0
package opentxssd.log

import opentxssd._
import spinal.core._
import spinal.lib._

/** Puts entries together to pages: gives each its index and place, decides when the page closes, and writes the first
  * half of the header then.
  *
  * An entry is taken when the open page has a frame and can be placed (`ready`), the watermark has room, and the record
  * before it is on its way. The page closes, and takes no entry until the first half of its header is on its way
  * (LogPages writes the second half),
  *  - when it is full (126 entries);
  *  - when the first entry of a group, or one that was offered in the clock before, needs more `room` than is left: a
  *    group never straddles two pages (rule group);
  *  - when somebody waits for an entry in it (`flushTo`, `commitTo`, or `rescueTo` while `mayRescue`), no group is open
  *    and the pages before it let it be placed at once (`mayClose`). Until then more entries join.
  *
  * Indexes, places and page numbers go up in the order of `append` and nothing is reordered, so log order is append
  * order: rule lpn-order.
  *
  * `groupEnd`: `head`, or while a group is open the index behind its last entry: what firmware takes for the end of the
  * log, because recovery keeps or drops a group as a whole.
  * `pushed`: entry `head` goes into the log in this clock. `closing`: the header's first half is taken in this clock;
  * `forHost`: and `flushTo` or `commitTo` waits for it.
  * `dropping` (after a fault): entries are taken and counted, one per clock, and go nowhere. `room` of a group's first
  * entry must be the truth; a full page closes even inside a group. An entry is taken one clock after it is offered, or
  * later. It may be taken back, and another come in its place whose `room` is not larger.
  * Throughput: that of `record`. Reset: page without entries, index 0.
  */
class LogAssembler(p: OtxParam) extends Component {
  setDefinitionName("otx_log_assembler")
  private val most = Number.LOG_ENTRIES

  val enable, dropping = in port Bool()
  val generation, driveId = in port UInt(32 bits)
  val append = slave port Stream(LogAppend())
  val head, groupEnd = out port UInt(48 bits)
  val ready = in port Bool()
  val watermarkRoom = in port Bool()
  val flushTo, commitTo, rescueTo = in port UInt(48 bits)
  val mayClose, mayRescue = in port Bool()
  val page = in port UInt(32 bits)
  val record = master port Stream(LogRecord())
  val pushed = out port Bool()
  val closing, forHost = out port Bool()

  private val index, first = Reg(UInt(48 bits)) init 0 // of the next entry, of the page's first entry
  private val count = Reg(UInt(7 bits)) init 0
  private val left = Reg(UInt(7 bits)) init most // most - count, kept for speed
  private val groupOpen = RegInit(False)
  private val behindGroup = Reg(UInt(48 bits)) init 0

  private object State extends SpinalEnum {
    val Fill, Header = newElement() // entries; waiting for place 0 to be taken
  }
  private val state = RegInit(State.Fill)

  private val full = RegInit(False) // left === 0
  // of the clock before: what is offered does not decide in the same clock whether it is taken
  private val offered = append.valid && !append.fire
  private val waits = RegNext(offered) init False
  private val tooLarge = RegNext(offered && state === State.Fill && !groupOpen && append.room > left) init False
  // of an older `first` only while the page has no entry
  private val hostWaits = RegNext(flushTo > first || commitTo > first) init False
  private val moveWaits = RegNext(rescueTo > first && mayRescue) init False
  private val wanted = (hostWaits || moveWaits) && count =/= 0 && !groupOpen && mayClose
  private val close = full || tooLarge || wanted
  private val filling = state === State.Fill && waits && !close && ready && watermarkRoom && enable && !dropping

  private val location = append.location.kind ## append.location.value
  private val flags = B(0, 6 bits) ## append.inTx ## append.ordered
  private val entry = append.arg ## append.epoch ##
    B(0, 16 bits) ## append.sequence ##
    append.serial ## location ##
    append.lpn ## append.i ## append.n ## flags ## append.kind
  private val magic = Magic.LogHeader
  private val header = first.resize(64).asBits ##
    B(0, 16 bits) ## count.resize(16) ## page ##
    generation ## driveId ##
    B(magic, 64 bits)

  record.valid := filling && append.valid
  record.frame := page(1 downto 0)
  record.place := count + 2
  record.words := entry
  append.ready := (filling && record.ready) || (enable && dropping && state === State.Fill)
  pushed := record.fire && state === State.Fill
  closing := False
  forHost := hostWaits
  when(append.fire) {
    index := index + 1
    groupOpen := !append.last
    when(append.last)(behindGroup := index + 1).elsewhen(!groupOpen)(behindGroup := index + append.room)
  }
  when(pushed) {
    count := count + 1
    left := left - 1
    full := left === 1
  }

  switch(state) {
    is(State.Fill) {
      when(close && !dropping && enable)(state := State.Header)
    }
    is(State.Header) {
      record.valid := True
      record.place := 0
      record.words := header
      closing := record.ready
      when(record.ready) {
        state := State.Fill
        first := index
        count := 0
        left := most
        full := False
      }
    }
  }
  head := index
  groupEnd := behindGroup
}
