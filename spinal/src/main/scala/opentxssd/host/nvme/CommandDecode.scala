// SPDX-License-Identifier: Apache-2.0
package opentxssd.host.nvme

import opentxssd._
import opentxssd.host.HostCmd
import spinal.core._
import spinal.lib._

/** What is done with the data of a command. */
object DataKind {
  val NONE = 0 // there is none
  val WRITE = 1 // goes to the core
  val READ = 2 // comes from the core
  val COMPARE = 3 // comes from the core and is compared with that of the host
  val RANGES = 4 // is a list of ranges
  val bits = 3
}

/** What is to be done for a SQE. `status` is that of a command that is refused, or SUCCESS. */
case class Decoded() extends Bundle {
  val owner = SlotOwner()
  val status = UInt(11 bits)
  val cmd = HostCmd() // with the slot as its tag; its count is that of the first part
  val kind = UInt(DataKind.bits bits)
  val parts = Bool() // more than one command of the core
  val flushes = Bool() // a READ behind an RFLUSH of its blocks
  val nothing = Bool() // it is done
  val blocks = UInt(17 bits) // of all parts; of RANGES how many there are
  val prp1, prp2 = UInt(64 bits)
  val pages = UInt(6 bits) // of host memory
}

/** The meaning of an I/O command: docs/reference/nvme.md.
  *
  * Contract. `command` is the answer to `sqe`, three clocks later, and takes it with it. A SQE with a field that it
  * must not have gets the status of the first of: opcode, namespace, other fields, range of blocks, PRP1 and PRP2 that
  * are no list. What of its attributes a command of the core does not take the core refuses.
  */
class CommandDecode(lbas: BigInt) extends Component {
  import NvmeOpcode._

  val sqe = slave port Stream(Sqe())
  val writeThrough, streams, weighted = in port Bool()
  val command = master port Stream(Decoded())

  private val s = sqe.payload
  private val age = Reg(UInt(2 bits)) init 0
  when(sqe.valid && age =/= 3)(age := age + 1)
  when(sqe.fire)(age := 0)
  command.valid := sqe.valid && age === 3
  sqe.ready := command.fire

  // first clock: what it is, and sums
  private def is(ops: Int*): Bool = RegNext(ops.map(s.opcode === _).orR)
  private val plainWrite = is(WRITE)
  private val write = is(WRITE, TX_WRITE)
  private val read = is(READ, COMPARE, TX_READ)
  private val compare = is(COMPARE)
  private val zeroes = is(WRITE_ZEROES)
  private val trim = is(WRITE_ZEROES, TX_ZEROES)
  private val ranges = is(DATASET_MANAGEMENT)
  private val flushRange = is(FLUSH_RANGE)
  private val own = RegNext(s.opcode.msb)
  private val known = is(
    FLUSH,
    WRITE,
    READ,
    COMPARE,
    WRITE_ZEROES,
    DATASET_MANAGEMENT,
    TX_BEGIN,
    TX_WRITE,
    TX_READ,
    TX_COMMIT,
    TX_ABORT,
    FLUSH_RANGE,
    BARRIER,
    RECOVER,
    QUERY,
    TX_PREPARE,
    CHECKPOINT,
    TX_ZEROES
  )
  private val isFlush = is(FLUSH)
  private val names = is(TX_BEGIN, TX_COMMIT, TX_ABORT, TX_PREPARE)
  private val mayName = is(TX_WRITE, TX_READ, TX_ZEROES)
  private val asks = is(QUERY)
  private val attributes = Attributes()
  attributes.assignFromBits(s.cdw14)
  private val blocks = RegNext(s.cdw12(15 downto 0).asUInt +^ 1)
  private val past = RegNext(s.slba >> 32) =/= 0
  private val ends = RegNext((s.slba.resize(33) + s.cdw12(15 downto 0).asUInt).resize(33))
  private val oneNamespace = RegNext(s.nsid === 1)
  private val allNamespaces = RegNext(s.nsid.andR)
  private val offset = s.prp1(11 downto 2)
  private val count = s.cdw12(5 downto 0).asUInt + 1
  private val rangeBytes = (s.slba(7 downto 0) +^ 1) @@ U(0, 4 bits) // CDW10
  private val pagesOfBlocks = RegNext(count + (offset =/= 0).asUInt)
  private val pagesOfRanges = RegNext(Mux((offset @@ U(0, 2 bits)) +^ rangeBytes > 4096, U(2, 6 bits), U(1, 6 bits)))
  private val deallocates = RegNext(s.slba(34))
  private val odd1 = RegNext(s.prp1(1 downto 0) =/= 0)
  private val odd2Page = RegNext(s.prp2(11 downto 0) =/= 0)
  private val odd2List = RegNext(s.prp2(2 downto 0) =/= 0)
  private val reserved = RegNext(s.fuse =/= 0 || s.psdt =/= 0)
  private val directive = RegNext(s.cdw12(23 downto 20))
  private val ownReserved = RegNext(attributes.reserved =/= 0 || s.cdw2(31 downto 8) =/= 0)

