/** Tests that connections in their TLS handshakes count for `limits.connections`. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { describe, it } from 'node:test'
import * as certificates from '../testing/certificates.ts'
import { closed, Ends, SOCKETS } from '../testing/ends.ts'
import { MOST_TOLD } from './refused-connections.ts'

const { authority, service } = certificates

for (const [name, sockets] of SOCKETS)
  describe(`TLS handshakes that never end, with sockets of ${name}`, () => {
    it('count as connections; the oldest ones are closed, and honest clients are served', async () => {
      const ends = new Ends(sockets)
      const limit = 2
      const server = await ends.server({ tls: service, limits: { connections: limit } })
      const { port } = server.address!
      const half: net.Socket[] = []
      const connect = async () => {
        const socket = net.connect(port, '127.0.0.1')
        socket.on('error', () => {})
        half.push(socket)
        await once(socket, 'connect')
        // The beginning of a handshake.
        socket.write('\x16')
      }
      await connect()
      const oldest = closed(half[0] as net.Socket)
      while (half.length < limit + MOST_TOLD + 3) await connect()
      await oldest
      const client = ends.client(port, { tls: { ca: authority } })
      assert.equal(await client.request('echo', 1), 1)
      const { connections, refused } = server.stats()
      assert.ok(connections.current <= limit + MOST_TOLD, `${connections.current} connections`)
      assert.ok(connections.current > limit, `${connections.current} connections`)
      assert.ok(refused.connections >= 3, `${refused.connections} refused`)
      for (const socket of half) socket.destroy()
      await ends.close()
    })
  })
