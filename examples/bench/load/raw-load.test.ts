import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Socket } from 'bun'
import { Meter } from './meter.ts'
import { encodeEchoRequests } from './nest-frames.ts'
import { RawLoad } from './raw-load.ts'

const PAYLOAD = 'abc'
const { frameLength } = encodeEchoRequests(PAYLOAD, 1)

/** A server that answers each request with `json`, and calls the function after each chunk. */
function serve(json: string, afterChunk: (requests: number, socket: Socket) => void) {
  let received = 0
  let answered = 0
  return Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket, chunk) {
        received += chunk.length
        const complete = Math.floor(received / frameLength)
        socket.write(`${json.length}#${json}`.repeat(complete - answered))
        answered = complete
        afterChunk(complete, socket)
      }
    }
  })
}

const open = (port: number, meter: Meter, pipeline: number) =>
  RawLoad.open({ host: '127.0.0.1', port, connections: 1, pipeline, payload: PAYLOAD, meter })

describe('a raw load', () => {
  const echo = `{"response":"${PAYLOAD}","isDisposed":true,"id":"${'0'.repeat(21)}"}`

  it('keeps its requests outstanding and counts the answers', async () => {
    const enough = Promise.withResolvers<void>()
    using server = serve(echo, (requests) => requests >= 500 && enough.resolve())
    const meter = new Meter()
    const load = await open(server.port, meter, 10)
    meter.start()
    load.start()
    await enough.promise
    await load.finish(10_000)
    meter.stop()
    await load.close()
    assert.ok(meter.completed >= 500)
    assert.equal(meter.errors, 0)
    assert.ok(meter.latencies().max! > 0)
  })

  it('counts wrong answers, and waits before it sends again', async () => {
    const again = Promise.withResolvers<void>()
    using server = serve('{"err":"no"}', (requests) => requests >= 20 && again.resolve())
    const meter = new Meter()
    const load = await open(server.port, meter, 10)
    load.start()
    await again.promise
    await load.finish(10_000)
    await load.close()
    assert.deepEqual([meter.answered, meter.errors], [0, 20])
    assert.match(meter.firstError!, /wrong answer/)
  })

  it('counts unanswered requests of a lost connection, and connects again', async () => {
    const again = Promise.withResolvers<void>()
    using server = serve(echo, (requests, socket) => {
      if (requests >= 100) again.resolve()
      else if (requests >= 50) socket.terminate()
    })
    const meter = new Meter()
    const load = await open(server.port, meter, 10)
    load.start()
    await again.promise
    await load.finish(10_000)
    await load.close()
    assert.ok(meter.errors >= 10)
    assert.ok(meter.answered > 0)
  })

  it('rejects where nobody listens', async () => {
    const server = serve(echo, () => {})
    const { port } = server
    server.stop()
    await assert.rejects(open(port, new Meter(), 1))
  })
})
