/** The worlds between services and clients: sockets in memory, the process itself, and engines' servers inside it. */
import { grpc } from '@elysia-microservices/grpc'
import { anyJson } from '@elysia-microservices/grpc/testing'
import { FakeCluster, kafkaBy } from '@elysia-microservices/kafka/testing'
import { FakeMqttServer, mqttBy } from '@elysia-microservices/mqtt/testing'
import { FakeNatsServer, natsBy } from '@elysia-microservices/nats/testing'
import { FakeRabbitServer, rabbitmqBy } from '@elysia-microservices/rabbitmq/testing'
import { FakeRedisServer, redisBy } from '@elysia-microservices/redis/testing'
import { tcp } from '@elysia-microservices/tcp'
import { type Delivery, type EventStore, memory, type Transport } from '@elysia-microservices/transport'
import { openDoor } from '@elysia-microservices/websocket/testing'
import type { UntypedStoringClient } from 'elysia-microservices/client'
import { Lane } from './lane.ts'
import { Net } from './net.ts'
import type { Config, Options } from './plan.ts'
import { withStore } from './stores.ts'
import { MESSAGE_SIZE } from './stranger.ts'
import { overWebSockets, strangerOf } from './websocket.ts'
import type { World } from './world.ts'

const PORT = 4_000
/** One client waits for no leases, so that services have clients of both kinds. */
export const WITHOUT_LEASES = 2

/** Where events are stored: in a file, or in the process. */
export type Store = EventStore | ReturnType<typeof memory>

/** Options of a client or service that say over what it works. */
export interface Place {
  readonly transport: Transport
  readonly store?: Store | undefined
  /** Ends the process of the service. */
  readonly crash?: () => void
  /** Does some work of a handler in the transaction that acknowledges its event; what the work asks for happens with the commit. */
  readonly transact?: (
    delivery: Delivery | undefined,
    work: (committed: (act: () => void) => void) => void
  ) => Promise<void>
}

export type Publish = UntypedStoringClient['publish']

export interface Carrier {
  /** The transport of a new service, the nth of its name. */
  service(name: string, n: number, options?: Partial<Options>): Place
  /** The transport of a new client. */
  client(name: string): Place
  /** Publishes in a transaction of a client's own, which is committed if, and only if, the function succeeds. */
  publishIn?(client: string, run: (publish: Publish) => Promise<void>): Promise<void>
  /** The process ends. Clients and services that are made later belong to another one. */
  die?(): void
  /** The process of one service ends: its connections are lost, and it gets no others. */
  kill?(service: string): void
  cut?(client: string): void
  /** The connections of one client or service to the engine's server are lost, for a time. */
  lose?(name: string, milliseconds: number): void
  freeze?(client: string, milliseconds: number): void
  /** For a time nothing moves between one client or service and the engine's server, and neither is told. */
  stall?(name: string, milliseconds: number): void
  /** @param isLeft is called if the service has not closed the connection after a second */
  stranger?(bytes: Uint8Array, isLeft: () => void): void
  /** The server of the engine ends, and begins again. */
  stop?(): void
  start?(): void
  /** The server of the engine stands still, and goes on. */
  suspend?(): void
  resume?(): void
  /** Begins or ceases to lose messages that nobody stores, while all connections stay. */
  mute?(isMute: boolean): void
  /** The number of events that have been stored for so many milliseconds, or longer. */
  old?(age: number): number | Promise<number>
  /** Says which sockets and ports are left although all ends are closed; an empty text: none. */
  left(): string
}

export const carrierOf = (config: Config, world: World): Carrier =>
  withStore(transportOf(config, world), config, world)

