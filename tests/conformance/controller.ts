/** The controllers of the servers under test, written as users of NestJS write them. */
import { BadRequestException, Controller } from '@nestjs/common'
import {
  Ctx,
  EventPattern,
  MessagePattern,
  Payload,
  RpcException,
  type TcpContext
} from '@nestjs/microservices'
import { concat, EMPTY, from, NEVER, Observable, of, throwError, timer } from 'rxjs'
import { take } from 'rxjs/operators'

/** The list to which handlers add what they receive; a global, because NestJS creates the instances. */
export const seen: unknown[] = []

/** Lets the first of two handlers go on when the second has begun. */
let meet: (() => void) | undefined

/** Resolves when two handlers have called it, so that neither ends before both have begun. */
export function meetAnother(): Promise<void> {
  const first = meet
  meet = undefined
  first?.()
  if (first !== undefined) return Promise.resolve()
  return new Promise((resolve) => {
    meet = resolve
  })
}

/** Handlers with patterns that every transport can carry: names. */
@Controller()
export class NamedController {
  @MessagePattern('echo')
  echo(@Payload() data: unknown): unknown {
    return data
  }

  @MessagePattern('promise')
  async promise(@Payload() data: unknown): Promise<unknown> {
    return data
  }

  @MessagePattern('undefined')
  nothing(): undefined {
    return undefined
  }

  @MessagePattern('function')
  fn(): unknown {
    return () => 1
  }

  @MessagePattern('symbol')
  symbol(): unknown {
    return Symbol('s')
  }

  @MessagePattern('date')
  date(): unknown {
    return { date: new Date(0), map: new Map([[1, 2]]), buffer: Buffer.from([1, 2]), nan: Number.NaN }
  }

  @MessagePattern('of')
  one(): unknown {
    return of(1)
  }

  @MessagePattern('empty')
  empty(): unknown {
    return EMPTY
  }

  @MessagePattern('from')
  many(): unknown {
    return from([1, 2, 3])
  }

  @MessagePattern('promise-of-from')
  async promiseOfMany(): Promise<unknown> {
    return from([1, 2, 3])
  }

  @MessagePattern('from-with-undefined')
  withUndefined(): unknown {
    return from([1, undefined, 3])
  }

  @MessagePattern('later-end')
  laterEnd(): unknown {
    return concat(of(1), laterEmpty())
  }

  @MessagePattern('timer')
  timer(): unknown {
    return timer(0, 5).pipe(take(3))
  }

  @MessagePattern('never')
  never(): unknown {
    return concat(of(1), NEVER)
  }

  @MessagePattern('silent')
  silent(): unknown {
    return NEVER
  }

  @MessagePattern('values-then-error')
  valuesThenError(): unknown {
    return concat(
      of(1, 2),
      throwError(() => new RpcException('late'))
    )
  }

  @MessagePattern('promise-of-failing')
  async failing(): Promise<unknown> {
    return throwError(() => new RpcException('late'))
  }

  @MessagePattern('rpc-exception')
  rpcException(@Payload() content: string | object): never {
    throw new RpcException(content)
  }

  @MessagePattern('rpc-exception-of-an-error')
  rpcExceptionOfError(): never {
    throw new RpcException(new Error('inner'))
  }

  @MessagePattern('rpc-exception-of-undefined')
  rpcExceptionOfUndefined(): never {
    throw new RpcException(undefined as unknown as string)
  }

  @MessagePattern('error')
  error(): never {
    throw new Error('secret')
  }

  @MessagePattern('rejection')
  async rejection(): Promise<never> {
    throw new Error('secret')
  }

  @MessagePattern('throws')
  throws(@Payload() data: unknown): never {
    throw data
  }

  @MessagePattern('http-exception')
  httpException(): never {
    throw new BadRequestException('bad')
  }

  @MessagePattern('bigint')
  bigint(): unknown {
    return 10n
  }

  @MessagePattern('circular')
  circular(): unknown {
    const value: { self?: unknown } = {}
    value.self = value
    return value
  }

