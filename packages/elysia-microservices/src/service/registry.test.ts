import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  IncomingMessage,
  isThenable,
  PatternNotFoundError,
  routeOf
} from '@elysia-microservices/transport/kit'
import { of, Subject } from 'rxjs'
import type { CompiledHandler } from '../hooks/pipeline.ts'
import { type Patterns, patternList } from '../router/handler-pattern.ts'
import { HandlerRegistry } from './registry.ts'

function message(pattern: string, data?: unknown, kind: 'request' | 'event' = 'request'): IncomingMessage {
  return new IncomingMessage({ transport: 'tcp', kind, pattern, route: pattern, data })
}

function registry() {
  const handlers = new HandlerRegistry()
  const add = (kind: 'message' | 'event') => (patterns: Patterns, handler: CompiledHandler) =>
    handlers.add({ kind, patterns: patternList(patterns), handler })
  return { handlers, addMessage: add('message'), addEvent: add('event') }
}

describe('HandlerRegistry', () => {
  it('answers a request with what its handler returns', () => {
    const { handlers, addMessage } = registry()
    addMessage('sum', ({ data }) => (data as number[]).length)
    assert.equal(handlers.request(message('sum', [1, 2])), 2)
  })

  it('says that nobody handles a request', () => {
    assert.throws(() => registry().handlers.request(message('sum')), {
      name: 'PatternNotFoundError',
      message: "There is no handler for the pattern 'sum'",
      received: undefined
    })
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
      name: 'OptionError',
      path: 'pattern',
      message: /^The message pattern '\{"cmd":"a"\}' has a handler already/
    })
    assert.throws(() => addMessage(true as unknown as string, () => 1), { name: 'OptionError' })
  })

  it('says by which pattern a handler was found, unless that is the route of the message', () => {
    const { handlers, addMessage, addEvent } = registry()
    const matched = ({ matched }: IncomingMessage) => matched
    for (const pattern of ['sum', 'users.*', /^invoice-/, '>']) addMessage(pattern, matched)
    const seen: unknown[] = []
    for (const pattern of ['placed.*', 'placed.7'])
      addEvent(pattern, (message) => seen.push(matched(message)))
    assert.equal(handlers.request(message('sum')), undefined)
    assert.equal(handlers.request(message('users.7')), 'users.*')
    assert.equal(handlers.request(message('invoice-7')), '/^invoice-/')
    assert.equal(handlers.request(message('x')), '>')
    handlers.event(message('placed.7', undefined, 'event'))
    assert.deepEqual(seen, ['placed.*', 'placed.*'])
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

  it('runs all handlers of an event, and fails with what failed in any way', async () => {
    const { handlers, addEvent } = registry()
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
    const running = handlers.event(message('x', undefined, 'event'))
    assert.deepEqual(seen, ['last'])
    await assert.rejects(async () => running, {
      name: 'AggregateError',
      message: '3 handlers of the event failed',
      errors: [failure, failure, failure]
    })
  })

  it('fails with the error of the one handler that fails, at once or later', async () => {
    const failure = new Error('no')
    for (const fail of [
      () => {
        throw failure
      },
      () => Promise.reject(failure),
      async function* () {
        yield 1
        throw failure
      }
    ]) {
      const { handlers, addEvent } = registry()
      addEvent('x', fail)
      await assert.rejects(async () => handlers.event(message('x', undefined, 'event')), failure)
      addEvent('x', () => 'fine')
      await assert.rejects(async () => handlers.event(message('x', undefined, 'event')), failure)
    }
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

  it('says that nobody handles an event', () => {
    const { handlers } = registry()
    assert.throws(
      () => handlers.event(message('x', undefined, 'event')),
      (error) => error instanceof PatternNotFoundError && error.received === undefined
    )
  })

  it('tells all patterns, for brokers: in their canonical form, and a RegExp as it is', () => {
    const { handlers, addMessage, addEvent } = registry()
    assert.deepEqual(handlers.routes(), [])
    addMessage(['sum', { b: 1, a: 'x' }, /^y/], () => 1)
    addEvent('orders.*', () => {})
    assert.deepEqual(handlers.routes(), [
      { kind: 'message', route: 'sum' },
      { kind: 'message', route: '{"a":"x","b":1}' },
      { kind: 'message', route: undefined, regexp: /^y/ },
      { kind: 'event', route: 'orders.*' }
    ])
    handlers.replaceAll([])
    assert.deepEqual(handlers.routes(), [])
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

  it('answers no request by handlers of many events: a mistyped pattern is no success, and others may handle it', () => {
    const { handlers, addMessage, addEvent } = registry()
    for (const pattern of ['>', 'x.*', /^x/]) addEvent(pattern, () => 'seen')
    for (const pattern of ['x', 'x.1'])
      assert.throws(() => handlers.request(message(pattern)), { name: 'PatternNotFoundError' })
    addEvent('x.1', () => 'exact')
    addMessage('y.*', () => 'message')
    assert.equal(handlers.request(message('x.1')), 'exact')
    assert.equal(handlers.request(message('y.1')), 'message')
  })
})
