/**
 * The specs of NestJS's own suites of gRPC, with the calls and outcomes of `*-grpc.spec.ts`: a server and clients, each made by
 * NestJS or by us, from the same options.
 */
import { join } from 'node:path'
import { ClientProxyFactory, MicroserviceGrpcClient, NestFactory } from '@elysia-microservices/nestjs'
import { freePort } from '@elysia-microservices/test-support'
import { Module } from '@nestjs/common'
import { NestFactory as Nest } from '@nestjs/core'
import {
  ClientGrpcProxy,
  type GrpcOptions,
  ClientProxyFactory as NestFactoryOfClients,
  RpcException,
  Transport
} from '@nestjs/microservices'
import { firstValueFrom, lastValueFrom, type Observable, ReplaySubject, toArray } from 'rxjs'
import { testsFolder } from '../../workspace.ts'
import { type Client, plain, type ServiceError } from './callers.ts'
import { ended, ParcelsController, SumsController } from './suite-controllers.ts'

/** The maker of an end. */
export type Maker = 'Nest' | 'ours'

const protos = join(testsFolder, 'nestjs/grpc/protos')
const file = (name: string) => join(protos, 'suite', `${name}.proto`)

@Module({ controllers: [SumsController] })
class Sums {}
@Module({ controllers: [ParcelsController] })
class Parcels {}

type Options = GrpcOptions['options']
const grpc = (options: Options) => ({ transport: Transport.GRPC as const, options })

async function serve(
  by: Maker,
  module: new () => object,
  options: Options
): Promise<{ close(): Promise<unknown> }> {
  const factory = by === 'Nest' ? Nest : NestFactory
  const app = await factory.createMicroservice(module, { ...grpc(options), logger: false })
  await app.listen()
  return app
}

type Closing = Client & { close(): unknown }

const connect = (by: Maker, options: Options): Closing =>
  (by === 'Nest'
    ? NestFactoryOfClients.create(grpc(options))
    : ClientProxyFactory.create(grpc(options))) as unknown as Closing

/** A client whose class says what errors are. */
function connectCustom(by: Maker, options: Options): Closing {
  class OfNest extends ClientGrpcProxy {
    override serializeError(error: unknown) {
      return new RpcException(error as Error)
    }
  }
  class Ours extends MicroserviceGrpcClient {
    override serializeError(error: unknown) {
      return new RpcException(error as Error)
    }
  }
  return (by === 'Nest' ? new OfNest(options) : new Ours(grpc(options))) as unknown as Closing
}

/** A call of a client of grpc-js. */
interface Call {
  on(event: string, listener: (value: never) => void): void
  write(value: object): void
  end(): void
  cancel(): void
}
type Callback = (error: ServiceError | null, value?: unknown) => void
type Callable = Readonly<Record<string, (...args: unknown[]) => Call>>
type Service = Readonly<Record<string, (...args: unknown[]) => Observable<unknown>>>

/** The clients of one server, and their services. */
interface Ends {
  readonly sums: Service
  readonly products: Service
  readonly parcels: Service
  readonly rawSums: Callable
  readonly rawParcels: Callable
  /** The service of sums, of a client whose class makes errors. */
  readonly custom: Service
  /** Messages of more than a megabyte to send. */
  readonly large: number
}

/** Sends one message into a stream and leaves after the first answer. */
const leftAfterFirst = (call: Call, message: object) =>
  new Promise((resolve) => {
    const got: unknown[] = []
    call.on('metadata', (metadata: { get(name: string): unknown[] }) =>
      got.push(...metadata.get('Set-Cookie'))
    )
    call.on('data', (value) => {
      got.push(value)
      call.cancel()
    })
    call.on('error', ({ code }: ServiceError) => resolve([...got, code]))
    call.write(message)
  })

/** The answer to a call with a callback. @param send sends what the call streams */
const answered = (begin: (callback: Callback) => Call, send: (call: Call) => void = () => {}) =>
  new Promise((resolve) => {
    send(begin((error, value) => resolve(error === null ? value : [error.code, error.details])))
  })

