/**
 * Clients and services of all transports whose server is none: one that says nothing, speaks another protocol, closes
 * connections, or is not there. It prints one line for each, closes everything, and must then end by itself.
 *
 * Its argument is `{ way: { kind: port } }` as JSON. Its parent sends the port of a server that has got a connection.
 */
import { kafka } from '@elysia-microservices/kafka'
import { mqtt } from '@elysia-microservices/mqtt'
import { nats } from '@elysia-microservices/nats'
import { postgres } from '@elysia-microservices/postgres'
import { rabbitmq } from '@elysia-microservices/rabbitmq'
import { redis } from '@elysia-microservices/redis'
import type { EventStore, StoringTransport } from '@elysia-microservices/transport'
import { memory, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { tcp } from 'elysia-microservices/tcp'
import postgresJs from 'postgres'

/** Long enough for a server that has something to say. */
const SHORT = 400
const LONG = 60_000
const logger = { error() {}, warn() {} }

type Kind = 'silent' | 'garbage' | 'closing' | 'refused'

/** The transports, at a port of this machine. */
const WAYS = {
  nats: (port: number, connectTimeout: number) => nats({ url: `nats://127.0.0.1:${port}`, connectTimeout }),
  redis: (port: number, connectTimeout: number) =>
    redis({ url: `redis://127.0.0.1:${port}`, connectTimeout }),
  rabbitmq: (port: number, connectTimeout: number) =>
    rabbitmq({ url: `amqp://127.0.0.1:${port}`, connectTimeout }),
  kafka: (port: number, connectTimeout: number) => kafka({ url: `127.0.0.1:${port}`, connectTimeout }),
  mqtt: (port: number, connectTimeout: number) => mqtt({ url: `mqtt://127.0.0.1:${port}`, connectTimeout }),
  tcp: (port: number, connectTimeout: number) => tcp({ host: '127.0.0.1', port, connectTimeout })
}

const ports = JSON.parse(process.argv[2] as string) as Record<string, Record<Kind, number>>
const accepted = new Map<number, () => void>()
const early = new Set<unknown>()
process.on('message', (port: number) => {
  early.add(port)
  accepted.get(port)?.()
})

/** Resolves when the server at a port has got a connection. */
const isAccepted = (port: number) =>
  new Promise<void>((resolve) => (early.delete(port) ? resolve() : accepted.set(port, resolve)))

/** Something that connects, and is closed. */
interface End {
  connect(): Promise<unknown>
  close(): Promise<unknown>
}

type Ends = Readonly<Record<string, () => End>>

function serviceOf(options: object): End {
  const service = microservice({ name: 'a', logger, ...options } as never)
    .message('a', () => 1)
    .event('b', () => {}, ('store' in options ? { durable: true } : {}) as object)
  return { connect: () => service.listen(), close: () => service.stop() }
}

/** A client over TCP, which is connected when a server accepts the connection, whether or not that answers. */
function callerOf(transport: ReturnType<typeof tcp>): End {
  const client = connect({ transport, logger })
  return { connect: () => client.request('a', 1, { timeout: LONG }), close: () => client.close() }
}

/** The ends over an engine: a client and a service, and those of its store beside another transport. */
function endsOf(newTransport: () => StoringTransport | ReturnType<typeof mqtt>): Ends {
  return {
    client: () => connect({ transport: newTransport(), logger }),
    service: () => serviceOf({ transport: newTransport() }),
    ...('store' in newTransport() && storeEnds(() => newTransport() as StoringTransport))
  }
}

function storeEnds(newStore: () => EventStore | StoringTransport): Ends {
  return {
    'client of the store': () => {
      const client = connect({ transport: memory(), store: newStore(), logger })
      return { connect: () => client.publish('b', 1), close: () => client.close() }
    },
    'service of the store': () => serviceOf({ transport: memory(), store: newStore() })
  }
}

const nameOf = (error: unknown) => `${(error as Error).name}: ${(error as Error).message}`
const outcomeOf = (work: Promise<unknown>) => work.then(() => 'connected', nameOf)

async function failing(way: string, kind: Kind, of: string, end: End): Promise<void> {
  console.log(JSON.stringify({ way, kind, of, outcome: await outcomeOf(end.connect()) }))
  await end.close()
}

/** Closes an end whose attempt to connect is under way. */
async function closing(way: string, port: number, of: string, end: End): Promise<void> {
  const connecting = outcomeOf(end.connect())
  await isAccepted(port)
  await end.close()
  console.log(JSON.stringify({ way, kind: 'closed', of, outcome: await connecting }))
}

async function run(way: keyof typeof WAYS): Promise<void> {
  const at = ports[way] as Record<Kind, number>
  const ends = (port: number, time: number): Ends =>
    way === 'tcp' ? { client: () => callerOf(WAYS.tcp(port, time)) } : endsOf(() => WAYS[way](port, time))
  for (const [of, newEnd] of Object.entries(ends(at.silent, LONG)))
    await closing(way, at.silent, of, newEnd())
  const all = (['silent', 'garbage', 'closing', 'refused'] as const).flatMap((kind) => {
    const { client, service } = ends(at[kind], SHORT)
    return [client, service].flatMap((newEnd, index) =>
      newEnd === undefined ? [] : [failing(way, kind, index === 0 ? 'client' : 'service', newEnd())]
    )
  })
  await Promise.all(all)
}

async function runPostgres(): Promise<void> {
  const { silent = 0 } = ports['postgres'] ?? {}
  for (const of of ['client of the store', 'service of the store']) {
    const sql = postgresJs({ host: '127.0.0.1', port: silent, connect_timeout: 2, onnotice() {} })
    await closing('postgres', silent, of, (storeEnds(() => postgres({ sql }))[of] as () => End)())
    await sql.end({ timeout: 0 })
  }
}

const names = Object.keys(ports)
await Promise.all(names.map((way) => (way === 'postgres' ? runPostgres() : run(way as keyof typeof WAYS))))
process.disconnect()
