/** How both servers react when a limit is exceeded. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isInCheck } from '@elysia-microservices/test-support'
import { answer } from './case.ts'
import { ConformanceController } from './controller.ts'
import { type Limits, type RunningServer, SERVERS } from './harness/servers.ts'
import { frame, request, WirePeer } from './harness/wire.ts'

for (const [name, start] of SERVERS) {
  // That those of Nest do the same is tried on a push.
  if (isInCheck && name !== 'ours') continue
  describe(`limits of a server of ${name}`, () => {
    /** Runs `test` with a peer of a server that has these limits. */
    async function withLimits(
      limits: Limits,
      test: (peer: WirePeer, server: RunningServer) => Promise<void>
    ) {
      const server = await start([ConformanceController], limits)
      const peer = await WirePeer.connect(server.port)
      try {
        await test(peer, server)
      } finally {
        peer.close()
        await server.stop()
      }
    }

    // 37 characters of JSON, 40 with the header of the frame.
    const forty = frame('{"pattern":"echo","data":12,"id":"I"}')

    it('maxBufferSize counts all pipelined messages of a chunk', async () => {
      assert.equal(forty.length, 40)
      await withLimits({ maxBufferSize: 100 }, async (peer) => {
        await peer.send(forty.repeat(3))
        await peer.ended()
        assert.deepEqual(peer.frames, [])
      })
    })

    it('maxBufferSize lets the same messages pass one by one', async () => {
      await withLimits({ maxBufferSize: 100 }, async (peer) => {
        for (let count = 1; count <= 3; count++) {
          await peer.send(forty)
          await peer.received(count)
        }
        assert.deepEqual(peer.frames, [answer('12'), answer('12'), answer('12')])
      })
    })

    it('maxBufferSize accepts exactly its number of bytes', async () => {
      await withLimits({ maxBufferSize: 40 }, async (peer) => {
        await peer.send(forty)
        await peer.received(1)
        assert.deepEqual(peer.frames, [answer('12')])
      })
    })

    it('maxBufferSize bounds a message that never ends', async () => {
      await withLimits({ maxBufferSize: 100 }, async (peer) => {
        await peer.send(`1000#${'x'.repeat(101)}`)
        await peer.ended()
      })
    })

    it('incompleteMessageTimeout ends a connection whose message stops half-way', async () => {
      await withLimits({ incompleteMessageTimeout: 50 }, async (peer) => {
        await peer.send('100#{"pattern"')
        await peer.ended()
        assert.deepEqual(peer.frames, [])
      })
    })

    it('incompleteMessageTimeout ends a connection whose header stops half-way', async () => {
      await withLimits({ incompleteMessageTimeout: 50 }, async (peer) => {
        await peer.send('10')
        await peer.ended()
      })
    })

    it('incompleteMessageTimeout does not end an idle connection', async () => {
      await withLimits({ incompleteMessageTimeout: 20 }, async (peer) => {
        await peer.send(request('after', { ms: 100, value: 'late' }))
        await peer.received(1)
        await peer.settle()
        assert.deepEqual(peer.frames, [answer('"late"')])
      })
    })

    it('maxSendBufferSize disconnects a client that does not read', async () => {
      await withLimits({ maxSendBufferSize: 1024 * 1024 }, async (peer, server) => {
        peer.pause()
        await peer.send(request('big', 64 * 1024 * 1024))
        await server.logged(server.name === 'nest' ? 'The invalid received message' : 'unsent bytes')
        peer.resume()
        await peer.ended()
        assert.deepEqual(peer.frames, [])
      })
    })
  })
}
