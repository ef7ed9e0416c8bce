/** Every kind of service on every transport: the same patterns, with three kinds of handlers. */
import { grpc } from '@elysia-microservices/grpc'
import { anyJson } from '@elysia-microservices/grpc/testing'
import { MicroserviceServer } from '@elysia-microservices/nestjs'
import type { Log } from '@elysia-microservices/test-support'
import { webSocketTransport } from '@elysia-microservices/websocket/testing'
import { RpcException } from '@nestjs/microservices'
import { microservice, type Transport } from 'elysia-microservices'
import { tcp } from 'elysia-microservices/tcp'
import { WebSocket } from 'ws'
import type { EngineUnderTest } from '../../engines/shared-engines.ts'
import { STAND_INS } from '../../engines/stand-ins.ts'
import { listen, newApp } from '../../support/http-app.ts'
import { CarriedController, ConformanceController, NamedController } from '../controller.ts'
import { startInNest } from '../harness/servers.ts'
import type { Carriage, ServiceName, Traits, TransportName } from './case.ts'
import { handlersService } from './handlers.ts'
import { LevelsController, LiveController, WildcardController } from './live-controller.ts'

/** The transports of a service and of its clients. */
export interface Ends {
  /** For the service. */
  readonly server: Transport
  /** For its clients, once the service listens. */
  client(): Transport
  /** Ends the program that carries the messages, if there is one. */
  close?(): Promise<void>
}

/** A transport under test. */
export interface TransportUnderTest {
  readonly name: TransportName
  readonly carriage: Carriage
  readonly traits: Traits
  /** Why the transport cannot carry a pattern; `undefined`: it can. Default: it can carry all. */
  refuses?(pattern: string): string | undefined
  /** The programs that this machine lacks to run the transport; `undefined`: none. */
  readonly missing?: string | undefined
  open(): Ends | Promise<Ends>
}

/** A service that listens. */
export interface RunningService {
  stop(): Promise<void>
}

/** A kind of services under test. */
export interface ServiceUnderTest {
  readonly name: ServiceName
  /** @param log receives what the service logs @param carries whether the transport carries a pattern */
  start(transport: Transport, log: Log, carries: (pattern: string) => boolean): Promise<RunningService>
}

function overTcp(protocol: 'rsocket' | 'nest'): Ends {
  const server = tcp({ host: '127.0.0.1', port: 0 })
  return { server, client: () => tcp({ host: '127.0.0.1', port: server.address!.port, protocol }) }
}

const RSOCKET: Traits = {
  cancels: 'at once',
  tellsTimeout: true,
  demand: 'values',
  hearsUnknownEvents: true,
  tellsRefusedEvents: false,
  keepsOrderOfPatterns: true,
  hasLevels: false,
  carriesObjects: true,
  hasChannels: true,
  tellsInputFailures: true,
  hasAnswerHeaders: true,
  headersOfHttp: false,
  peerAddress: '127.0.0.1'
}

const MEBIBYTE = 1024 * 1024

/** A WebSocket on the port of an Elysia app. */
function overWebSocket(): Ends {
  const transport = webSocketTransport(
    async (plugin) => {
      const { url, stop } = await listen(newApp().use(plugin))
      return { url: url.replace('localhost', '127.0.0.1'), stop }
    },
    { limits: { messageSize: 4 * MEBIBYTE, receiveBuffer: 4 * MEBIBYTE } },
    // Node 20 has no WebSocket of its own.
    { WebSocket: globalThis.WebSocket ?? WebSocket }
  )
  return { server: transport, client: () => transport }
}

/** Methods of gRPC say whether their callers stream, and whether they are events. */
const METHODS = anyJson({
  channels: ['sum', 'running-sum', 'first-of-a-channel'],
  events: [
    'note',
    'slow-note',
    'observable',
    'failing-event',
    'shared',
    'told',
    'audit.login',
    '{"type":"unknown"}'
  ]
})

