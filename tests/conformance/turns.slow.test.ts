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
import { ownCommand } from '../support/runtimes.ts'
import { testsFolder } from '../workspace.ts'
import { areShared, casesOf } from './turns/cases.ts'

/**
 * The transports whose code differs. All engines share the code of the last two. On a push, Node tries those with sockets
 * of its own: the others run the same code there as on Bun.
 */
const NAMES = areShared
  ? ['RSocket', 'WebSocket']
  : ['memory()', 'RSocket', 'WebSocket', "Nest's wire", 'NATS', 'Hub']
/** Milliseconds without another result after which a process counts as frozen. */
const PATIENCE = 90_000

/** Runs the cases of transports, one after the other, in another process. */
function start(transports: readonly string[]) {
  const problems = new Map<string, readonly string[]>()
  let hasEnded = false
  const [executable, ...rest] = ownCommand('conformance/turns/program')
  const program = spawn(executable, [...rest, ...transports], {
    cwd: testsFolder,
    stdio: ['ignore', 'pipe', 'inherit']
  })
  createInterface({ input: program.stdout }).on('line', (line) => {
    const { on, name, problems: found } = JSON.parse(line) as Record<string, string> & { problems: string[] }
    problems.set(`${on}: ${name}`, found)
  })
  void once(program, 'close').then(() => {
    hasEnded = true
  })
  return {
    /** The problems of a case; `undefined`: the process is frozen, or has ended. */
    async problemsOf(what: string): Promise<readonly string[] | undefined> {
      await until(what, () => problems.has(what) || hasEnded, PATIENCE).catch(() => {})
      return problems.get(what)
    },
    stop: () => program.kill('SIGKILL')
  }
}

const tried = TRANSPORTS.filter(
  ({ name, missing }) => NAMES.includes(name) && !isMissing(`turns of the event loop over ${name}`, missing)
)
/** The process that runs now. */
let running: ReturnType<typeof start> | undefined
/** The place of the transport in whose cases the last process froze or ended. */
let frozen = -1

async function problemsOf(place: number, what: string): Promise<readonly string[]> {
  if (place === frozen) return ['The process froze or ended in an earlier case']
  const names = tried.map(({ name }) => name)
  running ??= start(names.slice(place))
  const found = await running.problemsOf(`${names[place]}: ${what}`)
  if (found !== undefined) return found
  // The next transport gets a new process.
  running.stop()
  running = undefined
  frozen = place
  return ['The process is frozen, or has ended']
}

after(() => running?.stop())

for (const [place, transport] of tried.entries())
  describe(`over ${transport.name}, the event loop has its turns with a source that never waits`, () => {
    for (const { name } of casesOf(transport))
      it(name, { timeout: 2 * PATIENCE }, async () => assert.deepEqual(await problemsOf(place, name), []))
  })
