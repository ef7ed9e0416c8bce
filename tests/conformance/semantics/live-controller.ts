/** Handlers that observe their call while they run: its deadline, its cancellation, the values and the demand. */

import { Values } from '@elysia-microservices/test-support'
import { Controller } from '@nestjs/common'
import { Ctx, EventPattern, MessagePattern, Payload, RpcException } from '@nestjs/microservices'
import { type AnswerSet, RpcError } from 'elysia-microservices'
import { Observable } from 'rxjs'

/** The members that two contexts share: the context of our controllers, and the context of our transport in NestJS. */
export interface LiveContext {
  readonly signal: AbortSignal
  readonly timeout: number | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly kind: 'request' | 'event'
  readonly set: AnswerSet
  getSocketRef(): { readonly address: string | undefined } | undefined
}

/** The values that handlers report, in order. Global, because containers create the instances. */
export const said = { values: new Values<unknown>() }

/** How many values `count` and `burst` have produced. */
export const made = { count: 0 }

/** The answer to `who`. */
export function who({ kind, headers, timeout, getSocketRef }: LiveContext, context: object): unknown {
  return { kind, headers, timeout: timeout ?? null, address: getSocketRef.call(context)?.address ?? null }
}

/** The answer to `wait`: none. */
export function wait(signal: AbortSignal): Promise<never> {
  signal.addEventListener('abort', () => said.values.put('aborted'), { once: true })
  said.values.put('begun')
  return new Promise(() => {})
}

/** The answer to `count`. */
export async function* count(to: number): AsyncGenerator<number> {
  try {
    for (let n = 0; n < to; n++) {
      made.count++
      yield n
    }
  } finally {
    said.values.put('returned')
  }
}

/** The answer to `subscription`. */
export function subscription(): Observable<number> {
  return new Observable((subscriber) => {
    subscriber.next(1)
    return () => said.values.put('unsubscribed')
  })
}

/** The answer to `sum`. */
export async function sum(values: AsyncIterable<number>): Promise<number> {
  let total = 0
  for await (const value of values) total += value
  return total
}

/** The answer to `running sum`. */
export async function* runningSum(values: AsyncIterable<number>): AsyncGenerator<number> {
  let total = 0
  try {
    for await (const value of values) {
      total += value
      yield total
    }
  } catch (error) {
    said.values.put(error)
  }
}

/** The answer to `first of a channel`. */
export async function first(values: AsyncIterable<number>): Promise<number | undefined> {
  for await (const value of values) return value
  return undefined
}

/** The bytes that `headed` puts into a header. */
export const BYTES = Uint8Array.of(0, 128, 255)

/** The text that `headed` puts into a header. Global, because handlers do not know over what they answer. */
export const tenant = { text: '' }

/** The answer to `headed`, in the form that the caller names: with headers at its beginning and its end. */
export function headed(form: unknown, { headers, trailers }: AnswerSet): unknown {
  headers['tenant'] = tenant.text
  headers['trace-bin'] = BYTES
  trailers['cost'] = '7'
  if (form === 'error') throw new RpcException({ code: 'PAPER', message: 'no more paper' })
  if (form === 'nothing') return undefined
  if (form === 'value') return 'one'
  if (form === 'large') return 'x'.repeat(100_000)
  if (form === 'promise') return Promise.resolve('one')
  return (async function* () {
    yield 1
    trailers['cost'] = '8'
    yield 2
    if (form === 'late')
      try {
        headers['tenant'] = 'b'
      } catch (error) {
        yield (error as Error).message
      }
    if (form === 'late error') throw new RpcException({ code: 'PAPER', message: 'no more paper' })
  })()
}

/** The answer to `rpc error`. */
export function fail(data: unknown): never {
  throw new RpcError(data as ConstructorParameters<typeof RpcError>[0])
}

@Controller()
export class LiveController {
  @MessagePattern('who')
  who(@Ctx() context: LiveContext): unknown {
    return who(context, context)
  }

  @MessagePattern('wait')
  wait(@Ctx() { signal }: LiveContext): unknown {
    return wait(signal)
  }

  @MessagePattern('count')
  count(@Payload() to: number): unknown {
    return count(to)
  }

  @MessagePattern('subscription')
  subscription(): unknown {
    return subscription()
  }

  @MessagePattern('sum')
  sum(@Payload() values: AsyncIterable<number>): unknown {
    return sum(values)
  }

  @MessagePattern('running-sum')
  runningSum(@Payload() values: AsyncIterable<number>): unknown {
    return runningSum(values)
  }

  @MessagePattern('first-of-a-channel')
  first(@Payload() values: AsyncIterable<number>): unknown {
    return first(values)
  }

  @MessagePattern('headed')
  headed(@Payload() form: unknown, @Ctx() { set }: LiveContext): unknown {
    return headed(form, set)
  }

  @MessagePattern('rpc-error')
  fail(@Payload() data: unknown): unknown {
    return fail(data)
  }

  @EventPattern('told')
  told(@Payload() data: unknown, @Ctx() context: unknown): void {
    const { kind, headers } = context as LiveContext
    said.values.put({ data, kind, headers })
  }
}

/** The pattern in the form for transports whose wildcards stand for levels. */
export function inLevels(pattern: string): string {
  return pattern.replaceAll('.', '/').replaceAll('*', '+').replaceAll('>', '#')
}

/** A controller whose patterns have wildcards, written as a transport wants them. */
function wildcardController(written: (pattern: string) => string) {
  @Controller()
  class WildcardController {
    @MessagePattern(written('orders.*.items'))
    items(@Ctx() context: { getPattern(): string }): unknown {
      return `items by ${context.getPattern()}`
    }

    @MessagePattern(written('orders.>'))
    rest(@Ctx() context: { getPattern(): string }): unknown {
      return `rest by ${context.getPattern()}`
    }

    @MessagePattern(written('orders.new.items'))
    exact(): unknown {
      return 'exact'
    }

    @EventPattern(written('audit.*'))
    audit(@Payload() data: unknown): void {
      said.values.put(['one', data])
    }

    @EventPattern(written('audit.>'))
    auditAll(@Payload() data: unknown): void {
      said.values.put(['all', data])
    }
  }
  return WildcardController
}

export const WildcardController = wildcardController((pattern) => pattern)
/** The same handlers, for transports whose wildcards stand for levels. */
export const LevelsController = wildcardController(inLevels)