  @MessagePattern('from-with-bigint')
  fromBigint(): unknown {
    return from([1, 10n, 3])
  }

  @MessagePattern('generator')
  *generator(): Generator<number> {
    yield 1
    yield 2
  }

  @MessagePattern('async-generator')
  async *asyncGenerator(): AsyncGenerator<number> {
    yield 1
    yield 2
  }

  @MessagePattern('after')
  async after(@Payload() { ms, value }: { ms: number; value: unknown }): Promise<unknown> {
    await new Promise((resolve) => setTimeout(resolve, ms))
    return value
  }

  @MessagePattern('big')
  big(@Payload() size: number): string {
    return 'x'.repeat(size)
  }

  @MessagePattern('context')
  context(@Payload('a') property: unknown, @Ctx() context: TcpContext): unknown {
    return [property, context.getPattern(), context.getMetadata() ?? null]
  }

  @MessagePattern('no-decorators')
  undecorated(...args: unknown[]): unknown {
    return args
  }

  @MessagePattern('several')
  several(): string {
    return 'several'
  }

  @MessagePattern(5)
  number(): string {
    return 'five'
  }

  @MessagePattern('1.0')
  unreachable(): string {
    return 'unreachable'
  }

  @MessagePattern('true')
  unreachableToo(): string {
    return 'unreachable'
  }

  @MessagePattern('007')
  notJson(): string {
    return 'seven'
  }

  @MessagePattern('seen')
  seen(): unknown {
    return seen.splice(0)
  }

  @EventPattern('note')
  note(@Payload() data: unknown): void {
    seen.push(data)
  }

  @EventPattern('slow-note')
  async slowNote(@Payload() data: unknown): Promise<void> {
    seen.push(['begin', data])
    await meetAnother()
    seen.push(['end', data])
  }

  @EventPattern('observable')
  observable(@Payload() data: unknown): Observable<unknown> {
    return new Observable((subscriber) => {
      seen.push(['subscribed', data])
      subscriber.complete()
    })
  }

  @EventPattern('failing-event')
  failingEvent(_data: unknown): unknown {
    throw new Error('event failed')
  }

  @EventPattern('one-answer')
  oneAnswer(_data: unknown): string {
    return 'r1'
  }

  @EventPattern('three-answers')
  first(_data: unknown): string {
    return 'r1'
  }

  @EventPattern('three-answers')
  async second(_data: unknown): Promise<string> {
    return 'r2'
  }

  @EventPattern('three-answers')
  third(_data: unknown): unknown {
    return of('r3')
  }

  @EventPattern('shared')
  sharedA(@Payload() data: unknown): void {
    seen.push(['a', data])
  }

  @EventPattern('shared')
  sharedB(_data: unknown): unknown {
    throw new Error('b failed')
  }

  @EventPattern('shared')
  sharedC(@Payload() data: unknown): void {
    seen.push(['c', data])
  }
}

/** The handlers of `NamedController`, and some with patterns that are objects or texts of objects. */
@Controller()
export class CarriedController extends NamedController {
  @MessagePattern({ b: { d: 1, c: 'q"' }, a: 2 })
  objectPattern(@Ctx() context: TcpContext): unknown {
    return context.getPattern()
  }

  @MessagePattern([['list'], { e: 'one-of-several' }, 'several'])
  override several(): string {
    return 'several'
  }

  @MessagePattern('{"b":1,"a":2}')
  unreachableText(): string {
    return 'unreachable'
  }

  @MessagePattern('{"a":3}')
  canonicalText(): string {
    return 'canonical'
  }
}

/** The handlers of `CarriedController`, and one with the pattern that NATS cannot have as a subject. */
@Controller()
export class ConformanceController extends CarriedController {
  @MessagePattern('')
  emptyPattern(): string {
    return 'empty'
  }
}

/** An Observable that completes in a later turn of the event loop. */
function laterEmpty(): Observable<never> {
  return new Observable((subscriber) => {
    const timer = setTimeout(() => subscriber.complete(), 5)
    return () => clearTimeout(timer)
  })
}
