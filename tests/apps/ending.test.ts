/**
 * A process ends after SIGTERM, whatever it contains; the log names what keeps it alive if the program does so
 * itself.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { after, describe, it } from 'node:test'
import { isMissing, isOnPush, within } from '@elysia-microservices/test-support'
import { underBun } from '../workspace.ts'
import { Endings, PROCESSES, type Runtime, rowOf, stoppingPage } from './ending.ts'

// Deno runs the same compiled programs as Node, so the tests under Node start both, but on a push only Node.
const runtimes: readonly Runtime[] = underBun ? ['Bun'] : isOnPush ? ['Node'] : ['Node', 'Deno']

/** The only processes on Deno, and on a push. Each part is in at least one of them. */
const FEW = [PROCESSES[0]!, ['http', 'no shutdownOn'], ['http', 'client', 'open stream'], PROCESSES.at(-1)!]

for (const runtime of runtimes) {
  describe(`a process on ${runtime}, after SIGTERM`, () => {
    const endings = new Endings()
    after(() => endings.close())

    for (const parts of isOnPush || runtime === 'Deno' ? FEW : PROCESSES) {
      const what = ['a service', ...parts].join(', ')
      if (isMissing(`the end of a process with ${what}`, endings.missing(parts))) continue
      it(`ends: ${what}`, async () => {
        const { code, log } = await endings.measure(runtime, parts)
        // Bun without a listener for the signal is ended by the signal itself, so there is no exit code.
        const expected = runtime === 'Bun' && parts.includes('no shutdownOn') ? null : 0
        assert.equal(code, expected, log.lines.join('\n'))
      })
    }

    for (const parts of [['hooks'], ['hooks', 'http'], ['hooks', 'http', 'interval', 'client']]) {
      it(`ends when its stop hooks have ended: ${['a service', ...parts].join(', ')}`, async () => {
        const { code, log } = await endings.measure(runtime, parts)
        assert.equal(code, 0, log.lines.join('\n'))
        const said = log.lines.filter((line) => /^(the pool|spans|the app|ready)/.test(line))
        const service = ['the pool closes', 'the pool has closed', 'spans are sent']
        assert.deepEqual(said.slice(0, 2), ['the pool is open', 'ready'])
        assert.deepEqual(
          said.filter((line) => service.includes(line)),
          service
        )
        const app = said.filter((line) => line.startsWith('the app'))
        assert.deepEqual(app, parts.includes('http') ? ['the app stops', 'the app has stopped'] : [])
      })
    }

    it('ends although a stop hook never ends, and names the hook', async () => {
      const { code, log } = await endings.measure(runtime, ['hooks', 'endless hook', 'http'])
      assert.equal(code, 0)
      assert.match(log.lines.join('\n'), /stops without waiting longer for onStop\(flush\)/)
    })

    it('answers the HTTP request that is in flight', async () => {
      const { child, log, port } = await endings.start(runtime, ['http', 'interval'])
      const exited = once(child, 'exit')
      const answer = fetch(`http://127.0.0.1:${port}/slow`, { headers: { connection: 'close' } })
      await within(log.has('http waits'), 'The request')
      child.kill('SIGTERM')
      assert.deepEqual(await within(exited, 'The end'), [0, null])
      assert.equal(await (await answer).text(), 'answered')
    })

    it('logs what keeps it alive if the program listens to the signal itself', async () => {
      const { child, log } = await endings.start(runtime, ['http', 'interval', 'own listener'])
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await within(log.has('the program listens to SIGTERM itself'), 'The line')
      // Bun has no API that lists what keeps a process alive.
      if (runtime !== 'Bun') assert.match(log.lines.join('\n'), /1 Timeout \(a timer or an interval\)/)
      child.kill('SIGKILL')
      await exited
    })
  })
}

describe('the table of docs/stopping.md', () => {
  it('has each of these processes', () => {
    const page = readFileSync(stoppingPage, 'utf8')
    assert.deepEqual(
      PROCESSES.map(rowOf).filter((row) => !page.includes(`\n${row}`)),
      []
    )
  })
})
