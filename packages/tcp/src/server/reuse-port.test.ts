import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { RecordingLogger, TestDispatcher } from '@elysia-microservices/rsocket/testing'
import { newServer } from '../testing/ends.ts'

const logger = new RecordingLogger()
const nobody = new TestDispatcher()
const canShare = process.versions['bun'] !== undefined && process.platform === 'linux'

describe('a port', () => {
  it('belongs to one server, unless both say otherwise', async () => {
    for (const [first, second] of [
      [false, false],
      [false, true],
      [true, false]
    ]) {
      const server = newServer({ host: '127.0.0.1', port: 0, reusePort: first }, logger)
      await server.start(nobody)
      const other = newServer({ host: '127.0.0.1', port: server.address!.port, reusePort: second }, logger)
      await assert.rejects(other.start(nobody), { name: 'ListenError', code: 'EADDRINUSE' })
      await server.stop()
    }
  })

  if (canShare)
    it('is shared with reusePort', async () => {
      const server = newServer({ host: '127.0.0.1', port: 0, reusePort: true }, logger)
      await server.start(nobody)
      const other = newServer({ host: '127.0.0.1', port: server.address!.port, reusePort: true }, logger)
      await other.start(nobody)
      assert.deepEqual(other.address, server.address)
      await server.stop()
      await other.stop()
    })

  it('is what reusePort is about, not a Unix socket', () => {
    const refused = { name: 'OptionError', path: 'options.reusePort' }
    assert.throws(() => newServer({ path: '/tmp/a.sock', reusePort: true }, logger), refused)
    assert.throws(() => newServer({ reusePort: 1 as never }, logger), refused)
  })
})
