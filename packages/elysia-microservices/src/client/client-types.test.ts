/** The types of clients. The assertions are about types: a wrong type does not compile. */
import { describe, it } from 'node:test'
import { Elysia, t } from 'elysia'
import { expectTypeOf } from 'expect-type'
import { firstValueFrom, forkJoin, from, map, mergeMap, type Observable, of } from 'rxjs'
import {
  type AnyMicroservice,
  type EventOf,
  type Implements,
  type Message,
  memory,
  microservice
} from '../index.ts'
import type { MessagesOf } from '../types/index.ts'
import {
  type Client,
  type ClientOf,
  type ColdObservable,
  connect,
  type Published,
  type PublishOptions,
  type StoringClient
} from './index.ts'

const service = microservice({ transport: 'tcp' })
  .message('sum', ({ data }: Message<number[]>) => data.length)
  .message('promise', async () => 'text')
  .message('observable', () => from([1, 2]))
  .message('promise of observable', async () => from(['a']))
  .message('async generator', async function* () {
    yield { n: 1 }
  })
  .message('generator', function* () {
    yield true
  })
  .message('list', () => [1, 2])
  .message('channel', ({ data }: Message<AsyncIterable<number>>) => data)
  .message('either', ({ data }: Message<boolean>) => (data ? Number(data) : from(['a'])))
  .message({ cmd: 'object', v: 2 }, () => 1)
  .message({ cmd: 'deep', of: { x: 1 } }, () => 1)
  .message(7, () => 'seven')
  .message(['one', 'other'], () => 1)
  .message('orders.*', ({ params }) => params[0])
  .message('orders.exact', ({ data }: Message<number>) => data)
  .message('logs.>', ({ params }) => Number(params[0]))
  .message(/^regexp/, () => 1)
  .message('>', () => 'catch-all')
  .event('placed', ({ data }: Message<{ id: number }>) => data)
  .event('placed.*', ({ data }: Message<string>) => data)

const date = t
  .Transform(t.String())
  .Decode((text) => new Date(text))
  .Encode((value) => value.toISOString())
const checked = microservice({ transport: 'tcp' })
  .message('decoded', ({ data }) => data, { data: date, response: date })
  .message('optional', ({ data }) => data, { data: t.Optional(t.String()) })
  .message('of the schema', ({ data }: Message<string>) => Number(data), { response: t.Number() })
  .message('headers', () => 1, { headers: t.Object({ tenant: t.String(), depth: t.Optional(t.Number()) }) })
  .event('event', () => {}, { data: t.Object({ id: t.Number() }), headers: t.Object({ tenant: t.String() }) })

const composed = microservice({ transport: 'tcp' })
  .use(service)
  .group('v2', (g) =>
    g
      .message('sum', ({ data }: Message<string>) => data)
      .group('deep', (h) => h.event('placed', ({ data }: Message<number>) => data))
  )
  .guard({ data: t.Number() }, (g) => g.message('guarded', ({ data }) => data))

const client = () => connect<typeof service>({ transport: 'tcp' })
type Typed = ReturnType<typeof client>

/** Only compiled, never run. */
function values(c: Typed) {
  expectTypeOf(c.request('sum', [1])).toEqualTypeOf<Promise<number>>()
  expectTypeOf(c.request('promise')).toEqualTypeOf<Promise<string>>()
  expectTypeOf(c.send('sum', [1])).toEqualTypeOf<ColdObservable<number>>()
  expectTypeOf(c.request('list')).toEqualTypeOf<Promise<number[]>>()
  expectTypeOf(c.request(7)).toEqualTypeOf<Promise<string>>()
  expectTypeOf(c.request('one')).toEqualTypeOf<Promise<number>>()
  expectTypeOf(c.request('other')).toEqualTypeOf<Promise<number>>()
  expectTypeOf(c.request({ cmd: 'object', v: 2 })).toEqualTypeOf<Promise<number>>()
  expectTypeOf(c.request({ v: 2, cmd: 'object' })).toEqualTypeOf<Promise<number>>()
  expectTypeOf(c.emit('placed', { id: 1 })).toEqualTypeOf<Promise<void>>()
  // @ts-expect-error there is no such pattern
  void c.request('nothing')
  // @ts-expect-error the data is a list of numbers
  void c.request('sum', ['a'])
  // @ts-expect-error the data is missing
  void c.request('sum')
  // @ts-expect-error an event is not asked
  void c.request('placed', { id: 1 })
  // @ts-expect-error a message is not emitted
  void c.emit('sum', [1])
  // @ts-expect-error the event has an id
  void c.emit('placed', {})
  // @ts-expect-error another value
  void c.request({ cmd: 'object', v: 3 })
  // @ts-expect-error a key is missing
  void c.request({ cmd: 'object' })
  // @ts-expect-error deeper objects, RegExp and the catch-all are not part of the type
  void c.request({ cmd: 'deep', of: { x: 1 } })
}

