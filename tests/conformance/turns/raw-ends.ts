/** Endless answers and channels whose peer misbehaves, over RSocket. */
import { error, keepalive, requestN, setup, stream } from '@elysia-microservices/rsocket/testing'
import { until } from '@elysia-microservices/test-support'
import { newClient } from '@elysia-microservices/websocket/testing'
import { tcp } from 'elysia-microservices/tcp'
import { clientOf, type TransportUnderTest } from '../../calls/transports.ts'
import { WebSocket } from '../../support/web-socket.ts'
import { type Case, caseOf, type Watched } from './case.ts'
import { RawPeer, rawServer, WIRES, type Wire } from './raw-peer.ts'
import { Setting } from './setting.ts'
import { PULLED } from './sources.ts'

/** The demand without a limit. */
const ALL = 2 ** 31 - 1
/** A frame of two bytes, which is too short for a header. */
const BROKEN = Buffer.from([0, 0, 2, 1, 2])
const CONNECTION_ERROR = 0x101
/** Milliseconds after which a silent peer counts as lost, where a case says so. */
const LIFETIME = 100

/** The behaviour of the peer after it has granted all values. */
interface Misdeed {
  readonly what: string
  readonly isSilent?: true
  /** Frames that come in one write with the demand. */
  readonly frames?: readonly Uint8Array[]
  do?(peer: RawPeer): void
  /** The source pauses. Default: it is ended. */
  readonly isPause?: true
}

const MISDEEDS: readonly Misdeed[] = [
  { what: 'sends a broken frame', frames: [BROKEN] },
  { what: 'ends the connection with an error', frames: [error(0, CONNECTION_ERROR, 'no')] },
  { what: 'sends FIN', do: ({ socket }) => void socket.end() },
  { what: 'resets the connection', do: ({ socket }) => void socket.resetAndDestroy() },
  { what: 'says nothing more', isSilent: true },
  { what: 'reads nothing', isPause: true, do: ({ socket }) => void socket.pause() }
]

async function ends({ isPause }: Misdeed, watched: Watched): Promise<void> {
  if (isPause) await watched.stands()
  else await watched.ends()
}

/** A caller that asks for all values of an endless answer. */
function anAnswer(transport: TransportUnderTest, wire: Wire, misdeed: Misdeed): Case[] {
  return PULLED.map((kind) =>
    caseOf(`an answer whose caller ${misdeed.what}`, kind, async (watched) => {
      const setting = await Setting.open(transport, watched.source)
      const peer = await RawPeer.connect(setting.carried.endpoint() as string, wire)
      try {
        const lifetime = misdeed.isSilent ? LIFETIME : 60_000
        const { frames = [] } = misdeed
        peer.send(setup({ keepalive: lifetime, lifetime }), stream(1, 'endless', ALL, '1'), ...frames)
        await until('the service is called', () => setting.message !== undefined)
        misdeed.do?.(peer)
        await ends(misdeed, watched)
        await setting.serves()
      } finally {
        peer.socket.destroy()
        await setting.close()
      }
    })
  )
}

/** A client of a server at a port, which notices a silent server early if a case says so. */
function clientAt(port: number, wire: Wire, isSilent = false) {
  const times = isSilent ? { interval: LIFETIME / 2, lifetime: LIFETIME } : undefined
  if (wire.name === 'RSocket')
    return clientOf(tcp({ host: '127.0.0.1', port, reconnect: false, rsocket: { keepalive: times } }))
  const options = { url: `ws://127.0.0.1:${port}/rsocket`, WebSocket, resume: false } as const
  const logger = { error() {}, warn() {} }
  return newClient(options, { logger, timeout: 0, dispatcher: undefined })
}

/** A service that asks for all values of an endless channel. */
function aChannel(wire: Wire, misdeed: Misdeed): Case[] {
  const { frames = [] } = misdeed
  return PULLED.map((kind) =>
    caseOf(`a channel whose service ${misdeed.what}`, kind, async (watched) => {
      let isAsked = false
      const server = await rawServer(wire, (bytes, peer) => {
        const type = bytes.readUInt16BE(7) >>> 10
        const asksForLife = (bytes.readUInt16BE(7) & 0x80) !== 0
        if (type === 3 && asksForLife && !(isAsked && misdeed.isSilent)) peer.send(keepalive(''))
        if (type !== 7 || isAsked) return
        isAsked = true
        peer.send(requestN(bytes.readUInt32BE(3), ALL), ...frames)
        misdeed.do?.(peer)
      })
      const client = clientAt(server.port, wire, misdeed.isSilent)
      try {
        let failure: Error | undefined
        const failed = (error: Error) => {
          failure = error
        }
        client.stream('read', watched.source.stream, { next() {}, complete() {}, error: failed })
        await until('the server is called', () => isAsked)
        await ends(misdeed, watched)
        if (!misdeed.isPause) await until('the call fails', () => failure !== undefined)
      } finally {
        server.stop()
        await client.close()
      }
    })
  )
}

/** The cases of a transport; none, if it does not carry RSocket. */
export function casesOfMisdeeds(transport: TransportUnderTest): Case[] {
  const wire = WIRES.find(({ name }) => name === transport.name)
  if (wire === undefined) return []
  return MISDEEDS.flatMap((misdeed) => [
    ...anAnswer(transport, wire, misdeed),
    // A client on WebSocket waits longer for a silent server than a test can.
    ...(misdeed.isSilent && transport.name === 'WebSocket' ? [] : aChannel(wire, misdeed))
  ])
}
