/** A service with hostile code at every place for users' code. The data of a message decides what the code does. */
import {
  Catch,
  type ExecutionContext,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes
} from '@nestjs/common'
import { RpcException } from '@nestjs/microservices'
import { type Logger, type Message, microservice, RpcError, type Transport } from 'elysia-microservices'
import { MessagePattern } from 'elysia-microservices/nest'
import { map, type Observable } from 'rxjs'
import { endlessOf, forever, listen } from './endless.ts'
import { emitting, endingMeanwhile } from './meanwhile.ts'
import { make, type Recipe } from './recipes.ts'

/** A message with a recipe. */
type Order = Message<Recipe>

/** A Standard Schema whose validation returns anything. */
function schemaOf(validate: (value: unknown) => unknown): never {
  return { '~standard': { version: 1, vendor: 'hostile', validate } } as never
}

const throws = ({ data }: { data: unknown }) => {
  throw make(data as Recipe)
}
const gives = ({ data }: { data: unknown }) => make(data as Recipe)

class Guard {
  canActivate(context: ExecutionContext): boolean {
    return make(context.switchToRpc().getData<Recipe>()) as boolean
  }
}

class ThrowingGuard {
  canActivate(context: ExecutionContext): boolean {
    throw make(context.switchToRpc().getData<Recipe>())
  }
}

class Pipe {
  transform(data: Recipe): unknown {
    return make(data)
  }
}

class Interceptor {
  intercept(context: ExecutionContext): Observable<unknown> {
    return make(context.switchToRpc().getData<Recipe>()) as Observable<unknown>
  }
}

class ValueInterceptor {
  intercept(context: ExecutionContext, next: { handle(): Observable<unknown> }): Observable<unknown> {
    return next.handle().pipe(map(() => make(context.switchToRpc().getData<Recipe>())))
  }
}

class StreamInterceptor {
  intercept(_: ExecutionContext, next: { handle(): Observable<unknown> }): Observable<unknown> {
    return next.handle()
  }
}

class Filter {
  catch(error: { readonly recipe: Recipe }): Observable<never> {
    return make(error.recipe) as Observable<never>
  }
}

/** A filter that catches every error and answers with the error itself. */
class LookingFilter {
  catch(error: unknown): Observable<never> {
    throw error
  }
}
Catch()(Filter)
Catch()(LookingFilter)

class HostileController {
  @MessagePattern('a-method-gives')
  method(data: Recipe): unknown {
    return make(data)
  }

  @UseGuards(new Guard())
  @MessagePattern('a-guard-gives')
  guarded(): string {
    return 'fine'
  }

  @UseGuards(new ThrowingGuard())
  @MessagePattern('a-guard-throws')
  unguarded(): string {
    return 'fine'
  }

  @UsePipes(new Pipe())
  @MessagePattern('a-pipe-gives')
  piped(data: unknown): unknown {
    return data
  }

  @UseInterceptors(new Interceptor())
  @MessagePattern('an-interceptor-gives')
  intercepted(): string {
    return 'fine'
  }

  @UseInterceptors(new ValueInterceptor())
  @MessagePattern('an-interceptor-maps')
  mapped(): string {
    return 'fine'
  }

  @UseInterceptors(new StreamInterceptor())
  @MessagePattern('a-method-behind-an-interceptor-gives')
  behind(data: Recipe): unknown {
    return make(data)
  }

  @UseFilters(new Filter())
  @MessagePattern('a-filter-gives')
  filtered(data: Recipe): never {
    throw Object.assign(new Error(), { recipe: data })
  }

  @UseFilters(new LookingFilter())
  @MessagePattern('a-method-below-a-filter-throws')
  belowFilter(data: Recipe): never {
    throw make(data)
  }

  @UseFilters(new LookingFilter())
  @MessagePattern('a-method-below-a-filter-gives')
  givesBelowFilter(data: Recipe): unknown {
    return make(data)
  }
}

/** Patterns of requests: each is a place for users' code. Without blanks, which NATS cannot carry. */
export const PLACES = [
  'a-handler-gives',
  'a-handler-throws',
  'a-promise-gives',
  'a-promise-rejects',
  'an-object-holds',
  'a-generator-gives',
  'an-async-generator-gives',
  'a-generator-throws',
  'details-hold',
  'derive-gives',
  'resolve-gives',
  'resolve-throws',
  'beforeHandle-gives',
  'afterHandle-gives',
  'afterHandle-of-a-stream-gives',
  'error-gives',
  'error-is-asked-about',
  'a-hook-looks-at',
  'data-are-checked-which-gives',
  'a-response-is-checked-which-gives',
  'a-stream-is-checked-which-gives',
  'an-around-gives',
  'an-around-throws',
  'a-method-gives',
  'a-guard-gives',
  'a-guard-throws',
  'a-pipe-gives',
  'an-interceptor-gives',
  'an-interceptor-maps',
  'a-method-behind-an-interceptor-gives',
  'a-filter-gives',
  'a-method-below-a-filter-throws',
  'a-method-below-a-filter-gives'
] as const

