/** Observes a server and a load in every measurement: reads the clocks before, between and after the phases. */
import type { EventTally } from './load/event-tally.ts'
import type { Phases, PhaseTotals } from './load/phases.ts'
import {
  cpuMicroseconds,
  cpuOf,
  cpuOfChildren,
  peakMegabytes,
  peakOf,
  residentMegabytes,
  residentOf
} from './process/proc-stat.ts'
import type { ServerProcess } from './process/server-process.ts'
import type { Usage } from './report/measurement.ts'
import { showProgress } from './report/progress.ts'

/** Milliseconds to wait for outstanding requests after the measurement; fewer if the server is known to have ended. */
const PATIENCE = { alive: 5_000, gone: 1_000 }

const NEVER = new Promise<never>(() => {})

interface Observing {
  readonly warmup: number
  readonly duration: number
  readonly label: string
  readonly progress: boolean | undefined
  /**
   * Whether the figures include all processes of the server. If not, only the first one counts, because a broker may
   * run beside it.
   */
  readonly ofFamily?: boolean
  /** Counts the events that the server has handled, if events are measured. */
  readonly tally?: EventTally | undefined
}

export interface Observed {
  readonly totals: PhaseTotals
  readonly usage: Usage
  readonly startedAt: Date
  /** Whether the server was still running at the end. */
  readonly isAlive: boolean
}

/**
 * Puts load on a server, and reads its use of processor and memory.
 *
 * @param server `undefined`: the bench has not started the server, so nothing is known of its process
 * @param open opens the load; called after the server's memory was read, because connections need memory
 */
export async function observe(
  server: ServerProcess | undefined,
  { warmup, duration, label, progress, ofFamily = false, tally }: Observing,
  open: () => Promise<Phases>
): Promise<Observed> {
  const pid = server?.pid
  const exited = server?.exited ?? NEVER
  const of = (read: (pid: number) => number | null) => (pid === undefined ? null : read(pid))
  const [cpuIn, residentIn, peakIn] = ofFamily
    ? [cpuOf, residentOf, peakOf]
    : [cpuMicroseconds, residentMegabytes, peakMegabytes]
  /** The server's memory when it is idle and has collected its garbage; `null`: not known. */
  const idle = async () =>
    server !== undefined && (await server.collectGarbage()) ? residentIn(server.pid) : null
  const rssIdle = await idle()
  const load = await open()
  const startedAt = new Date()
  const { gauge } = load
  const hideProgress =
    gauge === undefined
      ? () => {}
      : showProgress(label, gauge, warmup + duration, {
          isTTY: progress ?? process.stderr.isTTY,
          write: (text) => process.stderr.write(text)
        })
  if (warmup > 0 || gauge !== undefined) await load.warm(warmup, exited)
  const before = of(cpuIn)
  const engineBefore = ofFamily ? null : of(cpuOfChildren)
  tally?.measure()
  const isAlive = await load.measure(duration, exited)
  tally?.stop()
  const serverCpuUs = difference(of(cpuIn), before)
  const engineCpuUs = engineBefore === null ? null : difference(of(cpuOfChildren), engineBefore)
  const serverRssMb = of(residentIn)
  const answered = () => gauge?.answered ?? 0
  const totals = await load.finish(isAlive ? PATIENCE.alive : PATIENCE.gone)
  const handled = await tally?.settle(answered())
  const rssPeak = of(peakIn)
  hideProgress()
  await load.close()
  const usage: Usage = {
    serverCpuUs,
    serverRssMb,
    clientCpuUs: totals.cpuUs,
    rssIdle,
    rssPeak,
    rssAfter: await idle(),
    clientRssPeak: peakMegabytes(process.pid),
    ...(engineCpuUs !== null && { engineCpuUs }),
    ...(handled !== undefined && { events: { sent: answered(), arrived: handled.total } })
  }
  // Events are counted by the server that has handled them, not by the client that has sent them.
  return {
    totals:
      handled === undefined ? totals : { ...totals, completed: handled.measured, seconds: handled.seconds },
    usage,
    startedAt,
    isAlive
  }
}

const difference = (later: number | null, earlier: number | null): number | null =>
  later === null || earlier === null ? null : later - earlier
