/** Every case of the tables, against a NestJS 12 server, against ours, and against NestJS with our transport. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Case, Expected } from './case.ts'
import { events } from './cases/events.ts'
import { framing } from './cases/framing.ts'
import { packets } from './cases/packets.ts'
import { patterns } from './cases/patterns.ts'
import { responses } from './cases/responses.ts'
import { ConformanceController, seen } from './controller.ts'
import { type RunningServer, SERVERS, startOurs, startOursInNest } from './harness/servers.ts'
import { WirePeer } from './harness/wire.ts'

const TABLES: Record<string, readonly Case[]> = { responses, packets, patterns, framing, events }

async function check(server: RunningServer, send: Case['send'], expected: Expected): Promise<void> {
  const { frames = [], closes, logs } = expected
  seen.length = 0
  const peer = await WirePeer.connect(server.port)
  try {
    await peer.send(...send)
    await peer.received(frames.length)
    if (closes) await peer.ended()
    else await peer.settle()
    assert.equal(peer.closed, closes ?? false, 'whether the server ended the connection')
    assert.deepEqual(peer.frames, frames)
    if (logs !== undefined) await server.logged(logs)
    if (expected.seen !== undefined) assert.deepEqual(seen, expected.seen)
  } finally {
    peer.close()
  }
}

for (const [name, start] of SERVERS) {
  describe(`a server of ${name}`, () => {
    let server: RunningServer
    before(async () => {
      server = await start([ConformanceController])
    })
    after(() => server.stop())

    for (const [topic, cases] of Object.entries(TABLES)) {
      describe(topic, () => {
        for (const { name, send, expected, ours } of cases) {
          const differs = start === startOurs || (start === startOursInNest && ours?.alone !== true)
          const deliberate = ours !== undefined && differs
          it(deliberate ? `${name} (on purpose not as Nest: ${ours.because})` : name, async () => {
            await check(server, send, deliberate ? ours : expected)
          })
        }
      })
    }
  })
}
