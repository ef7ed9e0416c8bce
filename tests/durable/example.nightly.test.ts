/** examples/durable-events as its README describes it: an application and scripts, each in its own process. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, it } from 'node:test'
import { isMissing, until } from '@elysia-microservices/test-support'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'
import { rootFolder, underBun } from '../workspace.ts'

const folder = join(rootFolder, 'examples/durable-events', underBun ? '' : 'dist')
const extension = underBun ? 'ts' : 'js'

/** A program of the example, and its output. */
class Program {
  readonly lines: string[] = []
  hasExited = false
  readonly exited: Promise<unknown[]>
  readonly #child: ChildProcess

  constructor(name: string, flags: readonly string[], env: Readonly<Record<string, string>>) {
    const file = join(folder, `${name}.${extension}`)
    this.#child = spawn(process.execPath, [file, ...flags], {
      cwd: folder,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe']
    })
    // The log is shown only if the test fails.
    for (const stream of [this.#child.stdout!, this.#child.stderr!])
      createInterface(stream).on('line', (line) => this.lines.push(line))
    this.exited = once(this.#child, 'close').finally(() => {
      this.hasExited = true
    })
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }
}

if (!isMissing('the example of durable events', natsMissing())) {
  describe('the example of durable events', () => {
    let server: NatsServerProcess
    let store: string
    const programs: Program[] = []

    function start(name: string, flags: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
      const program = new Program(name, flags, { NATS_URL: server.url, ...env })
      programs.push(program)
      return program
    }

    /** Runs a script to its end. @returns its exit code and its output */
    async function run(name: string, ...flags: string[]) {
      const program = start(name, flags)
      const [code] = await program.exited
      return { code, lines: program.lines }
    }

    async function application(bank: string): Promise<Program> {
      const app = start('main', [], { BANK: bank })
      await until('It listens', () => {
        assert.ok(!app.hasExited, app.lines.join('\n'))
        return app.lines.includes('listening')
      })
      return app
    }

    before(async () => {
      store = await mkdtemp(join(tmpdir(), 'example-'))
      server = await NatsServerProcess.start('-js', '-sd', store)
    })
    after(async () => {
      for (const program of programs) program.kill('SIGKILL')
      await server.stop()
      await rm(store, { recursive: true })
    })

    it('books payments that are published, and failed ones after they are redriven', async () => {
      const closed = await application('closed')
      assert.deepEqual(await run('publish', 'settled-7', 'ada', '1200'), { code: 0, lines: ['stored at 1'] })
      assert.deepEqual(await run('publish', 'settled-7', 'ada', '1200'), {
        code: 0,
        lines: ['was stored already']
      })
      const list = () => run('dead-letters', 'billing')
      await until('It is a dead letter', () =>
        closed.lines.some((line) => line.includes('becomes a dead letter'))
      )
      await until('It is listed', async () => (await list()).lines.length === 1)
      assert.match(
        (await list()).lines[0] as string,
        / payments\.settled settled-7 3 attempts .*the bank is closed$/
      )
      const { code, lines } = await run('dead-letters', 'billing', 'show', '1')
      assert.equal(code, 0)
      assert.deepEqual(JSON.parse(lines.join('\n')).data, { account: 'ada', cents: 1200 })
      assert.deepEqual(await run('dead-letters', 'billing', 'discard', '9'), {
        code: 1,
        lines: ['There is no dead letter 9 of billing']
      })
      closed.kill('SIGTERM')
      await closed.exited

      assert.deepEqual(await run('dead-letters', 'billing', 'redrive', 'all'), { code: 0, lines: [] })
      const open = await application('open')
      await until('It is booked', () => open.lines.includes('ada: 1200 cents booked, attempt 1'))
      assert.deepEqual(await list(), { code: 0, lines: [] })
      open.kill('SIGTERM')
      await open.exited
    })
  })
}
