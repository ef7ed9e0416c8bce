import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type Connection,
  IncomingMessage,
  isThenable,
  NO_HANDLER,
  routeOf
} from '@elysia-microservices/transport'
import { of, Subject } from 'rxjs'
import type { CompiledHandler } from '../hooks/pipeline.ts'
import { HandlerRegistry } from './registry.ts'
import { type Patterns, patternList } from '../router/handler-pattern.ts'

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
  const add = (kind: 'message' | 'event') => (patterns: Patterns, handler: CompiledHandler) =>
    handlers.add({ kind, patterns: patternList(patterns), handler })
  return { handlers, errors, addMessage: add('message'), addEvent: add('event') }
}

describe('HandlerRegistry', () => {
  it('answers a request with what its handler returns', () => {
    const { handlers, addMessage } = registry()
    addMessage('sum', ({ data }) => (data as number[]).length)
    assert.equal(handlers.request(message('sum', [1, 2])), 2)
  })

  it('says that nobody handles a request', () => {
    assert.equal(registry().handlers.request(message('sum')), NO_HANDLER)
  })

  it('finds patterns by their route, whatever their form', () => {
    const { handlers, addMessage } = registry()
    addMessage([{ b: 1, a: 'x' }, 5, 'text'], ({ pattern }) => pattern)
    for (const pattern of [{ a: 'x', b: 1 }, 5, '5', 'text']) {
      assert.equal(handlers.request(message(routeOf(pattern))), routeOf(pattern))
    }
  })

  it('refuses a second handler of a message pattern, and what is no pattern', () => {
    const { addMessage } = registry()
    addMessage({ cmd: 'a' }, () => 1)
    assert.throws(() => addMessage({ cmd: 'a' }, () => 2), {
      name: 'ValidationError',
      message: /a message pattern without a handler yet, received '\{"cmd":"a"\}'/
    })
    assert.throws(() => addMessage(true as unknown as string, () => 1), { name: 'ValidationError' })
  })

  it('keeps messages and events of one name apart', () => {
    const { handlers, addMessage, addEvent } = registry()
    const seen: string[] = []
    addMessage('x', () => seen.push('message'))
    addEvent('x', () => seen.push('event'))
    handlers.request(message('x'))
    handlers.event(message('x', undefined, 'event'))
    assert.deepEqual(seen, ['message', 'event'])
  })

  it('runs all handlers of an event, and reports those that fail in any way', async () => {
    const { handlers, errors, addEvent } = registry()
    const seen: string[] = []
    const failure = new Error('no')
    addEvent('x', () => {
      throw failure
    })
    addEvent('x', () => Promise.reject(failure))
    addEvent('x', async function* () {
      yield 1
      throw failure
    })
    addEvent('x', () => void seen.push('last'))
    await handlers.event(message('x', undefined, 'event'))
    assert.deepEqual(seen, ['last'])
    assert.deepEqual(
      errors.map(([, cause]) => cause),
      [failure, failure, failure]
    )
    assert.match(errors[0]![0], /event 'x'/)
  })

  it('subscribes to what an event handler returns, and is done when it completes', async () => {
    const { handlers, addEvent } = registry()
    const subject = new Subject<void>()
    addEvent('x', () => subject)
    const running = handlers.event(message('x', undefined, 'event'))
    assert.ok(running !== undefined && isThenable(running))
    assert.ok(subject.observed)
    subject.complete()
    await running
  })

  it('has nothing to wait for when all handlers are done at once', () => {
    const { handlers, addEvent } = registry()
    addEvent('x', () => 5)
    assert.equal(handlers.event(message('x', undefined, 'event')), undefined)
  })

  it('reports an event nobody handles', () => {
    const { handlers, errors } = registry()
    handlers.event(message('x', undefined, 'event'))
    assert.match(errors[0]![0], /no matching event handler .* Event pattern: x/)
  })

  it('answers a request of an event pattern with the results of its handlers, nested', async () => {
    const { handlers, addEvent } = registry()
    addEvent('x', () => 'one')
    assert.equal(handlers.request(message('x')), 'one')
    addEvent('x', async () => of('two'))
    addEvent('x', function* () {
      yield 'not the last'
      yield 'three'
    })
    assert.deepEqual(await handlers.request(message('x')), {
      current: 'one',
      next: { current: 'two', next: 'three' }
    })
  })
})
