/**
 * Registers the interop tests of one peer. The cases are the same for every peer. If a library cannot do something, a
 * separate test shows what it does instead, and fails as soon as the library can.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  type ServiceOptions as AnyServiceOptions,
  type Microservice,
  microservice
} from 'elysia-microservices'
import {
  type ClientOptions as AnyClientOptions,
  connect,
  type UntypedClient
} from 'elysia-microservices/client'
import type { TcpClientOptions, TcpServerOptions } from 'elysia-microservices/tcp'
import { answersOurClient } from './answers-our-client.ts'
import { asksOurServer } from './asks-our-server.ts'
import { Peer, type PeerConnection, type PeerServer } from './peer.ts'
import type { ConnectOptions, ListenOptions } from './peer-protocol.ts'
import type { Toolchain } from './toolchains.ts'
import { Wiretap } from './wiretap.ts'

/** Options that only tests use: the size of the frames that are sent. */
interface TestOptions {
  readonly fragmentSize?: number
}

type ServiceOptions = AnyServiceOptions & Omit<TcpServerOptions, 'host' | 'port'> & TestOptions
type ClientOptions = AnyClientOptions & Omit<TcpClientOptions, 'host' | 'port' | 'onStatus'> & TestOptions

/** The clients and servers of a case. All that a case creates here is closed after the case, the newest first. */
export class Case {
  readonly peer: Peer
  readonly #cleanUps: (() => unknown)[] = []

  constructor(peer: Peer) {
    this.peer = peer
  }

  defer(cleanUp: () => unknown): void {
    this.#cleanUps.push(cleanUp)
  }

  /** Starts our server, with a handler `echo` and the handlers that `define` adds. */
  async serve(
    define: (service: Microservice) => unknown = () => {},
    options: ServiceOptions = {}
  ): Promise<number> {
    const service = microservice({ logger: silent, ...options, transport: 'tcp', host: '127.0.0.1', port: 0 })
    service.message('echo', ({ data }) => data)
    define(service)
    await service.listen()
    this.defer(() => service.stop())
    return service.address!.port
  }

  /** Starts a client of the peer. */
  async dial(port: number, options: ConnectOptions = {}): Promise<PeerConnection> {
    const connection = await this.peer.connect(port, options)
    this.defer(() => connection.leave())
    return connection
  }

  /** Starts a server of the peer. */
  async listen(options: ListenOptions = {}): Promise<PeerServer> {
    const server = await this.peer.listen(options)
    this.defer(() => server.close())
    return server
  }

  /** Creates our client. */
  connect(port: number, options: ClientOptions = {}): UntypedClient {
    // Retries are off, because a refusal by the peer must be seen.
    const client = connect({
      logger: silent,
      reconnect: false,
      retry: false,
      ...options,
      host: '127.0.0.1',
      port
    })
    this.defer(() => client.close())
    return client
  }

  /** A server of the peer and a connection of our client to it, as both see it. */
  async connected(options: ClientOptions = {}, listenOptions: ListenOptions = {}) {
    const server = await this.listen(listenOptions)
    const tap = await this.tap(server.port)
    const client = this.connect(tap.port, options)
    await client.connect()
    return { server, tap, client, connection: await server.accepted() }
  }

  /** Starts a wiretap in front of a server: connect to the port of the wiretap instead. */
  async tap(port: number): Promise<Wiretap> {
    const tap = await Wiretap.between(port)
    this.defer(() => tap.close())
    return tap
  }

  /** Waits until everything that our client has sent before has arrived at the peer's server, and the reverse. */
  async ping(client: UntypedClient, connection: PeerConnection): Promise<void> {
    const answer = client.request('ping')
    ;(await connection.requested()).answer.next('pong', { complete: true })
    assert.equal(await answer, 'pong')
  }

  async cleanUp(): Promise<void> {
    for (const cleanUp of this.#cleanUps.reverse()) await cleanUp()
  }
}

/** Milliseconds after which a case counts as hanging: longer than any wait in a case. */
const PATIENCE = 15_000

const silent = { error() {}, warn() {} }

export type Run = (given: Case) => Promise<void>
/** Cases by a sentence about the peer, each with the function that tests it. */
export type Cases = Readonly<Record<string, Run>>
/** Cases that a library cannot do, each with a sentence and a test of what the library does instead. */
export type Limits<Of extends Cases> = { readonly [Name in keyof Of]?: readonly [sentence: string, run: Run] }

/** Another RSocket library. */
export interface Subject {
  readonly name: string
  readonly toolchain: Toolchain
  /** Cases against our server that this library cannot do. */
  readonly asking?: Limits<typeof asksOurServer>
  readonly answering?: Limits<typeof answersOurClient>
}

/** Rejects if a case does not settle, before the test runner gives up and ends the peer with it. */
async function soon(run: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`Nothing has happened for ${PATIENCE} ms`)), PATIENCE)
  })
  try {
    await Promise.race([run, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Registers the tests. If the toolchain is missing, this is logged, or is a failure in CI. */
export async function testInterop({ name, toolchain, asking = {}, answering = {} }: Subject): Promise<void> {
  const { missing } = toolchain
  if (missing !== undefined) {
    const text = `the interop tests with ${name}: there is no ${missing}`
    if (process.env['CI']) it(`runs ${text}`, () => assert.fail(`Cannot run ${text}`))
    else console.log(`Left out: ${text}`)
    return
  }
  // Not in a hook, which has a timeout: packages are downloaded the first time.
  const command = await toolchain.prepare()
  describe(name, () => {
    let peer: Peer
    before(() => {
      peer = new Peer(command)
    })
    after(async () => {
      assert.equal(await peer.stop(), 0, peer.errors)
    })

    function register(cases: Cases, limits: Limits<Cases>): void {
      for (const [sentence, run] of Object.entries(cases)) {
        const [shown, runs] = limits[sentence] ?? [sentence, run]
        it(shown, async () => {
          const given = new Case(peer)
          try {
            await soon(runs(given))
          } finally {
            await given.cleanUp()
          }
        })
      }
    }

    describe('asks our server', () => register(asksOurServer, asking))
    describe('answers our client', () => register(answersOurClient, answering))
  })
}