function transportOf(config: Config, world: World): Carrier {
  switch (config.carrier) {
    case 'rsocket':
    case 'nest':
      return overSockets(config, world)
    case 'grpc':
      return overGrpc(config, world)
    case 'websocket':
      return overPages(config, world)
    case 'memory':
    case 'sqlite':
    case 'postgres':
      return overMemory()
    case 'redis': {
      const server = new FakeRedisServer({ clock: world.clock })
      server.turn = turnsOf(config, world)
      const redis = (port: number) =>
        redisBy(server.driver, { url: `redis://127.0.0.1:${port}`, ...keeping(config) })
      const old = (age: number) => server.streams.storedBefore(world.clock.now() - age)
      return { ...overServer(world, server, redis), old }
    }
    case 'rabbitmq': {
      const server = new FakeRabbitServer({ clock: world.clock })
      server.turn = turnsOf(config, world)
      return overServer(world, server, (port) =>
        rabbitmqBy(server.driver, { urls: `amqp://127.0.0.1:${port}` })
      )
    }
    case 'mqtt': {
      const server = new FakeMqttServer()
      server.turn = turnsOf(config, world)
      const mqtt = (port: number) => mqttBy(server.driver, { url: `mqtt://127.0.0.1:${port}` })
      return overServer(world, server, mqtt, memory())
    }
    case 'nats': {
      const server = new FakeNatsServer({ clock: world.clock })
      server.turn = turnsOf(config, world)
      // Large messages come in parts.
      server.maxPayload = config.delay === 0 ? 1024 * 1024 : 32 * 1024
      return overServer(world, server, (port) =>
        natsBy(server.driver, { servers: `127.0.0.1:${port}`, ...keeping(config) })
      )
    }
    case 'kafka': {
      const server = new FakeCluster({ heartbeatInterval: 5_000, clock: world.clock })
      server.later = turnsOf(config, world)
      const { maxAge } = config
      // Their attempts, too; calls wait as long as their callers do.
      if (maxAge !== undefined)
        server.keeps = (topic) => (/^(kept|filed)\b(?!\.dlt)/.test(topic) ? maxAge : undefined)
      return overServer(world, server, (port) =>
        kafkaBy(server.driver, { brokers: [`127.0.0.1:${port}`], advertised: false, partitions: 3 })
      )
    }
  }
}

/** The option that says for how long an engine keeps events, and their ids. */
function keeping({ maxAge }: Config) {
  return maxAge === undefined ? {} : { durable: timesOf(maxAge) }
}

/** An id is known for two minutes, but not for longer than its event. */
export const timesOf = (maxAge: number) => ({ maxAge, duplicateWindow: Math.min(maxAge, 120_000) })

/** A server of an engine inside the process. */
interface Server {
  stop(): void
  start(): void
  suspend(): void
  resume(): void
  detour(port: number): { readonly port: number; stop(): void }
  cut(port: number): void
  hold(port: number): void
  free(port: number): void
  isMute?: boolean
}

/** The turns of a server: it has a time of its own, and so no fixed order with the turns of the event loop. */
function turnsOf({ delay }: Config, world: World): (work: () => void) => void {
  const lane = new Lane(world)
  return (work) => lane.add(work, world.random.next() * delay)
}

/** Each end has a way of its own to the server, which can be lost alone. */
function overServer(
  world: World,
  server: Server,
  transport: (port: number) => Transport,
  store?: Store
): Carrier {
  const ways = new Map<string, { readonly port: number; stop(): void; isAway: boolean }>()
  let ports = 20_000
  const via = (name: string) => {
    const way = ways.get(name) ?? { ...server.detour(++ports), isAway: false }
    ways.set(name, way)
    return { transport: transport(way.port), ...(store && { store }) }
  }
  return {
    service: via,
    client: via,
    lose: (name, milliseconds) => {
      const way = ways.get(name)
      if (way === undefined || way.isAway) return
      if (milliseconds === 0) return server.cut(way.port)
      way.stop()
      way.isAway = true
      world.after(milliseconds, () => {
        way.stop = server.detour(way.port).stop
        way.isAway = false
      })
    },
    stall(name, milliseconds) {
      const way = ways.get(name)
      if (way === undefined) return
      server.hold(way.port)
      world.after(milliseconds, () => server.free(way.port))
    },
    kill(name) {
      ways.get(name)?.stop()
      ways.delete(name)
    },
    stop: () => server.stop(),
    start: () => server.start(),
    suspend: () => server.suspend(),
    resume: () => server.resume(),
    mute: (isMute) => {
      server.isMute = isMute
    },
    left: () => ''
  }
}

