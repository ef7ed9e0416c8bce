/** The loads that the gate measures on both commits: texts and objects, handlers that wait, streams. */
import type { PayloadOptions } from '../options/payload-options.ts'
import { shapes } from '../payload/payload.ts'
import type { BenchFlags } from '../process/bench-process.ts'
import type { Layout } from '../report/contest.ts'
import { flagsOfTask, type Handler, type Source } from '../task/task.ts'

export interface GateLoads {
  readonly layouts: readonly Layout[]
  readonly payloads: readonly PayloadOptions[]
  readonly handlers: readonly Handler[]
  readonly generators: readonly Source[]
}

export interface GateLoad {
  readonly name: string
  readonly layout: Layout
  /** The flags of a measurement, for a number of callers. */
  flags(concurrency: number): Omit<BenchFlags, 'runtime'>
}

/**
 * Every payload with the first handler, and the first payload with every other handler. Not all combinations, because
 * with more findings more fail by chance. Then streams: one long stream on a shared connection, and short streams
 * with a connection each.
 */
export function loadsOf({ layouts, payloads, handlers, generators }: GateLoads): GateLoad[] {
  const [payload] = payloads
  const [handler, ...otherHandlers] = handlers
  const echoes = [
    ...payloads.map((one) => ({ payload: one, handler: handler! })),
    ...otherHandlers.map((one) => ({ payload: payload!, handler: one }))
  ]
  return layouts.flatMap((layout) => [
    ...echoes.map((echo) => echoLoad(layout, echo.payload, echo.handler)),
    ...generators.map((generator) => streamLoad(layout, generator))
  ])
}

function echoLoad(layout: Layout, { shape, payload }: PayloadOptions, handler: Handler): GateLoad {
  return {
    name: [layout, shape, ...(handler === 'sync' ? [] : [`handler ${handler}`])].join(', '),
    layout,
    flags: (concurrency) => ({
      concurrency,
      connections: layout === 'shared' ? 1 : concurrency,
      shape,
      ...(shapes[shape].defaultBytes !== undefined && { payload }),
      ...flagsOfTask({ mode: 'request', handler })
    })
  }
}

const LONG = 100_000
const SHORT = 10

function streamLoad(layout: Layout, generator: Source): GateLoad {
  const isLong = layout === 'shared'
  return {
    name: `${layout}, ${isLong ? 'one stream' : `streams of ${SHORT}`}, generator ${generator}`,
    layout,
    flags: (concurrency) => ({
      streams: isLong ? 1 : concurrency,
      connections: isLong ? 1 : concurrency,
      ...flagsOfTask({
        mode: 'stream',
        generator,
        take: 'iterate',
        values: isLong ? LONG : SHORT,
        pause: 0
      })
    })
  }
}
