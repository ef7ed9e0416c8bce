/**
 * Compares this checkout with an earlier commit: `bun run bench:gate --base=main`. For developers before a merge, not
 * for CI.
 */
import { BenchError } from './errors.ts'
import { BaseCheckout, removeCheckouts } from './gate/base.ts'
import { describeGate, isPassed, type MeasureSide, runGate } from './gate/run.ts'
import { type GateOptions, gateUsage, readGateOptions } from './options/gate-options.ts'
import { range } from './plan.ts'
import { BenchProcess } from './process/bench-process.ts'
import { BENCH_FOLDER } from './process/folder.ts'
import { print, runCommand } from './process/main.ts'
import { Schedule } from './report/schedule.ts'

const bench = new BenchProcess()
const say = (what: string): void => void process.stderr.write(`${what}\n`)

await runCommand(
  async () => {
    const options = readGateOptions(process.argv.slice(2))
    if (options === 'help') {
      await print(gateUsage)
      return 0
    }
    const base = await BaseCheckout.create(options.base, say)
    await prepareBench(base, options)
    const schedule = new Schedule(range(2 * options.runs * options.loads.length).map(() => options))
    const result = await runGate(options, (side, load, run) => {
      schedule.announce(`${side}, ${load.name}`)
      return measureSide(options, base)(side, load, run)
    })
    await print(`${describeGate(result).join('\n')}\n`)
    return isPassed(result) ? 0 : 1
  },
  async () => {
    await bench.stop()
    await removeCheckouts()
  }
)

/** Measures the base with this checkout's bench if that works, otherwise with the base's own bench. */
async function prepareBench(base: BaseCheckout, options: GateOptions): Promise<void> {
  // The last load, which an older bench is least likely to know.
  const attempt = () =>
    measureSide({ ...options, duration: 0.1, warmup: 0 }, base)('base', options.loads.at(-1)!, 0)
  await base.takeBench()
  try {
    await attempt()
  } catch (error) {
    if (!(error instanceof BenchError)) throw error
    say(
      'this bench does not run there: the base is measured by its own, which may differ in more than the library'
    )
    await base.restoreBench()
    await attempt()
  }
}

function measureSide(options: GateOptions, base: BaseCheckout): MeasureSide {
  const { target, concurrency, duration, warmup } = options
  return (side, load) =>
    bench.measure(
      { target, ...load.flags(concurrency), duration, warmup, port: 0, runtime: 'bun' },
      { limit: 60 + duration + warmup, folder: side === 'head' ? BENCH_FOLDER : base.bench }
    )
}
