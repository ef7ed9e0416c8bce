/**
 * Makes calls one after the other over one transport, with client and service in this process, and prints how often
 * V8 called each function of this library: `node calls.js rsocket`. `tools/scripts/hops.ts` turns the output into a table.
 */
import { Session } from 'node:inspector'
import { nats } from '@elysia-microservices/nats'
import { memory, type Transport } from '@elysia-microservices/transport'
import { Elysia } from 'elysia'
import { type Message, microservice } from 'elysia-microservices'
import { type ConnectOptions, connect } from 'elysia-microservices/client'
import { gateway } from 'elysia-microservices/gateway'
import { type TcpClientOptions, tcp } from 'elysia-microservices/tcp'
import { NatsServerProcess } from '../support/nats-server.ts'
import { ownFolder } from '../support/own-folder.ts'

/** Calls that are counted; the same number of calls is made before, so that code for first calls is not counted. */
const CALLS = 1_000
const DATA = [1, 2, 3]
const logger = { error: console.error, warn() {} }

/** Makes one call and waits for its end. */
type Call = () => Promise<unknown>
/** Starts the service and the client. Returns a function that makes a call. */
type Way = () => Promise<Call>

const newService = (transport: Transport) =>
  microservice({ name: 'hops', transport, logger }).message('echo', ({ data }: Message<number[]>) => data)

async function overTcp(options: TcpClientOptions): Promise<Call> {
  const door = tcp({ host: '127.0.0.1', port: 0 })
  const service = newService(door)
  await service.listen()
  const { port } = door.address as { port: number }
  const client = connect<typeof service>({ transport: tcp({ host: '127.0.0.1', port, ...options }), logger })
  return () => client.request('echo', DATA)
}

async function overOne(transport: ConnectOptions['transport'] & object): Promise<Call> {
  const service = newService(transport)
  await service.listen()
  const client = connect<typeof service>({ transport, logger })
  return () => client.request('echo', DATA)
}

const stored = ownFolder('hops')
const natsServer = () => NatsServerProcess.start('-js', '-sd', stored)

const WAYS: Readonly<Record<string, Way>> = {
  rsocket: () => overTcp({}),
  nest: () => overTcp({ protocol: 'nest' }),
  nats: async () => overOne(nats({ url: (await natsServer()).url })),
  memory: () => overOne(memory()),
  async durable() {
    const transport = nats({ url: (await natsServer()).url })
    let handled = () => {}
    const service = microservice({ name: 'hops', transport, logger }).event('placed', () => handled(), {
      durable: true
    })
    await service.listen()
    const client = connect<typeof service>({ transport, logger })
    return () =>
      new Promise<void>((resolve, reject) => {
        handled = resolve
        client.publish('placed', DATA).catch(reject)
      })
  },
  async gateway() {
    const door = tcp({ host: '127.0.0.1', port: 0 })
    const service = newService(door)
    await service.listen()
    const { port } = door.address as { port: number }
    const client = connect<typeof service>({ transport: tcp({ host: '127.0.0.1', port }), logger })
    const app = new Elysia().use(gateway(client, { 'POST /echo': 'echo' }))
    const request = {
      method: 'POST',
      body: JSON.stringify(DATA),
      headers: { 'content-type': 'application/json' }
    }
    return async () => (await app.handle(new Request('http://localhost/echo', request))).json()
  }
}

const inspector = new Session()
inspector.connect()

const ask = <Result>(method: string, given: object = {}) =>
  new Promise<Result>((resolve, reject) => {
    inspector.post(method, given, (error, result) =>
      error === null ? resolve(result as Result) : reject(error)
    )
  })

const way = WAYS[process.argv[2] ?? '']
if (way === undefined) throw new Error(`Give one of ${Object.keys(WAYS).join(', ')}`)
const call = await way()
for (let n = 0; n < CALLS; n++) await call()
await ask('Profiler.enable')
await ask('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
for (let n = 0; n < CALLS; n++) await call()
const { result } = await ask<{ result: readonly unknown[] }>('Profiler.takePreciseCoverage')
process.stdout.write(JSON.stringify({ calls: CALLS, result }), () => process.exit())
