/** Every service on every transport: the same patterns, answered by three kinds of handlers. */

import { nats } from '@elysia-microservices/nats'
import { MicroserviceServer } from '@elysia-microservices/nestjs'
import { RpcException } from '@nestjs/microservices'
import { memory, microservice, type Transport } from 'elysia-microservices'
import { tcp } from 'elysia-microservices/tcp'
import type { Log } from '../../support/log.ts'
import { NatsServerProcess, natsMissing } from '../../support/nats-server.ts'
import { CarriedController, ConformanceController } from '../controller.ts'
import { startInNest } from '../harness/servers.ts'
import type { ServiceName, Traits, TransportName } from './case.ts'
import { handlersService } from './handlers.ts'
import { LiveController, WildcardController } from './live-controller.ts'

/** Both ends of a transport. */
export interface Ends {
  /** For the service. */
  readonly server: Transport
  /** For its clients, once the service listens. */
  client(): Transport
  /** Ends what carries the messages, where that is a program of its own. */
  close?(): Promise<void>
}

/** A transport under test. */
export interface TransportUnderTest {
  readonly name: TransportName
  readonly traits: Traits
  /** What this machine lacks to run it, in words; `undefined` if nothing. */
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
  /** @param log gets what it logs */
  start(transport: Transport, log: Log): Promise<RunningService>
}

function overTcp(protocol: 'rsocket' | 'nest'): Ends {
  const server = tcp({ host: '127.0.0.1', port: 0 })
  return { server, client: () => tcp({ host: '127.0.0.1', port: server.address!.port, protocol }) }
}

const RSOCKET: Traits = {
  cancels: 'at once',
  tellsTimeout: true,
  hasDemand: true,
  hearsUnknownEvents: true,
  hasChannels: true,
  peerAddress: '127.0.0.1'
}

export const TRANSPORTS: readonly TransportUnderTest[] = [
  { name: 'RSocket', traits: RSOCKET, open: () => overTcp('rsocket') },
  {
    name: "Nest's wire",
    traits: {
      cancels: 'with the connection',
      tellsTimeout: false,
      hasDemand: false,
      hearsUnknownEvents: true,
      hasChannels: false,
      peerAddress: '127.0.0.1'
    },
    open: () => overTcp('nest')
  },
  {
    name: 'memory',
    traits: { ...RSOCKET, peerAddress: undefined },
    open() {
      const both = memory()
      return { server: both, client: () => both }
    }
  },
  {
    name: 'NATS',
    traits: { ...RSOCKET, hearsUnknownEvents: false, peerAddress: undefined },
    missing: natsMissing(),
    async open() {
      const server = await NatsServerProcess.start()
      const both = nats({ servers: server.url })
      return { server: both, client: () => both, close: () => server.stop() }
    }
  }
]

/** NATS has no subject for the empty pattern. */
function controllersFor(transport: Transport) {
  return [transport.name === 'nats' ? CarriedController : ConformanceController, LiveController]
}

export const SERVICES: readonly ServiceUnderTest[] = [
  {
    name: 'handlers',
    async start(transport, log) {
      const service = handlersService(transport, log.logger)
      await service.listen()
      return service
    }
  },
  {
    name: 'controllers',
    async start(transport, log) {
      const service = microservice({
        transport,
        controllers: [...controllersFor(transport), WildcardController],
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
    start: (transport, log) =>
      startInNest(
        { strategy: new MicroserviceServer({ transport, drain: 100 }) },
        controllersFor(transport),
        {},
        log
      )
  }
]
