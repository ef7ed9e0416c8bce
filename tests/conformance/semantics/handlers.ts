/** The service written with our functional API; it answers as the controllers do. */
import { BadRequestException } from '@nestjs/common'
import { RpcException } from '@nestjs/microservices'
import { type Logger, type Message, microservice, type Transport } from 'elysia-microservices'
import { EMPTY, from, NEVER, Observable, of, throwError, timer } from 'rxjs'
import { concatWith, take } from 'rxjs/operators'
import { meetAnother, seen } from '../controller.ts'
import {
  count,
  fail,
  first,
  headed,
  inLevels,
  runningSum,
  said,
  subscription,
  sum,
  wait
} from './live-controller.ts'

type Numbers = Message<AsyncIterable<number>>

/** Creates the service. @param carries whether the transport carries a pattern; default: all patterns */
export function handlersService(
  transport: Transport,
  logger: Logger,
  carries: (pattern: string) => boolean = () => true
) {
  const service = microservice({ name: 'semantics', transport, logger, drain: 100 })
    .message('echo', ({ data }) => data)
    .message('promise', async ({ data }) => data)
    .message('undefined', () => undefined)
    .message('function', () => () => 1)
    .message('symbol', () => Symbol('s'))
    .message('date', () => ({
      date: new Date(0),
      map: new Map([[1, 2]]),
      buffer: Buffer.from([1, 2]),
      nan: Number.NaN
    }))
    .message('of', () => of(1))
    .message('empty', () => EMPTY)
    .message('from', () => from([1, 2, 3]))
    .message('promise-of-from', async () => from([1, 2, 3]))
    .message('from-with-undefined', () => from([1, undefined, 3]))
    .message('later-end', () => of(1).pipe(concatWith(timer(5).pipe(take(0)))))
    .message('timer', () => timer(0, 5).pipe(take(3)))
    .message('never', () => of(1).pipe(concatWith(NEVER)))
    .message('silent', () => NEVER)
    .message('values-then-error', () => of(1, 2).pipe(concatWith(throwError(() => new RpcException('late')))))
    .message('promise-of-failing', async () => throwError(() => new RpcException('late')))
    .message('rpc-exception', ({ data }: Message<string | object>) => {
      throw new RpcException(data)
    })
    .message('rpc-exception-of-an-error', () => {
      throw new RpcException(new Error('inner'))
    })
    .message('rpc-exception-of-undefined', () => {
      throw new RpcException(undefined as unknown as string)
    })
    .message('error', () => {
      throw new Error('secret')
    })
    .message('rejection', async () => {
      throw new Error('secret')
    })
    .message('throws', ({ data }) => {
      throw data
    })
    .message('http-exception', () => {
      throw new BadRequestException('bad')
    })
    .message('bigint', () => 10n)
    .message('circular', () => {
      const value: { self?: unknown } = {}
      value.self = value
      return value
    })
    .message('from-with-bigint', () => from([1, 10n, 3]))
    .message('generator', function* () {
      yield 1
      yield 2
    })
    .message('async-generator', async function* () {
      yield 1
      yield 2
    })
    .message('context', ({ data, pattern, metadata }: Message<{ a?: unknown }>) => [
      data.a,
      pattern,
      metadata ?? null
    ])
    .message('no-decorators', ({ data }) => [data])
    .message(5, () => 'five')
    .message('several', () => 'several')
    .message('007', () => 'seven')
    .message('seen', () => seen.splice(0))
    .event('note', ({ data }) => void seen.push(data))
    .event('slow-note', async ({ data }) => {
      seen.push(['begin', data])
      await meetAnother()
      seen.push(['end', data])
    })
    .event(
      'observable',
      ({ data }) =>
        new Observable((subscriber) => {
          seen.push(['subscribed', data])
          subscriber.complete()
        })
    )
    .event('failing-event', () => {
      throw new Error('event failed')
    })
    .event('one-answer', () => 'r1')
    .event('three-answers', () => 'r1')
    .event('three-answers', async () => 'r2')
    .event('three-answers', () => of('r3'))
    .event('shared', ({ data }) => void seen.push(['a', data]))
    .event('shared', () => {
      throw new Error('b failed')
    })
    .event('shared', ({ data }) => void seen.push(['c', data]))
    // The same handlers as `LiveController`.
    .message('who', ({ kind, headers, timeout, peer }) => ({
      kind,
      headers,
      timeout: timeout ?? null,
      address: peer?.address ?? null
    }))
    .message('wait', ({ signal }) => wait(signal))
    .message('count', ({ data }: Message<number>) => count(data))
    .message('subscription', () => subscription())
    .message('sum', ({ data }: Numbers) => sum(data))
    .message('running-sum', ({ data }: Numbers) => runningSum(data))
    .message('first-of-a-channel', ({ data }: Numbers) => first(data))
    .message('headed', ({ data, set }) => headed(data, set))
    .message('rpc-error', ({ data }) => fail(data))
    .event('told', ({ data, kind, headers }) => said.values.put({ data, kind, headers }))
  // The same handlers as `CarriedController`, except those with names.
  if (carries('{"a":3}'))
    service
      .message({ b: { d: 1, c: 'q"' }, a: 2 }, ({ pattern }) => pattern)
      .message('{"e":"one-of-several"}', () => 'several')
      .message('{"a":3}', () => 'canonical')
  const { wildcards, levels = false } = transport.traits
  const at = (pattern: string) => (levels ? inLevels(pattern) : pattern)
  if (!carries(at('audit.*'))) return service
  // The same handlers as `WildcardController`.
  service
    .message(at('orders.*.items'), ({ pattern }) => `items by ${pattern}`)
    .message(at('orders.>'), ({ pattern }) => `rest by ${pattern}`)
    .message(at('orders.new.items'), () => 'exact')
    .event(at('audit.*'), ({ data }) => said.values.put(['one', data]))
    .event(at('audit.>'), ({ data }) => said.values.put(['all', data]))
  // Engines with wildcards cannot have the empty pattern as an address.
  return wildcards || levels ? service : service.message('', () => 'empty')
}
