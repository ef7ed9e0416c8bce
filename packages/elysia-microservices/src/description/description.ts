/** What a service tells of itself: plain data, which callers can be sent. */

import type { HandlerFigures, ServiceStatus, TransportStats } from '@elysia-microservices/transport'
import type { DurableSettings } from '@elysia-microservices/transport/kit'
import type { Hook, HookType } from '../hooks/hook.ts'
import { type HandlerPattern, parsePattern } from '../router/handler-pattern.ts'
import { type MessageSchema, sourceOf } from '../schema/message-schema.ts'
import { type JsonSchema, jsonSchemaOf } from './json-schema.ts'

/** The route under which a service describes itself to callers, if it does. */
export const DESCRIBE_ROUTE = 'elysia-microservices.describe'

/** What a service tells of itself. JSON carries it. */
export interface ServiceDescription {
  /** Missing if it has none, as is `version`. */
  readonly name?: string
  readonly version?: string
  readonly status: ServiceStatus
  /** What carries its messages, with their figures. */
  readonly transports: readonly TransportStats[]
  readonly handlers: readonly HandlerDescription[]
  /** What was counted of its messages: only if that was asked for, and `telemetry()` counts. */
  readonly figures?: readonly HandlerFigures[]
}

/** What a handler is, without its function. */
export interface HandlerDescription {
  readonly kind: 'message' | 'event'
  /** The patterns it is registered under. */
  readonly patterns: readonly PatternDescription[]
  /** Schema of what is sent to it; missing if it checks nothing, as are those below. */
  readonly data?: JsonSchema
  readonly headers?: JsonSchema
  /** Schema of its answer, or of each value of a stream. */
  readonly response?: JsonSchema
  /** How a durable handler gets its events; missing if it is not durable. */
  readonly durable?: DurableSettings
  /** Names of the functions that run before and after the handler; functions without a name are left out. */
  readonly hooks: readonly { readonly type: HookType; readonly name: string }[]
}

/** One pattern. */
export interface PatternDescription {
  readonly kind: 'exact' | 'wildcard' | 'regexp' | 'all'
  /** Its canonical text, as figures name it; of a RegExp as it is written. */
  readonly pattern: string
}

/** What may be asked of `describe()`. */
export interface DescribeOptions {
  /** With what was counted. Default: without. */
  readonly figures?: boolean | undefined
}

/** What a handler is. */
export function describeHandler(
  kind: 'message' | 'event',
  patterns: readonly HandlerPattern[],
  { hooks, schema }: { readonly hooks: readonly Hook[]; readonly schema: MessageSchema },
  durable?: DurableSettings
): HandlerDescription {
  const data = schema.data && sourceOf(schema.data)
  const headers = schema.headers && sourceOf(schema.headers)
  const response = schema.response && sourceOf(schema.response)
  return {
    kind,
    patterns: patterns.map((pattern) => {
      const { kind, route } = parsePattern(pattern)
      return { kind, pattern: route }
    }),
    ...(data && { data: jsonSchemaOf(data, 'input') }),
    ...(headers && { headers: jsonSchemaOf(headers, 'input') }),
    ...(response && { response: jsonSchemaOf(response, 'output') }),
    ...(durable && { durable }),
    hooks: hooks.flatMap(({ type, run: { name } }) => (name === '' ? [] : [{ type, name }]))
  }
}
