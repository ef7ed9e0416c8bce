/**
 * Runs test files under Node in one process: `node --test` starts a process for each file, which costs more than the
 * tests of most files. Each file is a suite, so that its hooks and failures stay its own.
 *
 *   node scripts/node-tests.mjs packages/tcp/dist/tls.test.js …
 */
import { describe } from 'node:test'
import { pathToFileURL } from 'node:url'

/** Milliseconds for the tests of a file. The job has somewhat more: `run-jobs.ts`. */
const LONGEST = 550_000

// A program that a test imports must not take them for its own arguments.
for (const file of process.argv.splice(2))
  describe(file, { timeout: LONGEST }, async () => {
    await import(pathToFileURL(file).href)
  })
