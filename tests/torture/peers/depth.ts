/**
 * Deeply nested data, at every place where a peer can send data: the server must refuse the data before it walks
 * through them.
 */
import type { Circumstances, Row, Scenario } from '../scenario.ts'
import { call, Flag, frame, headers, route, setup, Type } from './frames.ts'
import { withServer } from './process.ts'
import { RawPeer } from './raw-peer.ts'
import { HonestClient } from './tally.ts'

type Protocol = 'nest' | 'rsocket'

const LEVELS = 100_000
const EACH = { short: 5, long: 500 }
/** Milliseconds within which a server must answer. */
const PATIENCE = 20_000
/**
 * Milliseconds that a well-behaved client may wait during the attack, on a machine without other work: the attack
 * tries to block the server.
 */
const SLOWEST = 250

const OPEN = '['.repeat(LEVELS)
const CLOSED = `${'['.repeat(LEVELS / 2)}${']'.repeat(LEVELS / 2)}`
const OBJECTS = `${'{"a":'.repeat(LEVELS / 5)}0${'}'.repeat(LEVELS / 5)}`

interface Shape {
  readonly name: string
  readonly bytes: Buffer
  /** A pattern for the error that the peer must get; without one, the connection may also be closed. */
  readonly told?: RegExp
  /** Whether the frame is an event, which has no answer: the request behind it must be answered. */
  readonly silent?: boolean
}

/** A server that stops reading in time reports that a text with open brackets is not JSON. */
const DEEP = /levels|is not JSON/

function nestShapes(): Shape[] {
  const packet = (name: string, json: string, silent = false): Shape => ({
    name,
    bytes: Buffer.from(`${json.length}#${json}`),
    silent
  })
  return [OPEN, CLOSED, OBJECTS].flatMap((deep) => [
    packet('pattern', `{"pattern":${deep},"data":1,"id":"1"}`),
    packet('id', `{"pattern":"echo","data":1,"id":${deep}}`),
    packet('data', `{"pattern":"echo","data":${deep},"id":"1"}`),
    packet('data of a pattern nobody handles', `{"pattern":"nobody","data":${deep},"id":"1"}`),
    packet('pattern of an event', `{"pattern":${deep},"data":1}`, true),
    packet('data of an event', `{"pattern":"note","data":${deep}}`, true),
    packet('packet', deep, true)
  ])
}

function rsocketShapes(): Shape[] {
  const deep = [OPEN, CLOSED, OBJECTS]
  const request = (type: number, text: string, name = 'echo') => {
    const demand = type === Type.REQUEST_STREAM || type === Type.REQUEST_CHANNEL ? Buffer.of(0, 0, 0, 9) : ''
    return Buffer.concat([setup(), frame(1, type, Flag.METADATA, demand, route(name), text)])
  }
  return deep.flatMap((text): Shape[] => [
    { name: 'data', bytes: request(Type.REQUEST_RESPONSE, text), told: DEEP },
    { name: 'data of a stream', bytes: request(Type.REQUEST_STREAM, text), told: DEEP },
    { name: 'data of an event', bytes: request(Type.REQUEST_FNF, text, 'note'), silent: true },
    {
      name: 'a value of a channel',
      bytes: Buffer.concat([
        setup(),
        call(Type.REQUEST_CHANNEL, 1, 'sum', 1),
        frame(1, Type.PAYLOAD, Flag.NEXT, text)
      ]),
      told: DEEP
    },
    {
      name: 'headers',
      bytes: Buffer.concat([
        setup(),
        frame(
          1,
          Type.REQUEST_RESPONSE,
          Flag.METADATA,
          route('echo', headers({ deep: text.slice(0, 8_000) })),
          '1'
        )
      ])
    }
  ])
}

async function send(port: number, shape: Shape): Promise<string | undefined> {
  const peer = await RawPeer.connect(port)
  peer.read()
  await peer.sent(shape.bytes)
  const said = () => peer.received.toString('latin1')
  const answered = () => (shape.told === undefined ? peer.received.length > 0 : shape.told.test(said()))
  const end = performance.now() + PATIENCE
  while (shape.silent !== true && !answered() && !peer.closed && performance.now() < end)
    await new Promise((resolve) => setTimeout(resolve, 2))
  const ends = shape.silent === true || answered() || (shape.told === undefined && peer.closed)
  const echoed = said().includes('[[[[[[[[') || said().includes('{"a":{"a":{"a"')
  peer.close()
  if (!ends) return `${shape.name}: neither answered nor refused (${JSON.stringify(said().slice(0, 100))})`
  return echoed ? `${shape.name}: was sent back` : undefined
}

async function attack(protocol: Protocol, { length, progress }: Circumstances): Promise<Row> {
  return withServer('ours', {}, async (server) => {
    const shapes = protocol === 'nest' ? nestShapes() : rsocketShapes()
    const honest = new HonestClient(server.port, protocol)
    await honest.answered(100)
    const broken = new Set<string>()
    let sent = 0
    for (let round = 0; round < EACH[length]; round++) {
      progress(`${protocol}: ${sent} sent`)
      for (const shape of shapes) {
        const wrong = await send(server.port, shape)
        if (wrong !== undefined) broken.add(wrong)
        sent++
      }
    }
    const figures = await server.until(
      ({ connections, inFlight }) => connections === 1 && (inFlight ?? 0) <= 2,
      PATIENCE
    )
    if (figures.connections !== 1) broken.add(`${figures.connections - 1} connections are left`)
    const tally = await honest.stop()
    if (length === 'long' && honest.slowest > SLOWEST)
      broken.add(`an honest answer took ${Math.round(honest.slowest)} ms; ${SLOWEST} are promised`)
    return {
      scenario: `100 kB of arrays or objects in each other (${[...new Set(shapes.map(({ name }) => name))].join('; ')}), ${protocol === 'nest' ? "Nest's wire" : 'RSocket'}`,
      server: 'ours',
      faults: sent,
      ...tally.columns,
      peakRssMb: figures.peakRssMb,
      remark: `slowest honest answer ${Math.round(honest.slowest)} ms`,
      broken: [...tally.broken(true), ...broken]
    }
  })
}

export const depth: Scenario = {
  name: 'deep-data',
  // One after the other, because the guarantee is about time.
  run: async (circumstances) => [await attack('rsocket', circumstances), await attack('nest', circumstances)]
}
