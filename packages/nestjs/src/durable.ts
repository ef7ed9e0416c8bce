/**
 * Durable handlers, which Nest applications declare as `@EventPattern('…', { durable: { … } })`, using the extras of
 * Nest's decorators.
 */
import {
  type DurableOptions,
  type DurableSettings,
  durableSettings,
  OptionError,
  secondHandler,
  VIA_PLAIN,
  viaOf
} from '@elysia-microservices/transport/kit'
import type { MessageHandler } from '@nestjs/microservices'

/**
 * Returns the durable settings of a handler; `undefined` if the handler is not durable.
 * @throws {OptionError} `durable` is invalid
 */
export function durableOf({ extras }: MessageHandler): DurableSettings | undefined {
  const { durable } = Object(extras) as { readonly durable?: DurableOptions | boolean }
  if (durable === undefined || durable === false) return undefined
  return durableSettings(durable, 'durable')
}

/**
 * Identifies the deliveries that a handler gets (`via` of messages).
 * @throws {OptionError} `durable` is invalid
 */
export function viaOfHandler(route: string, handler: MessageHandler): string {
  const durable = durableOf(handler)
  return durable === undefined ? VIA_PLAIN : viaOf(route, durable.group)
}

/**
 * @param others the handlers of the same pattern
 * @throws {OptionError} another durable handler of the pattern has the same group
 */
export function checkAlone(route: string, handler: MessageHandler, others: readonly MessageHandler[]): void {
  const durable = durableOf(handler)
  if (durable === undefined) return
  const via = viaOfHandler(route, handler)
  if (others.some((other) => viaOfHandler(route, other) === via)) throw secondHandler(route, durable.group)
}

/** @throws {OptionError} a handler of requests has the option `durable` */
export function checkNotDurable(route: string, handler: MessageHandler): void {
  if (durableOf(handler) === undefined) return
  throw new OptionError('durable', `The message pattern '${route}' cannot be durable; only events can`)
}
