/** What the compiler knows of services and clients. The assertions are types: a wrong one does not compile. */
import { describe, it } from 'node:test'
import { Elysia } from 'elysia'
import { expectTypeOf } from 'expect-type'
import { from, type Observable } from 'rxjs'
import { connect } from './client/index.ts'
import { type Message, microservice } from './index.ts'

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
  .message({ cmd: 'object' }, () => 1)
  .event('placed', ({ data }: Message<{ id: number }>) => data)

const client = () => connect<typeof service>({ transport: 'tcp' })
type Client = ReturnType<typeof client>

/** Compiled, never run. */
function calls(c: Client) {
  expectTypeOf(c.request('sum', [1])).toEqualTypeOf<Promise<number>>()
  expectTypeOf(c.request('promise')).toEqualTypeOf<Promise<string>>()
  expectTypeOf(c.send('observable')).toEqualTypeOf<Observable<number>>()
  expectTypeOf(c.send('promise of observable')).toEqualTypeOf<Observable<string>>()
  expectTypeOf(c.stream('async generator')).toEqualTypeOf<AsyncIterableIterator<{ n: number }>>()
  expectTypeOf(c.stream('generator')).toEqualTypeOf<AsyncIterableIterator<boolean>>()
  expectTypeOf(c.request('list')).toEqualTypeOf<Promise<number[]>>()
  expectTypeOf(c.stream('channel', from([1]))).toEqualTypeOf<AsyncIterableIterator<number>>()
  expectTypeOf(c.emit('placed', { id: 1 })).toEqualTypeOf<Promise<void>>()
  // @ts-expect-error there is no such pattern
  void c.request('nothing')
  // @ts-expect-error the data is a list of numbers
  void c.request('sum', ['a'])
  // @ts-expect-error the data is missing
  void c.request('sum')
  // @ts-expect-error the channel takes numbers
  void c.stream('channel', from(['a']))
  // @ts-expect-error an event is not asked
  void c.request('placed', { id: 1 })
  // @ts-expect-error a message is not emitted
  void c.emit('sum', [1])
  // @ts-expect-error the event has an id
  void c.emit('placed', {})
}

function untyped() {
  const c = connect({ transport: 'tcp' })
  expectTypeOf(c.request({ cmd: 'x' }, 1)).toEqualTypeOf<Promise<unknown>>()
  expectTypeOf(c.request<number>(5)).toEqualTypeOf<Promise<number>>()
  expectTypeOf(c.send<string>('x')).toEqualTypeOf<Observable<string>>()
}

function plugin() {
  const app = new Elysia().use(service).get('/users', () => 'users')
  expectTypeOf<(typeof app)['~Routes']>().toHaveProperty('users')
}

describe('the types of services and clients', () => {
  it('are as the assertions of this file say, which compiles', () => {
    expectTypeOf(calls).toBeFunction()
    expectTypeOf(untyped).toBeFunction()
    expectTypeOf(plugin).toBeFunction()
  })
})
