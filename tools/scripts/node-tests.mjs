/**
 * Runs test files under Node in one process: `node --test` starts a process for each file, which costs more than the
 * tests of most files. Each file is a suite, so that its hooks and failures stay its own.
 *
 *   node tools/scripts/node-tests.mjs packages/tcp/dist/tls.test.js …
 */
import { beforeEach, describe } from 'node:test'
import { pathToFileURL } from 'node:url'

/**
 * The time limit for all tests in milliseconds. The limit of the whole job is a little longer (see `run-jobs.ts`), and
 * would end the process without a word on which test was running. At night, when a file may repeat something fifty
 * times, both are an hour.
 */
// biome-ignore lint/suspicious/noUndeclaredEnvVars: Turborepo runs no tests
const LONGEST = Number(process.env['LONGEST_RUN'] ?? 550_000)

let running = 'no test'
beforeEach(({ fullName, name }) => {
  running = fullName ?? name
})
setTimeout(() => {
  console.error(`Not over after ${LONGEST / 1_000} s, while this ran: ${running}`)
  process.exit(1)
}, LONGEST).unref()

// The arguments are removed, so that a program that a test imports does not read them as its own.
for (const file of process.argv.splice(2))
  describe(file, async () => {
    await import(pathToFileURL(file).href)
  })
