/**
 * What depends on the runtime, on those that `npm test` does not run everything on: the newest Node LTS and Deno, as npm
 * has them.
 */
import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { file, Glob, spawn, write } from 'bun'
import { readCases, readReport, writeReport } from '../scripts/junit.ts'
import { denoCases } from './deno-cases.ts'
import { DIFFERENCES } from './differences.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const root = fileURLToPath(new URL('..', import.meta.url))
const REPORTS = { node: `${here}.results/node-lts.xml`, deno: `${here}.results/deno.xml` }
/** One test may take as long as in the other runs; for Deno, which has no limit, everything together. */
const LONGEST_TEST = 300_000
const LONGEST_RUN = 900_000

/** The packages with sockets and users' code in them, and what they do together. */
const tests = [
  'packages/{elysia-microservices,nats,tcp}/dist/**/*.test.js',
  'tests/dist/conformance/**/*.test.js'
].flatMap((pattern) => [...new Glob(pattern).scanSync({ cwd: root, absolute: true })].sort())
assert.ok(tests.length > 0, 'The tests are not built')

/** Runs a command to its end. */
async function run(command: readonly string[]): Promise<{ readonly code: number; readonly output: string }> {
  const child = spawn([...command], {
    cwd: here,
    env: { ...process.env, NO_COLOR: '1' },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
    timeout: LONGEST_RUN
  })
  const output = await new Response(child.stdout).text()
  return { code: await child.exited, output }
}

async function underNode(): Promise<boolean> {
  const lts = await new Response(spawn(['node', '-p', 'process.release.lts']).stdout).text()
  assert.match(lts, /^[A-Z][a-z]+\n$/, 'The pinned Node is no LTS release')
  const reporter = ['--test-reporter=junit', `--test-reporter-destination=${REPORTS.node}`]
  const shown = ['--test-reporter=spec', '--test-reporter-destination=stdout']
  const limits = [`--test-timeout=${LONGEST_TEST}`, '--enable-source-maps']
  const { code, output } = await run(['node', '--test', ...limits, ...reporter, ...shown, ...tests])
  if (code !== 0) console.log(output)
  return code === 0
}

async function underDeno(): Promise<boolean> {
  // Elysia's adapter asks for SO_REUSEPORT, which Deno has behind a flag.
  const flags = ['-A', '--no-check', '--unstable-net', `--junit-path=${REPORTS.deno}`]
  const { output } = await run(['deno', 'test', ...flags, ...tests])
  const all = readCases(await file(REPORTS.deno).text())
  // Deno ends with 1 for failed tests, those that differ included; what failed and is no test, only its last line has.
  const [, tops, steps = '0'] = /\| (\d+) failed(?: \((\d+) steps?\))? \(/.exec(output) ?? []
  const reported = all.filter(({ outcome }) => outcome === 'failed').length
  if (Number(tops) + Number(steps) !== reported) {
    console.log(output)
    console.log(`Deno crashed, or something failed outside of a test: ${reported} failures are in its report`)
    return false
  }
  const report = writeReport(denoCases(all, DIFFERENCES))
  await write(REPORTS.deno, report)
  const { failures } = readReport(report)
  if (failures.length > 0) console.log(`${output}\nUnder Deno:\n${failures.join('\n')}`)
  return failures.length === 0
}

const results = [await underNode(), await underDeno()]
process.exit(results.every(Boolean) ? 0 : 1)
