/** Durable handlers, as `@EventPattern('…', { durable: { … } })` says it by Nest's own extras. */
import {
  type DurableOptions,
  type DurableSettings,
  durableSettings,
  OptionError,
  VIA_PLAIN,
  viaOf
} from '@elysia-microservices/transport/kit'
import type { MessageHandler } from '@nestjs/microservices'

/**
 * The durable settings of a handler; `undefined`: it is not durable.
 * @throws {OptionError} `durable` is invalid
 */
export function durableOf({ extras }: MessageHandler): DurableSettings | undefined {
  const { durable } = Object(extras) as { readonly durable?: DurableOptions | boolean }
  return durable === undefined || durable === false ? undefined : durableSettings(durable, 'durable')
}

/**
 * The deliveries that a handler gets (`via`).
 * @throws {OptionError} `durable` is invalid
 */
export function viaOfHandler(route: string, handler: MessageHandler): string {
  const durable = durableOf(handler)
  return durable === undefined ? VIA_PLAIN : viaOf(route, durable.group)
}

/** @throws {OptionError} the handler of a request is to be durable */
export function checkNotDurable(route: string, handler: MessageHandler): void {
  if (durableOf(handler) === undefined) return
  throw new OptionError('durable', `The message pattern '${route}' cannot be durable; only events can`)
}
