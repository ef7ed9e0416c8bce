/** The command line over an engine: services by name, dead letters, and the error if a package is missing. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { RunningEngine } from '@elysia-microservices/engine-tests'
import { until } from '@elysia-microservices/test-support'
import { microservice } from 'elysia-microservices'
import { connect, type StoringTransport } from 'elysia-microservices/client'
import { overEngines } from '../engines/needs.ts'
import { STAND_INS } from '../engines/stand-ins.ts'
import { rootFolder } from '../workspace.ts'

const PLUGIN = join(rootFolder, 'packages/elysia-microservices')

interface Ended {
  readonly code: number
  readonly out: string
  readonly error: string
}

function program(args: readonly string[], file = join(PLUGIN, 'lib/program.js'), cwd = rootFolder) {
  return new Promise<Ended>((resolve) => {
    execFile('node', [file, ...args], { cwd, timeout: 30_000 }, (error, out, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, error: stderr })
    )
  })
}

it('without the package of the engine, one line says what to install', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'elysia-microservices-alone-'))
  try {
    mkdirSync(join(folder, 'lib'))
    cpSync(join(PLUGIN, 'lib/program.js'), join(folder, 'lib/program.mjs'))
    const { code, out, error } = await program(['--help'], join(folder, 'lib/program.mjs'), folder)
    assert.deepEqual([code, out], [2, ''])
    assert.equal(
      error,
      'The command line is a separate package: npm install --save-dev @elysia-microservices/cli\n'
    )
  } finally {
    rmSync(folder, { recursive: true })
  }
})

overEngines(
  'the command line',
  ['stores', 'server', 'browses'],
  ({ name: scheme, title, start }) => {
    describe(`the command line over ${title}`, () => {
      let engine: RunningEngine
      let url: string
      const quiet = { error() {}, warn() {} }
      const stops: (() => Promise<void>)[] = []
      const run = (...args: string[]) => program(args)
      before(async () => {
        engine = await start()
        url = `${scheme}://127.0.0.1:${engine.port}`
        const started = async (name: string) => {
          const transport = engine.transport()
          const service = microservice({ name, transport, describe: true, logger: quiet })
            .message(`${name}.ping`, () => `${name}\u202edetrevni\u2066`)
            .event(
              `${name}.placed`,
              () => {
                throw new Error('no \u202estock')
              },
              { durable: { group: name, retry: { attempts: 1 } } }
            )
          await service.listen()
          stops.push(() => service.stop())
          return service
        }
        await started('payments')
        await started('notifications')
      })
      after(async () => {
        for (const stop of stops.reverse()) await stop()
        await engine.close()
      })

      it('makes calls, and removes characters that change the direction of text from its output', async () => {
        const { code, out } = await run('call', url, 'payments.ping')
        assert.deepEqual([code, out], [0, '"payments\\u202edetrevni\\u2066"\n'])
        assert.equal(JSON.parse(out), 'payments\u202edetrevni\u2066')
      })

      it('describes services by their names, and requires a name', async () => {
        for (const name of ['payments', 'notifications']) {
          const { out } = await run('describe', url, `--service=${name}`, '--json')
          const { name: said, instance } = JSON.parse(out) as { name: string; instance: string }
          assert.equal(said, name)
          const one = await run('health', url, `--service=${name}`, `--instance=${instance}`)
          assert.deepEqual([one.code, one.out], [0, 'listening\n'])
        }
        const anybody = await run('describe', url)
        assert.equal(anybody.code, 2)
        assert.match(anybody.error, /--service=<name>/)
        assert.equal((await run('health', url)).out, 'connected\n')
        assert.equal((await run('health', url, '--service=nobody')).code, 5)
      })

      it('lists, redrives and deletes dead letters', async () => {
        const client = connect({ transport: engine.transport() as StoringTransport, logger: quiet })
        stops.push(() => client.close())
        const count = async () => {
          let n = 0
          for await (const _ of client.group('payments').deadLetters.list()) n++
          return n
        }
        for (const id of ['a', 'b', 'c']) await client.publish('payments.placed', { id }, { id })
        await until('three dead letters', async () => (await count()) === 3)
        const listed = await run('dead-letters', 'list', url, 'payments')
        assert.match(listed.out, /^position +pattern +id +attempts +died +reason\n/)
        const rows = listed.out.trim().split('\n')
        assert.deepEqual(
          [rows.length, rows.slice(4)],
          scheme === 'nats' ? [5, ['0 events wait for the group']] : [4, []]
        )
        assert.ok(!listed.out.includes('\u202e'))
        const lines = (await run('dead-letters', 'list', url, 'payments', '--json')).out.trim().split('\n')
        const letters = lines.map((line) => JSON.parse(line) as { position: string; id: string })
        // Dead letters are listed in the order in which they failed; events without a key have no fixed order.
        assert.deepEqual(letters.map(({ id }) => id).sort(), ['a', 'b', 'c'])
        const [first] = letters
        const discarded = await run('dead-letters', 'discard', url, 'payments', first!.position)
        assert.deepEqual([discarded.code, discarded.out], [0, `${first!.position}: discarded\n`])
        assert.equal(await count(), 2)
        const again = await run('dead-letters', 'discard', url, 'payments', first!.position)
        assert.deepEqual([again.code, again.out], [1, `${first!.position}: not there\n`])
        const redriven = await run('dead-letters', 'redrive', url, 'payments', '--all')
        assert.equal(redriven.code, 0)
        assert.equal(redriven.out.match(/redriven/g)?.length, 2)
        await until('both have failed once more', async () => (await count()) === 2)
        for (const [args, said] of [
          [['dead-letters', url], /must be followed by one of list, redrive, discard/],
          [['dead-letters', 'redrive', url, 'payments'], /needs positions/],
          [['dead-letters', 'list', url], /name of a group/]
        ] as const) {
          const { code, error } = await run(...args)
          assert.equal(code, 2)
          assert.match(error, said)
        }
      })

      it('fails at once if the engine cannot be reached, and names it', async () => {
        const { code, error } = await run('call', `${scheme}://127.0.0.1:1`, 'x')
        assert.equal(code, 3, error)
      })
    })
  },
  STAND_INS
)