  // second clock: what is wrong, and how much there is
  private val moves = write || read
  private val hasRange = moves || trim
  private val badField = reserved || own && (ownReserved || attributes.plain && !mayName) ||
    (moves || trim && !zeroes) && blocks > OtxParam.maxBlocks ||
    plainWrite && directive =/= 0 && !(streams && directive === 1) ||
    flushRange && blocks.msb
  private val badRange = hasRange && (past || ends >= lbas) || flushRange && past && !RegNext(s.cdw15.lsb)
  private val pages = RegNext(Mux(ranges, pagesOfRanges, pagesOfBlocks))
  private val useful = RegNext(moves || ranges && deallocates)
  private val badPrp = (moves || ranges && deallocates) &&
    (odd1 || Mux(ranges, pagesOfRanges, pagesOfBlocks) === 2 && odd2Page ||
      moves && pagesOfBlocks > 2 && odd2List)
  private val status = RegNext(
    Mux(
      !known,
      U(NvmeStatus.INVALID_OPCODE, 11 bits),
      Mux(
        !oneNamespace && !(isFlush && allNamespaces),
        U(NvmeStatus.INVALID_NAMESPACE, 11 bits),
        Mux(
          badField,
          U(NvmeStatus.INVALID_FIELD, 11 bits),
          Mux(
            badRange,
            U(NvmeStatus.LBA_RANGE, 11 bits),
            Mux(badPrp, U(NvmeStatus.PRP_OFFSET, 11 bits), U(NvmeStatus.SUCCESS, 11 bits))
          )
        )
      )
    )
  )
  private val several = RegNext(zeroes && blocks > OtxParam.maxBlocks || ranges && deallocates)

  // what the core is asked
  private val latency = s.cdw13(5 downto 4) // of DSM: 1 idle, 2 normal, 3 low
  private val ofQueue = weighted.mux(
    s.from.priority.mux(
      0 -> U(Priority.URGENT, 2 bits),
      1 -> U(Priority.HIGH, 2 bits),
      2 -> U(Priority.MEDIUM, 2 bits),
      3 -> U(Priority.LOW, 2 bits)
    ),
    U(Priority.MEDIUM, 2 bits)
  )
  private val hinted = latency.mux(
    1 -> U(Priority.LOW, 2 bits),
    2 -> U(Priority.MEDIUM, 2 bits),
    3 -> U(Priority.HIGH, 2 bits),
    default -> ofQueue
  )
  private val d = command.payload
  private val c = d.cmd
  private val fuaBit = s.cdw12(30)
  private val flushes = RegNext(read && !compare && !own && fuaBit)
  c.opcode := RegNext(
    Mux(
      trim || ranges,
      U(Opcode.TRIM, 8 bits),
      Mux(
        read,
        Mux(read && !own && !compare && fuaBit, U(Opcode.RFLUSH, 8 bits), U(Opcode.READ, 8 bits)),
        Mux(write, U(Opcode.WRITE, 8 bits), RegNext(s.opcode))
      )
    )
  )
  c.lba := s.slba.resized
  c.count := RegNext(Mux(several, U(OtxParam.maxBlocks), blocks.resize(16)))
  c.txid := s.cdw2(7 downto 0).asUInt
  c.hasTx := RegNext(
    names || mayName && !attributes.plain || asks && (s.cdw15.asUInt === Query.TX || s.cdw15.asUInt === Query.TX_WALK)
  )
  c.fua := RegNext((write || trim) && (fuaBit || writeThrough && !(mayName && !attributes.plain)))
  c.commit := own && attributes.commit
  c.relaxed := own && attributes.relaxed
  c.barrier := own && attributes.barrier
  c.orderless := own && attributes.orderless
  c.order := attributes.order.andMask(own)
  c.priority := RegNext(
    Mux(own && attributes.priority =/= 0, attributes.priority, Mux(moves && !own, hinted, ofQueue))
  )
  c.stream := s.cdw13(31 downto 16).asUInt.andMask(RegNext(own || plainWrite && directive === 1))
  c.tag := s.from.slot.resized
  c.arg := s.cdw15.asUInt.andMask(own)
  d.owner.queue := s.from.queue
  d.owner.cq := s.from.cq
  d.owner.cid := s.cid
  d.status := status
  d.kind := RegNext(
    Mux(
      write,
      U(DataKind.WRITE, DataKind.bits bits),
      Mux(
        compare,
        U(DataKind.COMPARE, DataKind.bits bits),
        Mux(
          read,
          U(DataKind.READ, DataKind.bits bits),
          Mux(ranges && deallocates, U(DataKind.RANGES, DataKind.bits bits), U(DataKind.NONE, DataKind.bits bits))
        )
      )
    )
  )
  d.parts := several
  d.flushes := flushes
  d.nothing := RegNext(ranges && !deallocates)
  d.blocks := RegNext(Mux(ranges, (s.slba(7 downto 0) +^ 1).resize(17), blocks))
  d.prp1 := s.prp1
  d.prp2 := s.prp2
  d.pages := pages.andMask(useful)
}
