/**
 * Runs test files under Node in one process: `node --test` starts a process for each file, which costs more than the
 * tests of most files. Each file is a suite, so that its hooks and failures stay its own.
 *
 *   node tools/scripts/node-tests.mjs packages/tcp/dist/tls.test.js …
 */
import asyncHooks from 'node:async_hooks'
import { pathToFileURL } from 'node:url'

/**
 * The time limit for all tests in milliseconds. The limit of the whole job is a little longer (see `run-jobs.ts`), and
 * would end the process without a word on which test was running. At night, when a file may repeat something fifty
 * times, both are an hour.
 */
// biome-ignore lint/suspicious/noUndeclaredEnvVars: Turborepo runs no tests
const LONGEST = Number(process.env['LONGEST_RUN'] ?? 550_000)

// Node's runner follows each promise and timer by a hook, which takes a fifth of the processor time of the sockets' tests.
// It needs the hook only while files are loaded, to know which suite declares a test.
const { createHook } = asyncHooks
/** @type {import('node:async_hooks').AsyncHook[]} */
const hooks = []
asyncHooks.createHook = (callbacks) => {
  const hook = createHook(callbacks)
  hooks.push(hook)
  return hook
}
const { beforeEach, describe } = await import('node:test')

let running = 'no test'
beforeEach(({ fullName, name }) => {
  running = fullName ?? name
})
asyncHooks.createHook = createHook
// Without the hook the runner does not know in which test an error happened that nobody caught; the job fails.
for (const event of ['uncaughtException', 'unhandledRejection'])
  process.on(event, () => {
    console.error(`An ${event} while this ran: ${running}`)
    process.exitCode = 1
  })
setTimeout(() => {
  console.error(`Not over after ${LONGEST / 1_000} s, while this ran: ${running}`)
  process.exit(1)
}, LONGEST).unref()

let loading = 0
// The arguments are removed, so that a program that a test imports does not read them as its own.
for (const file of process.argv.splice(2)) {
  loading++
  describe(file, async () => {
    await import(pathToFileURL(file).href)
    if (--loading === 0) for (const hook of hooks) hook.disable()
  })
}