function streams(c: Typed) {
  expectTypeOf(c.send('observable')).toEqualTypeOf<ColdObservable<number>>()
  expectTypeOf(c.send('promise of observable')).toEqualTypeOf<ColdObservable<string>>()
  expectTypeOf(c.stream('async generator')).toEqualTypeOf<AsyncIterableIterator<{ n: number }>>()
  expectTypeOf(c.stream('generator')).toEqualTypeOf<AsyncIterableIterator<boolean>>()
  expectTypeOf(c.stream('channel', from([1]))).toEqualTypeOf<AsyncIterableIterator<number>>()
  expectTypeOf(c.request('either', true)).toEqualTypeOf<Promise<string | number>>()
  expectTypeOf(c.stream('either', true)).toEqualTypeOf<AsyncIterableIterator<string | number>>()
  // @ts-expect-error a stream is not one value
  void c.request('observable')
  // @ts-expect-error one value is not a stream
  void c.stream('sum', [1])
  // @ts-expect-error the channel takes numbers
  void c.stream('channel', from(['a']))
}

function wildcards(c: Typed) {
  expectTypeOf(c.request('orders.77')).toEqualTypeOf<Promise<string>>()
  expectTypeOf(c.request('orders.exact', 1)).toEqualTypeOf<Promise<number>>()
  expectTypeOf(c.request('logs.a.b')).toEqualTypeOf<Promise<number>>()
  expectTypeOf(c.emit('placed.now', 'text')).toEqualTypeOf<Promise<void>>()
  // @ts-expect-error the exact pattern says what its data is
  void c.request('orders.exact', 'a')
  // @ts-expect-error the event takes a text
  void c.emit('placed.now', 1)
}

function schemas() {
  const c = connect<typeof checked>({})
  expectTypeOf(c.request('decoded', '2026-01-01')).toEqualTypeOf<Promise<string>>()
  expectTypeOf(c.request('optional')).toEqualTypeOf<Promise<string | undefined>>()
  expectTypeOf(c.request('of the schema', '5')).toEqualTypeOf<Promise<number>>()
  expectTypeOf(c.request('headers', undefined, { headers: { tenant: 'a', depth: '1' } })).toEqualTypeOf<
    Promise<number>
  >()
  expectTypeOf(c.emit('event', { id: 1 }, { headers: { tenant: 'a', traceparent: 'b' } })).resolves.toBeVoid()
  // @ts-expect-error callers send what is decoded there
  void c.request('decoded', new Date())
  // @ts-expect-error headers are missing
  void c.request('headers')
  // @ts-expect-error a header is missing
  void c.request('headers', undefined, { headers: {} })
  // @ts-expect-error a header is missing
  void c.emit('event', { id: 1 })
}