/** Patterns of events. */
export const EVENTS = [
  'an-event-gives',
  'an-event-throws',
  'several-events-give',
  'several-events-throw'
] as const

/** The service. */
export function hostileService(transport: Transport, logger: Logger) {
  return microservice({
    name: 'hostile',
    transport,
    logger,
    drain: 1_000,
    controllers: [HostileController],
    nest: { RpcException }
  })
    .wrap((next) => (message) => {
      if (message.pattern === 'an-around-gives') return make(message.data as Recipe)
      if (message.pattern === 'an-around-throws') throw make(message.data as Recipe)
      return next(message)
    })
    .message('echo', ({ data }) => data)
    .message('an-around-gives', () => 'fine')
    .message('an-around-throws', () => 'fine')
    .message('a-handler-gives', gives)
    .message('a-handler-throws', throws)
    .message('a-promise-gives', async ({ data }: Order) => make(data))
    .message('a-promise-rejects', async ({ data }: Order) => {
      await undefined
      throw make(data)
    })
    .message('an-object-holds', ({ data }: Order) => ({ one: 1, held: [make(data)] }))
    .message('a-generator-gives', function* ({ data }: Order) {
      yield 1
      yield make(data)
    })
    .message('an-async-generator-gives', async function* ({ data }: Order) {
      yield 1
      yield make(data)
    })
    .message('a-generator-throws', function* ({ data }: Order) {
      yield 1
      throw make(data)
    })
    .message('details-hold', ({ data }: Order) => {
      throw new RpcError({ code: 'HOSTILE', message: 'on purpose', details: make(data) as object })
    })
    .message('derive-gives', () => 'fine', { derive: gives as never })
    .message('resolve-gives', () => 'fine', { resolve: gives as never })
    .message('resolve-throws', () => 'fine', { resolve: throws as never })
    .message('beforeHandle-gives', () => 'fine', { beforeHandle: gives })
    .message('afterHandle-gives', () => 'fine', { afterHandle: gives })
    .message(
      'afterHandle-of-a-stream-gives',
      function* () {
        yield 1
      },
      { afterHandle: gives }
    )
    .message('error-gives', throws, { error: gives })
    .message('error-is-asked-about', throws, { error: () => undefined })
    .message('a-hook-looks-at', gives, { afterHandle: () => undefined, error: () => undefined })
    .message('data-are-checked-which-gives', () => 'fine', {
      data: schemaOf((value) => make(value as Recipe))
    })
    .message('a-response-is-checked-which-gives', ({ data }: Order) => data as never, {
      response: schemaOf((value) => make(value as Recipe))
    })
    .message(
      'a-stream-is-checked-which-gives',
      async function* ({ data }: Order) {
        yield data as never
      },
      { response: schemaOf((value) => make(value as Recipe)) }
    )
    .message('ask-back', ({ data: [pattern, recipe], peer }: Message<[string, Recipe]>) =>
      peer?.caller?.request(pattern, recipe)
    )
    .message('endless', ({ data: [kind, teardown] }: Message<[string, Recipe | null]>) =>
      endlessOf(kind, teardown ?? undefined)
    )
    .message('cut-me-off', ({ peer }) => peer?.disconnect())
    .message('listen', ({ data, signal }: Order) => listen(signal, data))
    .message('read-all', async ({ data }: Message<AsyncIterable<unknown>>) => {
      let count = 0
      for await (const _ of data) count++
      return count
    })
    .message('read-some', async function* ({ data }: Message<AsyncIterable<unknown>>) {
      for await (const _ of data) yield 1
    })
    .message('read-one', async ({ data }: Message<AsyncIterable<unknown>>) => {
      for await (const _ of data) return 1
      return 0
    })
    .message('give-back', async function* ({ data }: Message<AsyncIterable<unknown>>) {
      yield* data
    })
    .message('emit-others', ({ data }: Message<number>) => emitting(data))
    .message('end-meanwhile', () => endingMeanwhile())
    .event('endless-event', () => forever())
    .event('an-event-gives', gives)
    .event('an-event-throws', throws)
    .event('several-events-give', gives)
    .event('several-events-give', async ({ data }: Order) => make(data))
    .event('several-events-throw', throws)
    .event('several-events-throw', async ({ data }: Order) => {
      throw make(data)
    })
}
