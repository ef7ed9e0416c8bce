/**
 * The event loop has its turns, whatever happens to a source that never waits: each kind of source, as an answer and as
 * a channel, meets each end of its connection, over each transport. A process that freezes cannot judge itself, so the
 * cases run in processes of their own.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { after, describe, it } from 'node:test'
import { isMissing, until } from '@elysia-microservices/test-support'
import { TRANSPORTS } from '../calls/transports.ts'
import { programFile, testsFolder } from '../workspace.ts'
import { casesOf } from './turns/cases.ts'

/** The transports whose code differs. All engines share the code of these two. */
const NAMES = ['memory()', 'RSocket', 'WebSocket', "Nest's wire", 'NATS', 'Hub']
/** Milliseconds without another result after which a process counts as frozen. */
const PATIENCE = 90_000

/** Runs the cases of a transport in another process. */
function start(transport: string) {
  const problems = new Map<string, readonly string[]>()
  let ended: string | undefined
  const program = spawn(process.execPath, [programFile('conformance/turns/program'), transport], {
    cwd: testsFolder,
    stdio: ['ignore', 'pipe', 'inherit']
  })
  createInterface({ input: program.stdout }).on('line', (line) => {
    const result = JSON.parse(line) as { readonly name: string; readonly problems: readonly string[] }
    problems.set(result.name, result.problems)
  })
  void once(program, 'close').then(([code, signal]) => {
    ended = `The process of the cases has ended (${signal ?? code})`
  })
  return {
    async problemsOf(name: string): Promise<readonly string[]> {
      await until(name, () => problems.has(name) || ended !== undefined, PATIENCE).catch(() =>
        program.kill('SIGKILL')
      )
      return problems.get(name) ?? [ended ?? 'The process is frozen']
    },
    stop: () => program.kill('SIGKILL')
  }
}

for (const transport of TRANSPORTS) {
  const { name, missing } = transport
  if (!NAMES.includes(name) || isMissing(`turns of the event loop over ${name}`, missing)) continue
  describe(`over ${name}, the event loop has its turns with a source that never waits`, () => {
    let running: ReturnType<typeof start> | undefined
    after(() => running?.stop())

    for (const { name: what } of casesOf(transport))
      it(what, { timeout: 2 * PATIENCE }, async () => {
        running ??= start(name)
        assert.deepEqual(await running.problemsOf(what), [])
      })
  })
}
