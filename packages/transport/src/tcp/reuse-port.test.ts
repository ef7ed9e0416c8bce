import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NO_HANDLER } from '../dispatch.ts'
import { TcpServer } from './server.ts'

const nobody = { request: () => NO_HANDLER, event() {} }
const canShare = process.versions['bun'] !== undefined && process.platform === 'linux'

describe('a port', () => {
  it('belongs to one server, unless both say otherwise', async () => {
    for (const [first, second] of [
      [false, false],
      [false, true],
      [true, false]
    ]) {
      const server = new TcpServer({ host: '127.0.0.1', port: 0, reusePort: first })
      await server.start(nobody)
      const other = new TcpServer({ host: '127.0.0.1', port: server.address!.port, reusePort: second })
      await assert.rejects(other.start(nobody), { name: 'ListenError', code: 'EADDRINUSE' })
      await server.stop()
    }
  })

  if (canShare)
    it('is shared with reusePort', async () => {
      const server = new TcpServer({ host: '127.0.0.1', port: 0, reusePort: true })
      await server.start(nobody)
      const other = new TcpServer({ host: '127.0.0.1', port: server.address!.port, reusePort: true })
      await other.start(nobody)
      assert.deepEqual(other.address, server.address)
      await server.stop()
      await other.stop()
    })

  it('is what reusePort is about, not a Unix socket', () => {
    const refused = { name: 'ValidationError', path: 'options.reusePort' }
    assert.throws(() => new TcpServer({ path: '/tmp/a.sock', reusePort: true }), refused)
    assert.throws(() => new TcpServer({ reusePort: 1 as never }), refused)
  })
})