/** The error with which a stream ends. */
const failure = (call: Call, send: (call: Call) => void = () => {}) =>
  new Promise((resolve) => {
    call.on('data', (value) => resolve(['a value', value]))
    call.on('end', () => setTimeout(() => resolve('no error'), 50))
    call.on('error', ({ code, details }: ServiceError) => resolve([code, details]))
    send(call)
  })

const thrown = async (values: Observable<unknown>) => firstValueFrom(values).catch((error: unknown) => error)
const one = (call: Call) => {
  call.write({ numbers: [1] })
  call.end()
}
const deadline = () => ({ deadline: Date.now() + 5_000 })
const five = { numbers: [1, 2, 3, 4, 5] }
const PARCEL = { id: 1, parcelKinds: [1], route: { from: 'Berlin', to: 'Paris' } }

interface Spec {
  run(ends: Ends): Promise<unknown>
  readonly expected: unknown
  /** NestJS 12.1 waits for ever, or its process ends: the spec is newer. */
  readonly isNewer?: boolean
}

export const SUITE: Readonly<Record<string, Spec>> = {
  'a method by both of its names': {
    run: async ({ sums }) => [
      await firstValueFrom(sums['add']!(five)),
      await firstValueFrom(sums['Add']!(five))
    ],
    expected: [{ sum: 15 }, { sum: 15 }]
  },
  'a class of clients that makes errors': {
    async run({ sums, custom }) {
      const wrong = { dividend: 1, divisor: 0 }
      const errors = [await thrown(sums['divide']!(wrong)), await thrown(custom['divide']!(wrong))]
      return errors.map((error) => error instanceof RpcException)
    },
    expected: [false, true]
  },
  'several packages and files': {
    run: async ({ products }) => firstValueFrom(products['multiply']!({ numbers: [2, 3] })),
    expected: { product: 6 }
  },
  'a stream for an Observable': {
    run: async ({ rawSums }) => leftAfterFirst(rawSums['addEach']!(), five),
    expected: [{ sum: 15 }, 1]
  },
  'a stream for a call': {
    run: async ({ rawSums }) => leftAfterFirst(rawSums['addRaw']!(), five),
    expected: [{ sum: 15 }, 1]
  },
  'messages that fill all buffers': {
    async run({ sums, large }) {
      const values = sums['large']!({ count: large }).pipe(toArray())
      const parts = await lastValueFrom(values).catch(({ code }: ServiceError) => code)
      if (typeof parts === 'number') return parts
      const ids = parts.map((part) => (part as { readonly id?: number }).id ?? 0)
      return ids.every((id, index) => id === index) && ids.length === large
    },
    expected: true
  },
  'a stream that fails': {
    async run({ rawSums }) {
      let unhandled = 0
      const count = () => void unhandled++
      process.on('unhandledRejection', count)
      const divisions = [{ dividend: 1, divisor: 0 }]
      const error = await failure(rawSums['divideEach']!({ divisions }))
      await new Promise((resolve) => setTimeout(resolve, 20))
      process.off('unhandledRejection', count)
      return [error, unhandled]
    },
    expected: [[3, 'nothing can be divided by 0'], 0]
  },
  'a service in a package within the package': {
    run: async ({ parcels }) => firstValueFrom(parcels['find']!({ id: 1 })),
    expected: PARCEL
  },
  'an upload from a ReplaySubject': {
    async run({ parcels }) {
      const upload = new ReplaySubject<object>()
      upload.next({ id: 1 })
      upload.complete()
      return firstValueFrom(parcels['collect']!(upload))
    },
    expected: PARCEL
  },
  'a call with a callback': {
    run: async ({ rawParcels }) => answered((callback) => rawParcels['find']!({ id: 1 }, callback)),
    expected: PARCEL
  },
  'metadata of a stream for an Observable': {
    run: async ({ rawParcels }) => leftAfterFirst(rawParcels['track']!(), { id: 1 }),
    expected: ['seen=yes', PARCEL, 1]
  },
  'a stream for a call, both ways': {
    run: async ({ rawParcels }) => leftAfterFirst(rawParcels['trackRaw']!(), { id: 1 }),
    expected: [PARCEL, 1]
  },
  'an upload to an Observable': {
    run: async ({ rawParcels }) => answered((callback) => rawParcels['collect']!(callback), one),
    expected: PARCEL
  },
  'an upload to a call': {
    run: async ({ rawParcels }) => answered((callback) => rawParcels['collectRaw']!(callback), one),
    expected: PARCEL
  },
  'a handler that completes without an answer': {
    async run({ rawSums }) {
      const [code] = (await answered((callback) => rawSums['empty']!(five, deadline(), callback))) as number[]
      return code
    },
    expected: 13,
    isNewer: true
  },
  'an upload whose handler completes without an answer': {
    async run({ rawSums }) {
      const begin = (callback: Callback) => rawSums['collectEmpty']!(deadline(), callback)
      const [code] = (await answered(begin, one)) as number[]
      return code
    },
    expected: 13,
    isNewer: true
  },
  'an upload whose handler answers nothing': {
    run: async ({ rawSums }) => answered((callback) => rawSums['collectVoid']!(deadline(), callback), one),
    expected: {},
    isNewer: true
  },
  'a stream for a call whose handler throws': {
    run: async ({ rawSums }) => failure(rawSums['rawThrows']!(deadline()), one),
    expected: [3, 'the stream is refused'],
    isNewer: true
  },
  'a stream for a call whose handler rejects': {
    run: async ({ rawSums }) => failure(rawSums['rawRejects']!(deadline()), one),
    expected: [3, 'the stream is refused'],
    isNewer: true
  },
  'a stream for an Observable whose answer fails': {
    async run({ rawSums }) {
      const end = firstValueFrom(ended)
      const send = (call: Call) => void call.write(five)
      return [await failure(rawSums['rejectLater']!(deadline()), send), await end]
    },
    expected: [[3, 'the message is refused'], 'complete'],
    isNewer: true
  },
  'an upload to a call whose handler throws': {
    run: async ({ rawSums }) => answered((callback) => rawSums['collectThrows']!(deadline(), callback), one),
    expected: [3, 'the collection is refused'],
    isNewer: true
  }
}

