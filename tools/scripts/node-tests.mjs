/**
 * Runs test files under Node in one process: `node --test` starts a process for each file, which costs more than the
 * tests of most files. Each file is a suite, so that its hooks and failures stay its own.
 *
 *   node tools/scripts/node-tests.mjs packages/tcp/dist/tls.test.js …
 */
import { describe } from 'node:test'
import { pathToFileURL } from 'node:url'

/**
 * The time limit for the tests of a file in milliseconds. The limit of the whole job is a little longer: see
 * `run-jobs.ts`. At night, when a file may repeat something fifty times, both are an hour.
 */
// biome-ignore lint/suspicious/noUndeclaredEnvVars: Turborepo runs no tests
const LONGEST = Number(process.env['LONGEST_FILE'] ?? 550_000)

// The arguments are removed, so that a program that a test imports does not read them as its own.
for (const file of process.argv.splice(2))
  describe(file, { timeout: LONGEST }, async () => {
    await import(pathToFileURL(file).href)
  })
