/** A load as a measurement sees it: warm-up, the measured time, and what came of it. */
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
  /** User and system time of who loads, in the measured time; `null`: not known. */
  readonly cpuUs: number | null
  readonly told?: Told
}

export interface Phases {
  /** For the progress line; absent: nothing can be seen while it runs. */
  readonly gauge?: LoadRun
  /** Loads for so many seconds, or until `over`. */
  warm(seconds: number, over: Promise<unknown>): Promise<unknown>
  /** The same, and counts. `false`: it was over before. */
  measure(seconds: number, over: Promise<unknown>): Promise<boolean>
  /** Sends nothing more, waits for outstanding answers up to `patience` milliseconds. */
  finish(patience: number): Promise<PhaseTotals>
  close(): Promise<void>
}

/** A load that goes on from the first to the last second. */
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

/** Waits; resolves to `false` at once if `over` comes first. */
export async function pass(seconds: number, over: Promise<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const time = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, seconds * 1000, true)
  })
  const alive = await Promise.race([time, over.then(() => false)])
  clearTimeout(timer)
  return alive
}