function overGrpc(): Ends {
  const server = grpc({ host: '127.0.0.1', port: 0, proto: METHODS })
  return {
    server,
    client: () => grpc({ host: '127.0.0.1', port: server.address!.port, proto: METHODS })
  }
}

/** The transports of an engine: with this library's protocol, and with NestJS's packets. */
function overEngine(engine: EngineUnderTest): TransportUnderTest {
  const { title, carriage, missing, hasServer, traits } = engine
  return {
    name: title,
    carriage,
    traits: {
      ...RSOCKET,
      hasChannels: traits.channels,
      hasAnswerHeaders: traits.answerHeaders === true,
      hasLevels: traits.levels === true,
      carriesObjects: engine.refuses?.('{"a":3}') === undefined,
      // A broker only delivers events to clients that have subscribed to their patterns.
      hearsUnknownEvents: !hasServer,
      keepsOrderOfPatterns: engine.hasQueuePerHandler !== true,
      peerAddress: undefined
    },
    missing,
    refuses: (pattern) => engine.refuses?.(pattern),
    async open() {
      const running = await engine.start()
      return {
        server: running.transport(),
        client: () => running.transport(),
        close: () => running.close()
      }
    }
  }
}

export const TRANSPORTS: readonly TransportUnderTest[] = [
  { name: 'RSocket', carriage: 'codecs', traits: RSOCKET, open: () => overTcp('rsocket') },
  {
    name: "Nest's wire",
    carriage: 'packets',
    traits: {
      cancels: 'with the connection',
      tellsTimeout: false,
      demand: 'none',
      hearsUnknownEvents: true,
      tellsRefusedEvents: false,
      keepsOrderOfPatterns: true,
      hasLevels: false,
      carriesObjects: true,
      hasChannels: false,
      tellsInputFailures: false,
      hasAnswerHeaders: false,
      headersOfHttp: false,
      peerAddress: '127.0.0.1'
    },
    open: () => overTcp('nest')
  },
  { name: 'WebSocket', carriage: 'codecs', traits: RSOCKET, open: overWebSocket },
  {
    name: 'gRPC',
    carriage: 'codecs',
    // A caller has no word for the failure of its stream. An event has an answer.
    traits: {
      ...RSOCKET,
      demand: 'bytes',
      tellsRefusedEvents: true,
      tellsInputFailures: false,
      hasAnswerHeaders: grpc({ proto: METHODS }).traits.answerHeaders === true,
      headersOfHttp: true
    },
    open: overGrpc
  },
  ...STAND_INS.map(overEngine)
]

/** The controllers for a transport. On transports with wildcards, the empty pattern has no address. */
function controllersFor(transport: Transport, carries: (pattern: string) => boolean) {
  const { wildcards, levels } = transport.traits
  if (!carries('{"a":3}')) return [NamedController, LiveController]
  return [wildcards || levels ? CarriedController : ConformanceController, LiveController]
}

export const SERVICES: readonly ServiceUnderTest[] = [
  {
    name: 'handlers',
    async start(transport, log, carries) {
      const service = handlersService(transport, log.logger, carries)
      await service.listen()
      return service
    }
  },
  {
    name: 'controllers',
    async start(transport, log, carries) {
      const wild = transport.traits.levels === true ? LevelsController : WildcardController
      const service = microservice({
        name: 'semantics',
        transport,
        controllers: [...controllersFor(transport, carries), ...(carries('audit.*') ? [wild] : [])],
        logger: log.logger,
        drain: 100,
        nest: { RpcException }
      })
      await service.listen()
      return service
    }
  },
  {
    name: 'a Nest application',
    start: (transport, log, carries) =>
      startInNest(
        { strategy: new MicroserviceServer({ name: 'semantics', transport, drain: 100 }) },
        controllersFor(transport, carries),
        {},
        log
      )
  }
]
