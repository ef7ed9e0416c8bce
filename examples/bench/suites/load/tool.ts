/** The tool that loads a server over HTTP: another project's program that is not the bottleneck. */
import type { Histogram } from 'hdr-histogram-js'
import { prepareOthers } from '../../process/others.ts'
import { currentRuntime, which } from '../../process/runtime.ts'
import type { Asked } from '../workloads.ts'

export interface HttpLoad {
  readonly host: string
  readonly port: number
  readonly connections: number
  readonly asked: readonly Asked[]
  /** The cores of the tool; empty: any. */
  readonly cpus: readonly number[]
}

export interface HttpTotals {
  readonly completed: number
  readonly seconds: number
  /** Answers with a wrong status, and failed connections. */
  readonly errors: number
  readonly firstError: string | null
  /** The average latency in milliseconds. */
  readonly average: number | null
  /** All latencies, in microseconds. */
  readonly latencies: Histogram
}

export const tools = ['wrk', 'autocannon'] as const
export type Tool = (typeof tools)[number]

/** The program of autocannon, which is installed with the other peers' packages. */
const AUTOCANNON = 'others/autocannon'

/** The available tool: `wrk` needs a fifth of autocannon's processor time for a request. */
export const preferredTool = (): Tool => (which('wrk') === undefined ? 'autocannon' : 'wrk')

/** Puts load on a server for this time, or until `over` settles. Latencies are those of the whole time. */
export async function loadWith(
  tool: Tool,
  load: HttpLoad,
  seconds: number,
  over: AbortSignal
): Promise<HttpTotals> {
  if (tool === 'autocannon') prepareOthers([currentRuntime])
  const { run } = (tool === 'wrk' ? await import('./wrk.ts') : await import(`../../${AUTOCANNON}.ts`)) as {
    run(load: HttpLoad, seconds: number, over: AbortSignal): Promise<HttpTotals>
  }
  return run(load, seconds, over)
}
