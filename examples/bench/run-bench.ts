/** One measurement: `bun run-bench.ts --target=elysia`, or of a suite. Prints one JSON object on stdout, nothing else. */
import { measure } from './measure.ts'
import { benchUsage, readBenchOptions } from './options/bench-options.ts'
import { type SpawnedBench, spawnBench } from './process/bench-process.ts'
import { print, runCommand } from './process/main.ts'
import { currentRuntime } from './process/runtime.ts'
import { stopServers } from './process/server-process.ts'
import { measureSuite } from './suites/measure.ts'
import { isSuite, readSuiteOptions, suiteUsage } from './suites/options.ts'

/** The process of the measurement, if it runs on the other runtime. */
let elsewhere: SpawnedBench | undefined

await runCommand(
  async () => {
    // In production mode, as servers run: in development, some libraries are slower or log a lot.
    process.env.NODE_ENV = 'production'
    const flags = process.argv.slice(2)
    const isOfSuite = isSuite(flags)
    const options = isOfSuite ? readSuiteOptions(flags) : readBenchOptions(flags)
    if (options === 'help') {
      await print(isOfSuite ? suiteUsage : benchUsage)
      return 0
    }
    // In a suite, the runtime is only that of the server.
    if (!('suite' in options) && options.runtime !== currentRuntime) {
      elsewhere = spawnBench(options.runtime, flags, 'inherit')
      return (await elsewhere.exited).code ?? 1
    }
    if (options.withParent) process.stdin.resume().once('end', () => process.kill(process.pid, 'SIGTERM'))
    const result = await ('suite' in options ? measureSuite(options) : measure(options))
    // Without the histogram, which is 5 KB of base64.
    const { latencyHistogram, ...readable } = result
    const shown = options.histogram ? { ...readable, latencyHistogram } : readable
    await print(`${JSON.stringify(shown, null, 2)}\n`)
    const { errors, firstError, completed, lost = 0 } = result
    if (errors > 0) console.error(`${errors} requests failed; the first: ${firstError}`)
    if (lost > 0) console.error(`${lost} events were sent according to the client, and did not arrive`)
    if (completed === 0) console.error('Nothing was completed in the measured time')
    return errors === 0 && lost === 0 && completed > 0 ? 0 : 1
  },
  async () => {
    elsewhere?.child.kill('SIGTERM')
    await Promise.all([elsewhere?.exited, stopServers()])
  }
)
