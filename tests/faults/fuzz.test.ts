/** 100,000 inputs that no client would send, while a well-behaved client is answered as usual. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { after, before, describe, it } from 'node:test'
import { type Microservice, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import fc from 'fast-check'

/** At night there are ten times as many inputs. */
const INPUTS = Number(process.env['FUZZ_INPUTS'] ?? 10_000)
const ATTACKERS = 20
const INPUTS_PER_CONNECTION = 5
const SEED = 20_261_121

const nestFrame = (json: string): Buffer => Buffer.from(`${json.length}#${json}`)

function rsocketFrame(streamId: number, type: number, flags: number, body: Uint8Array): Buffer {
  const frame = Buffer.alloc(9 + body.length)
  frame.writeUIntBE(6 + body.length, 0, 3)
  frame.writeUInt32BE(streamId, 3)
  frame.writeUInt16BE((type << 10) | flags, 7)
  frame.set(body, 9)
  return frame
}

const SETUP = rsocketFrame(
  0,
  1,
  0,
  Buffer.concat([
    Buffer.from([0, 1, 0, 0, 0, 0, 0x4e, 0x20, 0, 1, 0x5f, 0x90]),
    Buffer.from('\x27message/x.rsocket.composite-metadata.v0\x10application/json', 'latin1')
  ])
)

const bytes = fc.uint8Array({ maxLength: 60, size: 'max' }).map((content) => Buffer.from(content))
const nestPacket = fc
  .record(
    {
      pattern: fc.oneof(
        fc.constantFrom('echo', 'fail', '__proto__', 'constructor'),
        fc.json({ maxDepth: 2 })
      ),
      data: fc.oneof(
        fc.jsonValue({ maxDepth: 3 }),
        fc.constant(JSON.parse('{"__proto__":{"polluted":true}}'))
      ),
      id: fc.oneof(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 1 })),
      metadata: fc.jsonValue({ maxDepth: 1 })
    },
    { requiredKeys: [] }
  )
  .map((packet) => nestFrame(JSON.stringify(packet)))
const rsocketPacket = fc
  .tuple(
    fc.nat({ max: 9 }),
    fc.nat({ max: 63 }),
    fc.nat({ max: 0x3ff }),
    fc.uint8Array({ maxLength: 40, size: 'max' })
  )
  .map(([streamId, type, flags, body]) => rsocketFrame(streamId, type, flags, body))
const strange = fc.constantFrom(
  nestFrame('['.repeat(5_000)),
  nestFrame(`{"pattern":"echo","data":${'['.repeat(2_000)}${']'.repeat(2_000)},"id":"1"}`),
  Buffer.from('99999999999999999999#{}'),
  Buffer.from('GET / HTTP/1.1\r\nhost: x\r\n\r\n'),
  Buffer.from('-5#{}'),
  Buffer.from([0xff, 0xfe, 0xfd]),
  Buffer.from([0, 0, 0, 0, 0, 0, 0]),
  Buffer.from([8, 255, 255]),
  Buffer.from('16\x03\x01\x02\x00\x01\x00', 'latin1')
)
const valid = fc.oneof({ weight: 5, arbitrary: nestPacket }, { weight: 5, arbitrary: rsocketPacket })
const mutated = fc.tuple(valid, fc.nat(), fc.integer({ min: 0, max: 255 })).map(([frame, place, byte]) => {
  const copy = Buffer.from(frame)
  if (copy.length > 0) copy[place % copy.length] = byte
  return copy
})
const truncated = fc
  .tuple(valid, fc.nat())
  .map(([frame, place]) => frame.subarray(0, place % (frame.length + 1)))
const afterSetup = fc
  .array(fc.oneof(rsocketPacket, mutated), { maxLength: 4 })
  .map((frames) => Buffer.concat([SETUP, ...frames]))
const input = fc.oneof(bytes, valid, mutated, truncated, afterSetup, { weight: 1, arbitrary: strange })

describe('a server under a flood of broken input', () => {
  let service: Microservice
  let port: number
  const logged: string[] = []
  before(async () => {
    const logger = {
      error: (message: string) => void logged.push(message),
      warn: (message: string) => void logged.push(message)
    }
    service = microservice({
      transport: 'tcp',
      host: '127.0.0.1',
      port: 0,
      logger,
      drain: 1_000,
      limits: { incompleteMessage: 2_000 }
    })
      .message('echo', ({ data }) => data)
      .message('fail', () => {
        throw new Error('the handler fails')
      })
      .event('echo', () => {}) as unknown as Microservice
    await service.listen()
    port = service.address!.port
  })
  after(() => service.stop())

  /**
   * Sends inputs, a few over each connection: an input that announces a long message would swallow all inputs behind
   * it.
   */
  async function attack(inputs: readonly Buffer[]): Promise<void> {
    let socket: net.Socket | undefined
    for (const [index, content] of inputs.entries()) {
      if (index % INPUTS_PER_CONNECTION === 0) socket?.destroy()
      if (socket === undefined || socket.destroyed || socket.readableEnded) {
        socket = net.connect({ host: '127.0.0.1', port })
        socket.on('error', () => {})
        socket.resume()
        await once(socket, 'connect')
      }
      const open: net.Socket = socket
      open.write(content)
      // The server runs in this process and needs turns of the event loop to read and answer.
      await new Promise((resolve) => setImmediate(resolve))
    }
    socket?.destroy()
  }

  for (const protocol of ['nest', 'rsocket'] as const) {
    it(`answers a good client (${protocol}) through ${INPUTS / 2} inputs, and is clean afterwards`, async () => {
      const inputs = fc.sample(input, { numRuns: INPUTS / 2, seed: SEED + protocol.length })
      const client = connect({ protocol, host: '127.0.0.1', port })
      let attacking = true
      let answers = 0
      const good = (async () => {
        while (attacking) {
          const data = { count: answers, text: '€😀' }
          assert.deepEqual(await client.request('echo', data), data)
          answers++
        }
      })()
      const share = Math.ceil(inputs.length / ATTACKERS)
      await Promise.all(
        Array.from({ length: ATTACKERS }, (_, index) =>
          attack(inputs.slice(index * share, (index + 1) * share))
        )
      )
      attacking = false
      await good
      assert.ok(answers > 10, `the good client got ${answers} answers meanwhile`)
      assert.ok(logged.length > 0, 'broken input is logged')
      assert.equal(({} as { polluted?: boolean }).polluted, undefined, 'no prototype was touched')
      assert.equal(await client.request('echo', 'still here'), 'still here')
      await client.close()
    })
  }
})
