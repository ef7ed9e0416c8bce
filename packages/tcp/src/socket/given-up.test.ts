import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { describe, it } from 'node:test'
import { nativeSockets } from './index.ts'
import { nodeSockets } from './node.ts'
import type { SocketRuntime } from './socket.ts'

const sockets: readonly [string, SocketRuntime][] = [
  ['of the runtime', nativeSockets],
  ['of node:net', nodeSockets]
]

describe('an attempt to connect that is given up before it begins', () => {
  for (const [name, { connect }] of sockets)
    it(`makes no connection, with sockets ${name}`, async () => {
      let connections = 0
      const server = net.createServer((socket) => {
        connections++
        socket.on('error', () => {}).on('data', () => {})
      })
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      const { port } = server.address() as net.AddressInfo
      const reason = new Error('the client was closed')
      const attempt = connect(
        { host: '127.0.0.1', port, path: undefined, tls: undefined },
        () => assert.fail('it connected'),
        AbortSignal.abort(reason)
      )
      await assert.rejects(attempt, reason)
      // The aborted attempt made no connection, so the next connection is the first one.
      const next = net.connect(port, '127.0.0.1')
      await once(server, 'connection')
      assert.equal(connections, 1)
      next.destroy()
      server.close()
    })
})