function composition() {
  const c = connect<typeof composed>({})
  expectTypeOf(c.request('sum', [1])).toEqualTypeOf<Promise<number>>()
  expectTypeOf(c.request('v2.sum', 'a')).toEqualTypeOf<Promise<string>>()
  expectTypeOf(c.request('guarded', 1)).toEqualTypeOf<Promise<number>>()
  expectTypeOf(c.emit('v2.deep.placed', 1)).toEqualTypeOf<Promise<void>>()
  expectTypeOf(c.request('orders.1')).toEqualTypeOf<Promise<string>>()
  // @ts-expect-error in the group, sum takes a text
  void c.request('v2.sum', [1])
  // @ts-expect-error the prefix is missing
  void c.emit('deep.placed', 1)
  expectTypeOf<MessagesOf<typeof composed>['sum']['data']>().toEqualTypeOf<number[]>()
}

interface Contract {
  sum(numbers: number[]): number
  later(): Promise<string>
  count(to: number): AsyncIterable<number>
  either(whether: boolean): Promise<number | AsyncIterable<number>>
  'users.get'(id: { id: string }): { name: string }
  placed: EventOf<{ id: number }>
  tick: EventOf
}

function contracts(c: ClientOf<Contract>) {
  expectTypeOf(connect<Contract>()).toEqualTypeOf<ClientOf<Contract>>()
  expectTypeOf(c.request('sum', [1])).toEqualTypeOf<Promise<number>>()
  expectTypeOf(c.request('later')).toEqualTypeOf<Promise<string>>()
  expectTypeOf(c.stream('count', 3)).toEqualTypeOf<AsyncIterableIterator<number>>()
  expectTypeOf(c.request('users.get', { id: 'a' })).toEqualTypeOf<Promise<{ name: string }>>()
  expectTypeOf(c.emit('placed', { id: 1 })).toEqualTypeOf<Promise<void>>()
  expectTypeOf(c.emit('tick')).toEqualTypeOf<Promise<void>>()
  // @ts-expect-error there is no such pattern
  void c.request('nothing')
  // @ts-expect-error the data is a list of numbers
  void c.request('sum', 'a')
  // @ts-expect-error a stream is not one value
  void c.request('count', 3)
  // @ts-expect-error an event is not asked
  void c.request('placed', { id: 1 })
  // @ts-expect-error the event has an id
  void c.emit('placed', {})
  const kept = microservice({ transport: 'tcp' })
    .message('sum', ({ data }: Message<number[]>) => data.length)
    .message('later', async () => 'text')
    .message('count', async function* ({ data }: Message<number>) {
      yield data
    })
    .message('either', ({ data }: Message<boolean>) => (data ? 1 : from([1])))
    .message('users.get', ({ data }: Message<{ id: string }>) => ({ name: data.id }))
    .event('placed', ({ data: _ }: Message<{ id: number }>) => {})
    .event('tick', ({ data: _ }: Message<undefined>) => {})
  kept satisfies Implements<Pick<Contract, 'sum' | 'later' | 'count' | 'users.get' | 'placed' | 'tick'>>
  const broken = microservice({ transport: 'tcp' }).message('sum', ({ data }: Message<number[]>) =>
    String(data)
  )
  // @ts-expect-error the contract has a number there
  broken satisfies Implements<Pick<Contract, 'sum'>>
  // @ts-expect-error the contract's callers send a list, too
  broken satisfies Implements<{ sum(data: number | number[]): string }>
  broken satisfies Implements<{ sum(data: 1[]): string }>
  // @ts-expect-error the service has no such pattern
  broken satisfies Implements<Pick<Contract, 'later'>>
}

function mistaken() {
  const makeService = () => service
  // @ts-expect-error a function that makes a service is none: ReturnType<typeof makeService> is
  void connect<typeof makeService>().request('sum', [1])
  expectTypeOf(connect<ReturnType<typeof makeService>>().request('sum', [1])).toEqualTypeOf<Promise<number>>()
  const takesOne = (client: ClientOf<typeof checked>) => client
  // @ts-expect-error the client of another service
  takesOne(connect<typeof service>())
  takesOne(connect<typeof checked>())
  // A service with more patterns fits where a service with fewer is expected.
  const more = checked.message('more', () => 1)
  takesOne(connect<typeof more>())
  const any: AnyMicroservice[] = [service, checked, composed]
  expectTypeOf(any).items.toHaveProperty('listen')
}

