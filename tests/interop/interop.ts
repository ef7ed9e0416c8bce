/**
 * Registers the interop tests of one peer. The cases are the same for every peer; where a library cannot do
 * something, a test of its own shows that, so that it is noticed when the library learns it.
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

/** Options that only tests give: the size of the frames that are sent. */
interface TestOptions {
  readonly fragmentSize?: number
}

type ServiceOptions = AnyServiceOptions & Omit<TcpServerOptions, 'host' | 'port'> & TestOptions
type ClientOptions = AnyClientOptions & Omit<TcpClientOptions, 'host' | 'port' | 'onEvent'> & TestOptions

/** The parts that a case works with. All that it makes here is closed after it, the newest first. */
export class Case {
  readonly peer: Peer
  readonly #cleanUps: (() => unknown)[] = []

  constructor(peer: Peer) {
    this.peer = peer
  }

  defer(cleanUp: () => unknown): void {
    this.#cleanUps.push(cleanUp)
  }

  /** Our server, with the handlers that `define` adds to `echo`. */
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

  /** The peer's client. */
  async dial(port: number, options: ConnectOptions = {}): Promise<PeerConnection> {
    const connection = await this.peer.connect(port, options)
    this.defer(() => connection.leave())
    return connection
  }

  /** The peer's server. */
  async listen(options: ListenOptions = {}): Promise<PeerServer> {
    const server = await this.peer.listen(options)
    this.defer(() => server.close())
    return server
  }

  /** Our client. */
  connect(port: number, options: ClientOptions = {}): UntypedClient {
    // A refusal by the peer must be seen, and not be retried.
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

  /** The peer's server and a connection of our client to it, as both see it. */
  async connected(options: ClientOptions = {}, listenOptions: ListenOptions = {}) {
    const server = await this.listen(listenOptions)
    const tap = await this.tap(server.port)
    const client = this.connect(tap.port, options)
    await client.connect()
    return { server, tap, client, connection: await server.accepted() }
  }

  /** Stands before a server: connect to its port instead. */
  async tap(port: number): Promise<Wiretap> {
    const tap = await Wiretap.between(port)
    this.defer(() => tap.close())
    return tap
  }

  /** Waits until what our client has sent before has come to the peer's server, and the other way round. */
  async ping(client: UntypedClient, connection: PeerConnection): Promise<void> {
    const answer = client.request('ping')
    ;(await connection.requested()).answer.next('pong', { complete: true })
    assert.equal(await answer, 'pong')
  }

  async cleanUp(): Promise<void> {
    for (const cleanUp of this.#cleanUps.reverse()) await cleanUp()
  }
}

/** Milliseconds after which a case is not going to end: more than any wait in it has. */
const PATIENCE = 15_000

const silent = { error() {}, warn() {} }

export type Run = (given: Case) => Promise<void>
/** Sentences about what the peer does, with what shows it. */
export type Cases = Readonly<Record<string, Run>>
/** Cases that a library cannot do: the sentence and the test of what it does instead. */
export type Limits<Of extends Cases> = { readonly [Name in keyof Of]?: readonly [sentence: string, run: Run] }

/** Somebody else's RSocket. */
export interface Subject {
  readonly name: string
  readonly toolchain: Toolchain
  /** Where it is less than what it asks our server in other libraries. */
  readonly asking?: Limits<typeof asksOurServer>
  readonly answering?: Limits<typeof answersOurClient>
}

/** Rejects what never settles, before the test runner gives up and ends the peer with it. */
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

/** Registers the tests, unless the toolchain is missing: then that is said, or is a failure where all must run. */
export async function testInterop({ name, toolchain, asking = {}, answering = {} }: Subject): Promise<void> {
  const { missing } = toolchain
  if (missing !== undefined) {
    const text = `the interop tests with ${name}: there is no ${missing}`
    if (process.env['CI']) it(`runs ${text}`, () => assert.fail(`Cannot run ${text}`))
    else console.log(`Left out: ${text}`)
    return
  }
  // Not in a hook, which has a timeout: packages come from the network the first time.
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
