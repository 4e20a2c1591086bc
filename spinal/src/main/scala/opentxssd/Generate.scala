// SPDX-License-Identifier: Apache-2.0
package opentxssd

import java.io.File
import opentxssd.data.{
  AppendTurn,
  BufferTurn,
  DataPath,
  FrameFill,
  LiveCounts,
  MapChanged,
  MapPages,
  TxFirst,
  WriteBuffer
}
import opentxssd.data.WriteFramePool
import opentxssd.flash.{FlashBackend, FlashScheduler, PageAllocator, ReadRetry}
import opentxssd.host.{ClassTurn, CommandIntake, CommandQueue, WritePace}
import opentxssd.host.nvme.{CommandFlow, CompletionQueues, NvmeController, PrpStore, SubmissionQueues}
import opentxssd.log.{CommitLog, LogWatermark}
import opentxssd.remap.{RemapEngine, RemapParam, TxStatus}
import spinal.core._

/** Writes Verilog: `Generate <geometry.properties> <output dir> [definition name ...] [+ <geometry.properties> ...]`.
  * Each component goes into `<output dir>/<definition name>.v`, without names all of them; after a `+` the same for
  * another geometry, far sooner than in a process of its own. A file with the parameters of the remap engine alone
  * (`RemapParam`) gives `otx_remap_engine` and needs no geometry.
  */
object Generate {

  /** Every component that is generated, simulated or synthesised on its own. */
  val components: Seq[(String, OtxParam => Component)] = Seq(
    "otx_core" -> (new Core(_)),
    "otx_command_queue" -> (new CommandQueue(_)),
    "otx_command_intake" -> (_ => new CommandIntake),
    "otx_command_intake_32_8" -> (_ => new CommandIntake(32, 8)),
    "otx_nvme" -> (new NvmeController(_)),
    "otx_data_path" -> (new DataPath(_)),
    "otx_remap_engine" -> (p => new RemapEngine(p.remap)),
    "otx_commit_log" -> (new CommitLog(_)),
    "otx_flash_backend" -> (new FlashBackend(_)),
    "otx_flash_scheduler" -> (new FlashScheduler(_)),
    "otx_page_allocator" -> (new PageAllocator(_)),
    "otx_live_counts" -> (new LiveCounts(_, downs = 3)),
    "otx_map_pages" -> (new MapPages(_)),
    "otx_map_changed" -> (p => new MapChanged(p.mapPages)),
    "otx_frame_fill" -> (new FrameFill(_)),
    "otx_write_pace" -> (_ => new WritePace),
    "otx_class_turn" -> (_ => new ClassTurn),
    "otx_write_buffer" -> (new WriteBuffer(_)),
    "otx_buffer_turn" -> (_ => new BufferTurn),
    "otx_append_turn" -> (_ => new AppendTurn),
    "otx_tx_first" -> (_ => new TxFirst),
    // small enough to be proved
    "otx_remap_engine_2" -> (p => new RemapEngine(p.remap.copy(txids = 2, slots = 2), "otx_remap_engine_2")),
    "otx_tx_status_4" -> (_ => new TxStatus(4)),
    "otx_log_watermark_4" -> (_ => new LogWatermark(2)),
    "otx_command_queue_3" -> (new CommandQueue(_, 3)),
    "otx_command_queue_8" -> (new CommandQueue(_, 8)),
    "otx_submission_queues" -> (_ => new SubmissionQueues),
    "otx_completion_queues" -> (_ => new CompletionQueues),
    "otx_prp_store_2" -> (_ => new PrpStore(slots = 2, entries = 4)),
    "otx_command_flow" -> (p => new CommandFlow(p.lbas)),
    "otx_map_changed_4" -> (_ => new MapChanged(8, 4)),
    "otx_write_frame_pool_2" -> (new WriteFramePool(_, Some(2))),
    "otx_read_retry" -> (p => new ReadRetry(p.copy(channels = 1, ways = 2, planes = 2, readRetries = 3)))
  )

  /** One component into one file; a private runner of one block calls this with its own list. */
  def run(args: Array[String], components: Seq[(String, OtxParam => Component)]): Unit = {
    if (args.length < 2) fail("usage: Generate <geometry.properties> <output dir> [definition name ...]")
    val alone =
      try RemapParam.load(args(0))
      catch {
        case wrong: IllegalArgumentException =>
          fail(s"${args(0)}: ${wrong.getMessage.stripPrefix("requirement failed: ")}")
      }
    alone match {
      case Some(p) => write(args, p, Seq[(String, RemapParam => Component)]("otx_remap_engine" -> (new RemapEngine(_))))
      case None => write(args, OtxParam.load(args(0)), components)
    }
  }

  private def write[P](args: Array[String], p: P, components: Seq[(String, P => Component)]): Unit = {
    val wanted = args.drop(2)
    for (name <- wanted if !components.exists(_._1 == name))
      fail(s"Generate: no component '$name'; there are: ${components.map(_._1).mkString(", ")}")
    new File(args(1)).mkdirs()
    for ((name, make) <- components if wanted.isEmpty || wanted.contains(name)) {
      SpinalConfig(
        targetDirectory = args(1),
        oneFilePerComponent = false,
        headerWithDate = false,
        headerWithRepoHash = false,
        defaultConfigForClockDomains = ClockDomainConfig(resetKind = SYNC, resetActiveLevel = HIGH)
        // stands beside the core in one SoC: no module of it has the name of one of the core's
      ).copy(netlistFileName = name + ".v", privateNamespace = name == "otx_nvme").generateVerilog(make(p))
    }
  }

  private def fail(words: String): Nothing = {
    System.err.println(words)
    sys.exit(2)
  }

  def main(args: Array[String]): Unit = {
    val next = args.indexOf("+")
    run(if (next < 0) args else args.take(next), components)
    if (next >= 0) main(args.drop(next + 1))
  }
}
