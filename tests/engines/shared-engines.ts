/**
 * Engines over which suites in other folders test what all engines share. They load no driver but that of NATS: the
 * driver of Kafka alone computes for half a second when it is imported.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { detourTo, NO_SERVER, type EngineUnderTest as SuiteEngine } from '@elysia-microservices/engine-tests'
import { nats } from '@elysia-microservices/nats'
import type { EngineProcess } from '@elysia-microservices/test-support'
import { memory } from 'elysia-microservices'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'
import { startHub } from './hub.ts'
import { hub } from './hub-engine.ts'
import { type NestEnds, nestOnNats } from './nest-ends.ts'
import { type StrangersOf, strangersOfHub, strangersOfNats } from './stranger.ts'

/** An engine of this repository: what its suite, and all tests of what holds for every engine, must know of it. */
export interface EngineUnderTest extends SuiteEngine {
  /** Whether the engine is published and documented. */
  readonly isShipped: boolean
  /** NestJS's transport for the engine; `undefined`: NestJS has none. */
  readonly nest?: NestEnds
  /** Whether NestJS has a transport for the engine whose protocol differs so much that it is tested separately. */
  readonly hasNest?: true
  /** Programs of others that publish on the engine; `undefined`: all messages stay inside the process. */
  readonly strangers?: StrangersOf
}

export const inMemory: EngineUnderTest = {
  name: 'memory',
  title: 'memory',
  traits: memory().traits,
  carriage: 'codecs',
  hasServer: false,
  isShipped: true,
  async start() {
    // The service and its clients must share one value.
    const transport = memory()
    return { ...NO_SERVER, transport: () => transport }
  }
}

/** Controls for a server that is a process of its own. */
export const controlsOf = (server: EngineProcess) => ({
  detour: (port?: number) => detourTo(server.port, port),
  stop: () => server.stop(),
  start: () => server.start(),
  suspend: () => server.signal('SIGSTOP'),
  resume: () => server.signal('SIGCONT')
})

export const onNats: EngineUnderTest = {
  name: 'nats',
  title: 'NATS',
  traits: nats().traits,
  carriage: 'packets',
  waitsApart: true,
  get missing() {
    return natsMissing()
  },
  hasServer: true,
  isShipped: true,
  nest: nestOnNats,
  strangers: strangersOfNats,
  refuses(pattern) {
    if (/\s/.test(pattern)) return "it has a blank; write '-' or '_' in its place"
    if (pattern.split('.').includes(''))
      return 'a segment of it is empty; give each segment between dots a text'
    return undefined
  },
  async start() {
    const folder = await mkdtemp(join(tmpdir(), 'engine-'))
    const server = await NatsServerProcess.start('-js', '-sd', folder)
    return {
      port: server.port,
      transport: ({ port, ackWait = 1_000 } = {}) =>
        nats({
          url: port === undefined ? server.url : `nats://127.0.0.1:${port}`,
          // With a given port, the client must not learn the real port from the server.
          ignoreClusterUpdates: port !== undefined,
          durable: { ackWait }
        }),
      ...controlsOf(server),
      async close() {
        await server.stop()
        await rm(folder, { recursive: true })
      }
    }
  }
}

export const onHub: EngineUnderTest = {
  name: 'hub',
  title: 'Hub',
  traits: hub(0).traits,
  carriage: 'packets',
  hasServer: true,
  isShipped: false,
  strangers: strangersOfHub,
  refuses: (pattern) =>
    pattern.split('.').includes('') ? 'a segment is empty, or it begins with _' : undefined,
  start: () => startHub(hub)
}
