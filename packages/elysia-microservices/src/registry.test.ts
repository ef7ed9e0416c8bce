import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type Connection,
  IncomingMessage,
  isThenable,
  NO_HANDLER,
  routeOf
} from '@elysia-microservices/transport'
import { lastValueFrom, type Observable, of, Subject } from 'rxjs'
import { HandlerRegistry } from './registry.ts'

const connection: Connection = { remoteAddress: undefined, remotePort: undefined, onClose: () => () => {} }

function message(pattern: string, data?: unknown, kind: 'request' | 'event' = 'request'): IncomingMessage {
  return new IncomingMessage(pattern, pattern, data, undefined, connection, kind)
}

function registry() {
  const errors: [string, unknown][] = []
  const handlers = new HandlerRegistry({
    error: (text, cause) => void errors.push([text, cause]),
    warn() {}
  })
  return { handlers, errors }
}

describe('HandlerRegistry', () => {
  it('answers a request with what its handler returns', () => {
    const { handlers } = registry()
    handlers.addMessage('sum', ({ data }) => (data as number[]).length)
    assert.equal(handlers.request(message('sum', [1, 2])), 2)
  })

  it('says that nobody handles a request', () => {
    assert.equal(registry().handlers.request(message('sum')), NO_HANDLER)
  })

  it('finds patterns by their route, whatever their form', () => {
    const { handlers } = registry()
    handlers.addMessage([{ b: 1, a: 'x' }, 5, 'text'], ({ pattern }) => pattern)
    for (const pattern of [{ a: 'x', b: 1 }, 5, '5', 'text']) {
      assert.equal(handlers.request(message(routeOf(pattern))), routeOf(pattern))
    }
  })

  it('refuses a second handler of a message pattern, and what is no pattern or no handler', () => {
    const { handlers } = registry()
    handlers.addMessage({ cmd: 'a' }, () => 1)
    assert.throws(() => handlers.addMessage({ cmd: 'a' }, () => 2), {
      name: 'ValidationError',
      message: /a message pattern without a handler yet, received '\{"cmd":"a"\}'/
    })
    assert.throws(() => handlers.addMessage(true as unknown as string, () => 1), { name: 'ValidationError' })
    assert.throws(() => handlers.addEvent('x', 5 as unknown as () => void), { path: 'handler' })
  })

  it('keeps messages and events of one name apart', () => {
    const { handlers } = registry()
    const seen: string[] = []
    handlers.addMessage('x', () => seen.push('message'))
    handlers.addEvent('x', () => seen.push('event'))
    handlers.request(message('x'))
    handlers.event(message('x', undefined, 'event'))
    assert.deepEqual(seen, ['message', 'event'])
  })

  it('runs all handlers of an event, and reports those that fail in any way', async () => {
    const { handlers, errors } = registry()
    const seen: string[] = []
    const failure = new Error('no')
    handlers.addEvent('x', () => {
      throw failure
    })
    handlers.addEvent('x', () => Promise.reject(failure))
    handlers.addEvent('x', async function* () {
      yield 1
      throw failure
    })
    handlers.addEvent('x', () => void seen.push('last'))
    await handlers.event(message('x', undefined, 'event'))
    assert.deepEqual(seen, ['last'])
    assert.deepEqual(
      errors.map(([, cause]) => cause),
      [failure, failure, failure]
    )
    assert.match(errors[0]![0], /event 'x'/)
  })

  it('subscribes to what an event handler returns, and is done when it completes', async () => {
    const { handlers } = registry()
    const subject = new Subject<void>()
    handlers.addEvent('x', () => subject)
    const running = handlers.event(message('x', undefined, 'event'))
    assert.ok(running !== undefined && isThenable(running))
    assert.ok(subject.observed)
    subject.complete()
    await running
  })

  it('has nothing to wait for when all handlers are done at once', () => {
    const { handlers } = registry()
    handlers.addEvent('x', () => 5)
    assert.equal(handlers.event(message('x', undefined, 'event')), undefined)
  })

  it('reports an event nobody handles', () => {
    const { handlers, errors } = registry()
    handlers.event(message('x', undefined, 'event'))
    assert.match(errors[0]![0], /no matching event handler .* Event pattern: x/)
  })

  it('answers a request of an event pattern with the results of its handlers, nested', async () => {
    const { handlers } = registry()
    handlers.addEvent('x', () => 'one')
    assert.equal(handlers.request(message('x')), 'one')
    handlers.addEvent('x', async () => of('two'))
    handlers.addEvent('x', function* () {
      yield 'not the last'
      yield 'three'
    })
    const answer = handlers.request(message('x')) as Observable<unknown>
    assert.deepEqual(await lastValueFrom(answer), { current: 'one', next: { current: 'two', next: 'three' } })
  })
})
