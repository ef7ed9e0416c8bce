/**
 * Nothing that users' code does harms anybody else: whatever it gives, throws or never ends, its call is answered with
 * no word of it, a good caller on the same connection is answered, and no place is lost. Each transport runs in a process
 * of its own, which reports what nobody caught.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { after, describe, it } from 'node:test'
import { isMissing } from '../support/missing.ts'
import { natsMissing } from '../support/nats-server.ts'
import { within } from '../support/within.ts'
import { programFile, testsFolder } from '../workspace.ts'
import { TRANSPORT_NAMES, type TransportName } from './case.ts'
import { CASES } from './cases.ts'

/** Milliseconds for all cases of a transport. */
const PATIENCE = 280_000

interface Result {
  readonly name: string
  readonly problems: readonly string[]
}

/** Runs all cases over a transport. Gives what was wrong, by the name of the case, as it becomes known. */
function run(transport: TransportName) {
  const results = new Map<string, readonly string[]>()
  const child = spawn(process.execPath, [programFile('hostile-code/program'), transport], {
    cwd: testsFolder,
    // Lines that could not be logged go to stderr.
    stdio: ['ignore', 'pipe', 'ignore']
  })
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
  lines.on('line', (line) => {
    const { name, problems } = JSON.parse(line) as Result
    results.set(name, problems)
  })
  const ended = Promise.all([once(child, 'exit'), once(lines, 'close')])
  return { results, ended, stop: () => child.kill('SIGKILL') }
}

for (const transport of TRANSPORT_NAMES) {
  if (transport === 'NATS' && isMissing('hostile code on NATS', natsMissing())) continue
  describe(`hostile code on ${transport}`, () => {
    let running: ReturnType<typeof run> | undefined
    const problemsOf = async (name: string) => {
      running ??= run(transport)
      const { results, ended } = running
      await within(ended, `all cases on ${transport}`, PATIENCE)
      return results.get(name)
    }
    after(() => running?.stop())

    for (const { name, on } of CASES) {
      if (on?.includes(transport) === false) continue
      it(name, { timeout: PATIENCE }, async () => assert.deepEqual(await problemsOf(name), []))
    }

    it('leaves nothing behind at the end', async () => assert.deepEqual(await problemsOf('the end'), []))
  })
}