/** The outcomes of NestJS's suites with these ends. @param large messages of more than a megabyte */
export async function outcomes(
  server: Maker,
  client: Maker,
  large: number
): Promise<Record<string, unknown>> {
  const url = async () => `127.0.0.1:${await freePort()}`
  const sums: Options = {
    url: await url(),
    package: ['sums', 'products'],
    protoPath: [file('sums'), file('products')]
  }
  const parcels: Options = {
    url: await url(),
    package: 'parcels',
    protoPath: 'suite/root.proto',
    loader: { includeDirs: [protos], keepCase: true }
  }
  const servers = [await serve(server, Sums, sums), await serve(server, Parcels, parcels)]
  const two = connect(client, sums)
  // The client names the inner package, and reads names in camelCase.
  const third = connect(client, { ...parcels, package: 'parcels.v1', loader: { includeDirs: [protos] } })
  const custom = connectCustom(client, sums)
  const ends: Ends = {
    sums: two.getService('Sums'),
    products: two.getService('Products'),
    parcels: third.getService('Parcels'),
    rawSums: two.getClientByServiceName('Sums') as Callable,
    rawParcels: third.getClientByServiceName('Parcels') as Callable,
    custom: custom.getService('Sums'),
    large
  }
  const all: Record<string, unknown> = {}
  for (const [name, { run, isNewer = false }] of Object.entries(SUITE))
    if (server === 'ours' || !isNewer) all[name] = plain(await run(ends))
  for (const one of [two, third, custom]) await one.close()
  for (const one of servers) await one.close()
  return all
}

/** Megabytes by which an Observable may be ahead of its reader: more is kept by NestJS alone. */
const MOST_AHEAD = 128

/** The outcomes that are right, with the differences that docs/grpc.md tells. @param large as for `outcomes` */
export function expectedOutcomes(server: Maker, large: number): Record<string, unknown> {
  const specs = Object.entries(SUITE).filter(([, { isNewer = false }]) => server === 'ours' || !isNewer)
  const all = Object.fromEntries(specs.map(([name, { expected }]) => [name, expected]))
  return server === 'ours' && large > MOST_AHEAD ? { ...all, 'messages that fill all buffers': 8 } : all
}
