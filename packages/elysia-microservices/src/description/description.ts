/** The description of a service: plain data, which can be sent to callers. */

import type {
  CallerFigures,
  HandlerFigures,
  ServiceStatus,
  TransportStats
} from '@elysia-microservices/transport'
import type { DurableSettings } from '@elysia-microservices/transport/kit'
import type { Hook, HookType } from '../hooks/hook.ts'
import type { KnownErrors } from '../hooks/known-errors.ts'
import { withSchema } from '../hooks/streams.ts'
import type { HandlerTerms } from '../hooks/terms.ts'
import { type HandlerPattern, parsePattern } from '../router/handler-pattern.ts'
import { sourcesOf } from '../schema/all-of.ts'
import { combined, type MessageSchema, takesStream } from '../schema/message-schema.ts'
import { type JsonSchema, jsonSchemaOf, jsonSchemaOfAll } from './json-schema.ts'

/** The description of a service, which can be written as JSON. */
export interface ServiceDescription {
  /** The service's name; missing if the service has no name. The same holds for `version`. */
  readonly name?: string
  readonly version?: string
  /** The id of this process among the processes of the service. Each time the service is made, the id is a new one. */
  readonly instance: string
  readonly status: ServiceStatus
  /** The transports that carry the service's messages, with their figures. */
  readonly transports: readonly TransportStats[]
  readonly handlers: readonly HandlerDescription[]
  /** Figures of the service's messages: only on request, and only if the service uses `telemetry()`. */
  readonly figures?: readonly HandlerFigures[]
  /**
   * The service's callers and the patterns that they call: only on request, and only if the service's option
   * `describe` allows callers to ask for descriptions.
   */
  readonly callers?: readonly CallerFigures[]
  /**
   * The name that the process of the service gives itself in calls and spans, and the names of its clients that have
   * one of their own: at most 100. It is there when `callers` is.
   */
  readonly process?: { readonly name?: string; readonly clients: readonly string[] }
  /** Figures of other parts of the process, such as the relay of an outbox: only for callers who ask for figures. */
  readonly parts?: readonly PartFigures[]
}

/** Figures of one part of a service's process. */
export interface PartFigures {
  /** The kind of the part, such as `outbox`. */
  readonly name: string
  /** Attributes that distinguish the part from others of its kind, such as the schema of its tables. */
  readonly attributes: Readonly<Record<string, string>>
  readonly figures: Readonly<Record<string, number>>
}

/** The description of a handler, without its function. */
export interface HandlerDescription {
  readonly kind: 'message' | 'event'
  /** The patterns under which the handler is registered. */
  readonly patterns: readonly PatternDescription[]
  /**
   * The schema of the data that callers send; missing if the handler has no such schema. The same holds for the
   * next two fields.
   */
  readonly data?: JsonSchema
  readonly headers?: JsonSchema
  /** The schema of the answer, or of each value of a stream. */
  readonly response?: JsonSchema
  /**
   * The errors that callers may get, by code: those that the handler declares, and the error classes registered
   * with its service.
   */
  readonly errors?: Readonly<Record<string, ErrorDescription>>
  /** Whether data and answer are streams; missing for events, and if nothing is known. */
  readonly streams?: StreamsDescription
  /** The settings of a durable handler; missing if the handler is not durable. */
  readonly durable?: DurableSettings
  /** Milliseconds that the handler may take; missing if it has no limit of its own. */
  readonly timeout?: number
  /** Says that running the handler twice does no harm, so that callers may call it again; missing if it may do harm. */
  readonly idempotent?: true
  /** Names of the functions that run before and after the handler; functions without a name are left out. */
  readonly hooks: readonly { readonly type: HookType; readonly name: string }[]
}

/** Which parts of a request are streams, as far as that is known before the handler runs. */
export interface StreamsDescription {
  /**
   * Whether callers send a stream as the data; then the schema of the data is that of its values. Missing: the handler
   * has neither a schema nor the option `streams`.
   */
  readonly data?: boolean
  /**
   * Whether the answer is a stream. Missing: the handler is no generator function, and its option `streams` does not say
   * it, so each result decides.
   */
  readonly answer?: boolean
}

/** The description of a declared error. */
export interface ErrorDescription {
  /**
   * The schema of the error's details as callers get them; missing if the details have no schema, or if there are
   * no details.
   */
  readonly details?: JsonSchema
  /** The HTTP status with which the error is answered; missing if the declaration names no status. */
  readonly status?: number
}

/** One pattern of a handler. */
export interface PatternDescription {
  readonly kind: 'exact' | 'wildcard' | 'regexp' | 'all'
  /** The canonical text of the pattern, which figures use too; for a RegExp its source. */
  readonly pattern: string
}

/** Options of `describe()`. */
export interface DescribeOptions {
  /** Whether to include the figures of messages. Default: no. */
  readonly figures?: boolean | undefined
  /**
   * Whether to include callers and the patterns that they call. The service counts calls from the first such
   * request until nobody has asked for 10 seconds. Default: no.
   */
  readonly callers?: boolean | undefined
}

/** The parts of a handler that its description has as they are. */
interface Described extends Pick<HandlerDescription, 'kind'> {
  readonly durable?: DurableSettings | undefined
  readonly terms?: HandlerTerms
}

/** Description of a handler. */
export function describeHandler(
  { kind, durable, terms = {} }: Described,
  patterns: readonly HandlerPattern[],
  { hooks, schema: given }: { readonly hooks: readonly Hook[]; readonly schema: MessageSchema },
  registered: KnownErrors = new Map()
): HandlerDescription {
  const schema = combined(given)
  const { data, headers, response } = schema
  const { streams, ...others } = terms
  const known = kind === 'message' ? withSchema(streams, takesStream(schema)) : undefined
  return {
    kind,
    patterns: patterns.map((pattern) => {
      const { kind, route } = parsePattern(pattern)
      return { kind, pattern: route }
    }),
    ...(data && { data: jsonSchemaOfAll(sourcesOf(data), 'input') }),
    ...(headers && { headers: jsonSchemaOfAll(sourcesOf(headers), 'input') }),
    ...(response && { response: jsonSchemaOfAll(sourcesOf(response), 'output') }),
    ...(kind === 'message' && errorsOf(schema, registered)),
    ...(durable && { durable }),
    ...others,
    ...(known && { streams: known }),
    hooks: hooks.flatMap(({ type, run: { name } }) => (name === '' ? [] : [{ type, name }]))
  }
}

function errorsOf({ errors }: MessageSchema, registered: KnownErrors): Pick<HandlerDescription, 'errors'> {
  const all = new Map<string, ErrorDescription>([...registered.values()].map((code) => [code, {}]))
  for (const [code, { schema, status }] of errors ?? [])
    all.set(code, {
      ...(schema && { details: jsonSchemaOf(schema, 'output') }),
      ...(status !== undefined && { status })
    })
  return all.size === 0 ? {} : { errors: Object.fromEntries(all) }
}
