/** Description of a service: plain data, which can be sent to callers. */

import type {
  CallerFigures,
  HandlerFigures,
  ServiceStatus,
  TransportStats
} from '@elysia-microservices/transport'
import type { DurableSettings } from '@elysia-microservices/transport/kit'
import type { Hook, HookType } from '../hooks/hook.ts'
import type { KnownErrors } from '../hooks/known-errors.ts'
import { type HandlerPattern, parsePattern } from '../router/handler-pattern.ts'
import { type MessageSchema, sourceOf } from '../schema/message-schema.ts'
import { type JsonSchema, jsonSchemaOf } from './json-schema.ts'

/** Description of a service, which JSON can carry. */
export interface ServiceDescription {
  /** Missing if it has none, as is `version`. */
  readonly name?: string
  readonly version?: string
  /** Names this process among those of the service; another one each time the service is made. */
  readonly instance: string
  readonly status: ServiceStatus
  /** The transports that carry its messages, with their figures. */
  readonly transports: readonly TransportStats[]
  readonly handlers: readonly HandlerDescription[]
  /** Figures of its messages: only on request, and only if the service uses `telemetry()`. */
  readonly figures?: readonly HandlerFigures[]
  /**
   * Its callers and the patterns they call: only on request, and only if the option `describe` of the service lets
   * somebody ask.
   */
  readonly callers?: readonly CallerFigures[]
  /** Figures of what else the process runs, such as relays of outboxes: only for callers who ask for figures. */
  readonly parts?: readonly PartFigures[]
}

/** Figures of something in the process of a service. */
export interface PartFigures {
  /** Its kind, such as `outbox`. */
  readonly name: string
  /** Attributes that tell it from others of its name, such as the schema of its tables. */
  readonly attributes: Readonly<Record<string, string>>
  readonly figures: Readonly<Record<string, number>>
}

/** Description of a handler, without its function. */
export interface HandlerDescription {
  readonly kind: 'message' | 'event'
  /** The patterns it is registered under. */
  readonly patterns: readonly PatternDescription[]
  /** Schema of what is sent to it; missing if it checks nothing, as are those below. */
  readonly data?: JsonSchema
  readonly headers?: JsonSchema
  /** Schema of its answer, or of each value of a stream. */
  readonly response?: JsonSchema
  /** The errors of its contract by code: those it declares, and the classes that its service has registered. */
  readonly errors?: Readonly<Record<string, ErrorDescription>>
  /** The settings of a durable handler; missing if it is not durable. */
  readonly durable?: DurableSettings
  /** Names of the functions that run before and after the handler; functions without a name are left out. */
  readonly hooks: readonly { readonly type: HookType; readonly name: string }[]
}

/** An error of a contract. */
export interface ErrorDescription {
  /** Schema of its details, as callers get them; missing if nothing checks them, or there are none. */
  readonly details?: JsonSchema
  /** The status of HTTP with which it is answered; missing if it has none of its own. */
  readonly status?: number
}

/** One pattern. */
export interface PatternDescription {
  readonly kind: 'exact' | 'wildcard' | 'regexp' | 'all'
  /** Its canonical text, as figures name it; of a RegExp as it is written. */
  readonly pattern: string
}

/** Options of `describe()`. */
export interface DescribeOptions {
  /** With what was counted. Default: without. */
  readonly figures?: boolean | undefined
  /** With who calls what, which is counted from then on until nobody has asked for 10 seconds. Default: without. */
  readonly callers?: boolean | undefined
}

/** Description of a handler. */
export function describeHandler(
  kind: 'message' | 'event',
  patterns: readonly HandlerPattern[],
  { hooks, schema }: { readonly hooks: readonly Hook[]; readonly schema: MessageSchema },
  durable?: DurableSettings,
  registered: KnownErrors = new Map()
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
    ...(kind === 'message' && errorsOf(schema, registered)),
    ...(durable && { durable }),
    hooks: hooks.flatMap(({ type, run: { name } }) => (name === '' ? [] : [{ type, name }]))
  }
}

function errorsOf({ errors }: MessageSchema, registered: KnownErrors): Pick<HandlerDescription, 'errors'> {
  const all = new Map<string, ErrorDescription>([...registered.keys()].map((code) => [code, {}]))
  for (const [code, { schema, status }] of errors ?? [])
    all.set(code, {
      ...(schema && { details: jsonSchemaOf(schema, 'output') }),
      ...(status !== undefined && { status })
    })
  return all.size === 0 ? {} : { errors: Object.fromEntries(all) }
}