function untyped() {
  const c = connect({ transport: 'tcp' })
  expectTypeOf(c.request({ cmd: 'x' }, 1)).toEqualTypeOf<Promise<unknown>>()
  expectTypeOf(c.request<number>(5)).toEqualTypeOf<Promise<number>>()
  expectTypeOf(c.send<string>('x')).toEqualTypeOf<ColdObservable<string>>()
}

/** Only compiled, never run. */
async function lazy(c: Typed) {
  // @ts-expect-error nothing is called before somebody subscribes
  await c.send('sum', [1])
  const values = c.send('observable')
  expectTypeOf(await firstValueFrom(values)).toEqualTypeOf<number>()
  expectTypeOf(values.pipe(map(String))).toEqualTypeOf<Observable<string>>()
  expectTypeOf(of(1).pipe(mergeMap(() => values))).toEqualTypeOf<Observable<number>>()
  expectTypeOf(forkJoin({ values })).toEqualTypeOf<Observable<{ values: number }>>()
  const passing = microservice({ transport: 'tcp' }).message('passed', () => c.send('observable'))
  expectTypeOf(connect<typeof passing>().stream('passed')).toEqualTypeOf<AsyncIterableIterator<number>>()
}

/** Only compiled, never run. */
function withDefaults() {
  const c = connect<typeof checked>()
  // @ts-expect-error the schema demands a header
  void c.request('headers')
  const mine = c.with({ headers: { tenant: 'a' }, timeout: 5 })
  expectTypeOf(mine.request('headers')).toEqualTypeOf<Promise<number>>()
  expectTypeOf(mine.with({}).emit('event', { id: 1 })).toEqualTypeOf<Promise<void>>()
  // @ts-expect-error the data is still checked
  void mine.emit('event', { id: 'a' })
  // @ts-expect-error the calls cannot close their client
  void mine.close
}

function plugin() {
  const app = new Elysia().use(service).get('/users', () => 'users')
  expectTypeOf<(typeof app)['~Routes']>().toHaveProperty('users')
}

describe('the types of clients', () => {
  it('are as the assertions of this file say, which compiles', () => {
    for (const check of [
      values,
      streams,
      wildcards,
      schemas,
      composition,
      contracts,
      mistaken,
      untyped,
      lazy,
      withDefaults,
      plugin
    ]) {
      expectTypeOf(check).toBeFunction()
    }
  })
})

describe('publishing, to the compiler', () => {
  const client = connect<typeof service>({ transport: memory() })

  it('exists only where the transport stores events, or the service has durable handlers', () => {
    const stored = microservice({ transport: memory() }).event('kept', () => {}, { durable: true })
    const plain = microservice({ transport: memory() }).event('sent', () => {}, { error: () => undefined })
    expectTypeOf<ClientOf<typeof stored>>().toEqualTypeOf<StoringClient<typeof stored>>()
    expectTypeOf<ClientOf<typeof plain>>().toEqualTypeOf<Client<typeof plain>>()
    expectTypeOf<ClientOf<Contract>>().toEqualTypeOf<Client<Contract>>()
    // @ts-expect-error TCP stores nothing
    expectTypeOf(() => connect<typeof stored>({ port: 1 }).publish('kept')).toBeFunction()
    // @ts-expect-error TCP stores nothing
    expectTypeOf(() => connect({ port: 1 }).group('g')).toBeFunction()
    expectTypeOf(connect({ transport: memory() }).with({}).safe.publish).toBeFunction()
  })

  it('takes the data of the event and gives what the engine said', () => {
    const publish = (id: number, options: PublishOptions) => client.publish('placed', { id }, options)
    expectTypeOf(publish).returns.toEqualTypeOf<Promise<Published>>()
    // @ts-expect-error the data is of another type
    expectTypeOf(() => client.publish('placed', { id: 'x' })).toBeFunction()
    // @ts-expect-error a request is none
    expectTypeOf(() => client.publish('sum', [1])).toBeFunction()
  })
})
