/** Runs the cases of hostile code over each transport, in processes that report uncaught errors. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { after, describe, it } from 'node:test'
import { isMissing, within } from '@elysia-microservices/test-support'
import { ENGINES } from '../engines/engines.ts'
import { ownCommand, type Runtime } from '../support/runtimes.ts'
import { testsFolder, underBun } from '../workspace.ts'
import { ON_SOCKETS, type Share, TRANSPORT_NAMES, type TransportName } from './case.ts'
import { CASES } from './cases.ts'

/** Milliseconds for all cases of a transport. */
const PATIENCE = 280_000
/**
 * How many characters of its stderr are shown when the process of a transport has ended before its time. Most of them
 * are log lines that could not be written.
 */
const LAST_WORDS = 2_000

const PROGRAM = 'hostile-code/program'

type Command = readonly [string, ...string[]]

interface Result {
  readonly name: string
  readonly problems: readonly string[]
}

/**
 * Runs all cases over a transport. Returns the problems of each case, by the name of the case, as soon as they are
 * known.
 */
function run([executable, ...rest]: Command, transport: TransportName, { of, turn }: Share) {
  const results = new Map<string, readonly string[]>()
  const child = spawn(executable, [...rest, transport, `${of},${turn}`], {
    cwd: testsFolder,
    stdio: ['ignore', 'pipe', 'pipe']
  })
  const lines = createInterface({ input: child.stdout })
  lines.on('line', (line) => {
    const { name, problems } = JSON.parse(line) as Result
    results.set(name, problems)
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-LAST_WORDS)
  })
  const ended = Promise.all([once(child, 'exit'), once(lines, 'close')]).then(
    ([[code, signal]]) => `The process of the cases ended with ${signal ?? code} before this one: ${said}`
  )
  return { results, ended, stop: () => child.kill('SIGKILL') }
}

/**
 * On a push, each transport has a ninth of the recipes at each place, on one runtime. Over all engines the same code
 * in `engines/engine` deals with what users' code does.
 */
const ON_A_PUSH: readonly { readonly transport: TransportName; readonly isOnBun: boolean }[] = [
  { transport: 'RSocket', isOnBun: true },
  { transport: "Nest's wire", isOnBun: false },
  { transport: 'NATS', isOnBun: true }
]

/** The number of shares of which each of these transports has one; the others are left to the night. */
const SHARES = 9

/**
 * Declares the tests.
 * @param areShared whether at each place only a third of the recipes are tried, each over one transport on one runtime,
 * not all of them over all on both
 */
export function testHostileCode(areShared: boolean): void {
  const shares = areShared
    ? ON_A_PUSH.map((each, turn) => ({ ...each, of: SHARES, turn }))
    : TRANSPORT_NAMES.map((transport) => ({ transport, isOnBun: underBun, of: 1, turn: 0 }))
  for (const { transport, isOnBun, ...share } of shares) {
    const engine = ENGINES.find(({ title }) => title === transport)
    if (isOnBun !== underBun || isMissing(`hostile code on ${transport}`, engine?.missing)) continue
    testTransport(transport, share, `hostile code on ${transport}`, async () => ownCommand(PROGRAM))
  }
}

/** Declares the tests of the transports on sockets, on another runtime. */
export function testHostileCodeOn({ name, commandOf }: Runtime): void {
  for (const transport of ON_SOCKETS)
    testTransport(transport, { of: 1, turn: 0 }, `hostile code on ${transport}, on ${name}`, () =>
      commandOf(PROGRAM)
    )
}

function testTransport(
  transport: TransportName,
  share: Share,
  title: string,
  commandOf: () => Promise<Command>
): void {
  describe(title, () => {
    let running: Promise<ReturnType<typeof run>> | undefined
    const problemsOf = async (name: string) => {
      running ??= commandOf().then((command) => run(command, transport, share))
      const { results, ended } = await running
      const how = await within(ended, `all cases on ${transport}`, PATIENCE)
      return results.get(name) ?? [how]
    }
    after(async () => (await running)?.stop())

    for (const { name, on } of CASES) {
      if (on?.(transport) === false) continue
      it(name, { timeout: PATIENCE }, async () => assert.deepEqual(await problemsOf(name), []))
    }

    it('leaves nothing behind at the end', async () => assert.deepEqual(await problemsOf('the end'), []))
  })
}
