/** A load process: reads commands from stdin, line by line, and answers on stdout with one JSON object per line. */
import { createInterface } from 'node:readline'
import type { BenchOptions } from '../options/bench-options.ts'
import { type LoadTotals, LocalRun } from './load-run.ts'
import { describe, Meter } from './meter.ts'
import { openLoad } from './open-load.ts'

export type WorkerSays =
  | { readonly event: 'ready' }
  | { readonly event: 'failed'; readonly reason: string }
  | {
      readonly event: 'progress'
      readonly answered: number
      readonly errors: number
      readonly p99: number | null
    }
  | { readonly event: 'totals'; readonly totals: LoadTotals }

export interface WorkerTask {
  readonly options: BenchOptions
  readonly port: number
}

/** Milliseconds between two progress reports. */
const INTERVAL = 500

const say = (said: WorkerSays): void => void process.stdout.write(`${JSON.stringify(said)}\n`)

/** Resolves when the command to close has arrived, or the parent process has ended. */
export async function obey(): Promise<void> {
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
  const first = await lines.next()
  if (first.done === true) return
  const task = JSON.parse(first.value) as WorkerTask
  const run = await open(task)
  if (run === undefined) return
  const timer = task.options.progress === true ? setInterval(() => report(run), INTERVAL) : undefined
  for (let next = await lines.next(); next.done !== true; next = await lines.next()) {
    const [command, argument] = next.value.split(' ')
    if (command === 'start') run.start()
    else if (command === 'measure') run.measure()
    else if (command === 'stop') run.stop()
    else if (command === 'finish') say({ event: 'totals', totals: await run.finish(Number(argument)) })
    else break
  }
  clearInterval(timer)
  await run.close()
}

async function open({ options, port }: WorkerTask): Promise<LocalRun | undefined> {
  const meter = new Meter()
  try {
    const run = new LocalRun(await openLoad(options, port, meter), meter)
    say({ event: 'ready' })
    return run
  } catch (error) {
    say({ event: 'failed', reason: describe(error) })
    return undefined
  }
}

const report = (run: LocalRun): void =>
  say({ event: 'progress', answered: run.answered, errors: run.errors, p99: run.recentP99() })
