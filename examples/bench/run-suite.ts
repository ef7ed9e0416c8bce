/** One measurement of a suite: `bun run-suite.ts --suite=http --target=elysia`. One JSON object on stdout, nothing else. */
import { print, runCommand } from './process/main.ts'
import { stopServers } from './process/server-process.ts'
import { measureSuite } from './suites/measure.ts'
import { readSuiteOptions, suiteUsage } from './suites/options.ts'

await runCommand(async () => {
  process.env.NODE_ENV = 'production'
  const options = readSuiteOptions(process.argv.slice(2))
  if (options === 'help') {
    await print(suiteUsage)
    return 0
  }
  if (options.withParent) process.stdin.resume().once('end', () => process.kill(process.pid, 'SIGTERM'))
  const { latencyHistogram, ...readable } = await measureSuite(options)
  await print(
    `${JSON.stringify(options.histogram ? { ...readable, latencyHistogram } : readable, null, 2)}\n`
  )
  const { errors, firstError, completed } = readable
  if (errors > 0) console.error(`${errors} requests failed; the first: ${firstError}`)
  if (completed === 0) console.error('Nothing was completed in the time measured')
  return errors === 0 && completed > 0 ? 0 : 1
}, stopServers)
