/** One measurement: `bun run-bench.ts --target=elysia|nest`. Prints one JSON object on stdout, nothing else. */
import { measure } from './measure.ts'
import { benchUsage, readBenchOptions } from './options/bench-options.ts'
import { print, runCommand } from './process/main.ts'
import { stopServers } from './process/server-process.ts'

await runCommand(async () => {
  const options = readBenchOptions(process.argv.slice(2))
  if (options === 'help') {
    await print(benchUsage)
    return 0
  }
  const result = await measure(options)
  await print(`${JSON.stringify(result, null, 2)}\n`)
  const { errors, firstError, completed } = result
  if (errors > 0) console.error(`${errors} requests failed; the first: ${firstError}`)
  return errors === 0 && completed > 0 ? 0 : 1
}, stopServers)
