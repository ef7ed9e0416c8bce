/**
 * `bun --hot`: after an edit, HTTP and messages are handled by the new code, and calls in flight are still answered.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { freePort, Log, within } from '@elysia-microservices/test-support'
import { connect, type UntypedClient } from 'elysia-microservices/client'
import { bun, testsFolder } from '../workspace.ts'

// Inside the folder of the tests, where the program finds the packages.
const folder = mkdtempSync(path.join(testsFolder, '.hot-'))
after(() => rmSync(folder, { recursive: true }))

/** The program in one of its versions. */
const program = (version: string, http: number, messages: number) => `
import { Elysia } from 'elysia'
import { microservice } from 'elysia-microservices'

const service = microservice({ transport: 'tcp', host: '127.0.0.1', port: ${messages} })
  .message('version', () => '${version}')
  .message('slow', () => new Promise((resolve) => {
    globalThis.answer = () => resolve('begun in ${version}')
    console.log('${version} waits')
  }))
  .message('answer', () => globalThis.answer())
new Elysia().use(service).get('/', () => '${version}').listen(${http})
await service.listen()
console.log('${version} listens')
`

for (const protocol of ['rsocket', 'nest'] as const) {
  describe(`bun --hot, ${protocol}`, () => {
    it('serves the new code after each edit, and finishes the calls that the old code has begun', async () => {
      const [http, messages] = [await freePort(), await freePort()]
      const file = path.join(folder, `${protocol}.ts`)
      // Writes the file in one step, as editors do: otherwise Bun might load a half-written file.
      const edit = (version: string) => {
        writeFileSync(`${file}.new`, program(version, http, messages))
        renameSync(`${file}.new`, file)
      }
      edit('v1')
      const log = new Log()
      const running = spawn(bun, ['--hot', file], { stdio: ['ignore', 'pipe', 'pipe'] })
      for (const stream of [running.stdout, running.stderr])
        stream.setEncoding('utf8').on('data', (text: string) => log.add(text))
      const said = (text: string) => within(log.has(text), text)
      await said('v1 listens')
      const clients: UntypedClient[] = []
      const connected = () => {
        const client = connect({ host: '127.0.0.1', port: messages, protocol })
        clients.push(client)
        return client
      }
      // A busy Bun may load an edited program twice. With NestJS's protocol over TCP, a server cannot announce that
      // it stops: a request on a closing connection is retried, but an event would be lost.
      const version = (of: UntypedClient) => of.request('version', undefined, { idempotent: true })
      const client = connected()
      try {
        for (const [current, next] of [
          ['v1', 'v2'],
          ['v2', 'v3']
        ] as const) {
          assert.equal(await version(client), current)
          const slow = client.request('slow', undefined, { idempotent: true })
          await said(`${current} waits`)
          edit(next)
          await said(`${next} listens`)
          assert.equal(await (await fetch(`http://localhost:${http}`)).text(), next)
          const other = connected()
          assert.equal(await version(other), next)
          await other.request('answer', null, { idempotent: true })
          assert.equal(await slow, `begun in ${current}`)
          assert.equal(await version(client), next)
        }
        assert.deepEqual(
          log.lines.filter((line) => line.includes('EADDRINUSE')),
          []
        )
      } finally {
        await Promise.all(clients.map((client) => client.close()))
        running.kill('SIGKILL')
        await once(running, 'exit')
      }
    })
  })
}
