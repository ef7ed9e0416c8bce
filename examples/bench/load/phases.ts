/** A load in phases: warm-up, the measured time, and the results. */
import type { Measurement } from '../report/schema.ts'
import type { LoadRun } from './load-run.ts'
import type { Counts } from './meter.ts'

/** Figures that only some loads have. */
export type Told = Pick<
  Measurement,
  | 'average'
  | 'min'
  | 'p95'
  | 'successRate'
  | 'refused'
  | 'refusedP50'
  | 'refusedP99'
  | 'told'
  | 'failedP50'
  | 'workers'
  | 'perWorker'
>

export interface PhaseTotals extends Counts {
  /** The user and system time of the load in the measured time; `null`: not known. */
  readonly cpuUs: number | null
  readonly told?: Told
}

export interface Phases {
  /** For the progress line; `undefined`: no progress can be shown. */
  readonly gauge?: LoadRun
  /** Runs the load for a number of seconds, or until `over` settles. */
  warm(seconds: number, over: Promise<unknown>): Promise<unknown>
  /** Runs the load in the same way, and counts. `false`: `over` has settled before the end. */
  measure(seconds: number, over: Promise<unknown>): Promise<boolean>
  /** Stops sending, and waits for outstanding answers for up to `patience` milliseconds. */
  finish(patience: number): Promise<PhaseTotals>
  close(): Promise<void>
}

/** The phases of a load that runs without interruption. */
export const phasesOf = (run: LoadRun): Phases => ({
  gauge: run,
  warm(seconds, over) {
    run.start()
    return pass(seconds, Promise.race([over, run.broken]))
  },
  async measure(seconds, over) {
    run.measure()
    const alive = await pass(seconds, Promise.race([over, run.broken]))
    run.stop()
    return alive
  },
  finish: (patience) => run.finish(patience),
  close: () => run.close()
})

/** Waits; resolves to `false` as soon as `over` settles. */
export async function pass(seconds: number, over: Promise<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const time = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, seconds * 1000, true)
  })
  const alive = await Promise.race([time, over.then(() => false)])
  clearTimeout(timer)
  return alive
}