function overMemory(): Carrier {
  let transport = memory()
  return {
    service: () => ({ transport }),
    client: () => ({ transport }),
    die() {
      transport = memory()
    },
    left: () => ''
  }
}

function overSockets(config: Config, world: World): Carrier {
  const net = new Net(world)
  net.delay = config.delay
  const { resume, lease, services, connections } = config
  const isNest = config.carrier === 'nest'
  const url = Array.from({ length: services }, (_, n) => `tcp://127.0.0.1:${PORT + n}`)
  return {
    service: (_name, n, { inFlight, inFlightPerConnection } = config) => ({
      transport: tcp({
        host: '127.0.0.1',
        port: PORT + n,
        sockets: net.runtime('service'),
        limits: {
          inFlight: inFlight || false,
          inFlightPerConnection: inFlightPerConnection || false,
          messageSize: MESSAGE_SIZE
        },
        rsocket: { resume }
      } as Parameters<typeof tcp>[0])
    }),
    client: (name) => ({
      transport: tcp({
        url,
        connections,
        sockets: net.runtime(name),
        ...(isNest
          ? { protocol: 'nest' }
          : { rsocket: { resume, lease: lease && name !== `client-${WITHOUT_LEASES}` } })
      } as object as Parameters<typeof tcp>[0])
    }),
    ...faultsOf(net, world, (bytes) => bytes)
  }
}

/** Methods of gRPC say whether their callers stream, and whether they are events. */
const METHODS = anyJson({ channels: ['total', 'relay'], events: ['noted', 'kept', 'filed'] })

function overGrpc(config: Config, world: World): Carrier {
  const net = new Net(world)
  net.delay = config.delay
  const { services, connections } = config
  const url = Array.from({ length: services }, (_, n) => `127.0.0.1:${PORT + n}`)
  const transport = (options: object) => grpc({ proto: METHODS, ...options } as Parameters<typeof grpc>[0])
  return {
    service: (_name, n, { inFlight } = config) => ({
      transport: transport({
        host: '127.0.0.1',
        port: PORT + n,
        sockets: net.runtime('service'),
        limits: { inFlight: inFlight || false, messageSize: MESSAGE_SIZE }
      })
    }),
    client: (name) => ({ transport: transport({ url, connections, sockets: net.runtime(name) }) }),
    ...faultsOf(net, world, (bytes) => bytes)
  }
}

function overPages(config: Config, world: World): Carrier {
  const net = new Net(world)
  const { resume, lease } = config
  net.delay = config.delay
  const end = (name: string, _n = 0, { inFlightPerConnection }: Partial<Options> = config) => {
    const limits = inFlightPerConnection ? { inFlightPerConnection } : {}
    const newDoor = () => openDoor({ resume, limits })
    return { transport: overWebSockets(world, name, { net, port: PORT, resume, lease, newDoor }) }
  }
  return { service: end, client: (name) => end(name), ...faultsOf(net, world, strangerOf) }
}

function faultsOf(net: Net, world: World, saidBy: (bytes: Uint8Array) => Uint8Array) {
  return {
    cut: (client: string) => net.cut(client),
    freeze: (client: string, milliseconds: number) => net.freeze(client, milliseconds),
    stranger: (bytes: Uint8Array, isLeft: () => void) => {
      let isClosed = false
      const end = () => {
        isClosed = true
      }
      const socket = net.stranger(PORT, { data() {}, eof: end, drain() {}, close: end })
      if (socket === undefined) return
      const said = saidBy(bytes)
      socket.writeBytes(said, said.length)
      world.after(1_000, () => {
        if (!isClosed) isLeft()
        socket.destroy()
      })
    },
    left: () => {
      const parts = []
      if (net.open > 0) parts.push(`${net.open} ends of sockets`)
      if (net.listening > 0) parts.push(`${net.listening} listening ports`)
      return parts.join(', ')
    }
  }
}
