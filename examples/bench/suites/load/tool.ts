/** The tool that loads a server over HTTP: a program that is neither the bottleneck nor ours. */
import type { Histogram } from 'hdr-histogram-js'
import { prepareOthers } from '../../process/others.ts'
import { currentRuntime, which } from '../../process/runtime.ts'
import type { Asked } from '../workloads.ts'

export interface HttpLoad {
  readonly host: string
  readonly port: number
  readonly connections: number
  readonly asked: readonly Asked[]
  /** CPUs it runs on; none: any. */
  readonly cpus: readonly number[]
}

export interface HttpTotals {
  readonly completed: number
  readonly seconds: number
  /** Answers with another status than the right one, and connections that failed. */
  readonly errors: number
  readonly firstError: string | null
  /** Milliseconds, on average. */
  readonly average: number | null
  /** Of all latencies, in microseconds. */
  readonly latencies: Histogram
}

export const tools = ['wrk', 'autocannon'] as const
export type Tool = (typeof tools)[number]

/** Its program; with the other peers, of whose packages it is one. */
const AUTOCANNON = 'others/autocannon'

/** The one there is: `wrk` takes a fifth of what a request costs the other. */
export const preferredTool = (): Tool => (which('wrk') === undefined ? 'autocannon' : 'wrk')

/** Loads for so long, or until `over`. Latencies are of the whole time. */
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
