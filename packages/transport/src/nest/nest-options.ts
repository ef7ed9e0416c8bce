/**
 * How the options of Nest's transports are answered here. Each transport has one list of them, from which options are
 * translated, from which its page in the documentation gets its table (`tests/engines/docs.ts`), and which a test compares with Nest's types.
 */

import type { CalledMethod } from '../called-method.ts'
import { OptionError } from '../errors/index.ts'
import type { MessageHeaders } from '../headers.ts'
import type { Transport } from '../transport.ts'

/** The answer to one option of Nest. */
export interface NestOption {
  /**
   * The option here: `'tls'`, or within a group `'nest.queue'`. An option of the service or of the client has the name
   * of its end in front: `'service.group'`, `'client.headers'`. Default: it is not needed here, or refused.
   */
  readonly ours?: string
  /** Converts the value, or checks one that is not needed. Default: it is the same. @throws {OptionError} the value has no counterpart */
  readonly convert?: (value: unknown, path: string) => unknown
  /** Why the option is not needed here: it has no effect. */
  readonly needless?: string
  /** The thing to do in place of an option that is refused. */
  readonly instead?: string
  /** Words for the table in the documentation, where `ours` is not the name of an option. */
  readonly said?: string
}

/** The options of one of Nest's transports; those in groups have names such as `client.brokers`. */
export type NestTable = Readonly<Record<string, NestOption>>

/** Options of Nest, translated. */
export interface FromNest {
  /** The options of the transport here. */
  readonly transport: Readonly<Record<string, unknown>>
  /** The group of the service, which Nest's transport names. */
  readonly group: string | undefined
  /** Milliseconds that messages in flight may take when the service stops. */
  readonly drain: number | undefined
  /** The headers of all calls of a client. */
  readonly headers: MessageHeaders | undefined
  /** Options that neither Nest nor this library has, such as `'options.user'`: they have no effect, as in Nest. */
  readonly unknown: readonly string[]
}

/** The transport that Nest's options stand for, and options of its service or its client. */
export interface NestEnd extends Omit<FromNest, 'transport'> {
  readonly transport: Transport
  /** The methods that a client of gRPC can call. Missing on other transports. */
  readonly methods?: readonly NestMethod[]
}

/** A method of gRPC by its names. */
export interface NestMethod extends CalledMethod {
  /** The full name of the service, such as `shop.v1.Orders`. */
  readonly service: string
  /** The name as in the `.proto`, such as `GetTotal`. */
  readonly name: string
}

/**
 * Translates options of Nest, and takes those of the transport here.
 * @param own the names of the options of the transport here
 * @throws {OptionError} an option is refused, with what to do in its place
 */
export function fromNest(table: NestTable, given: object | undefined, own: readonly string[]): FromNest {
  const result: Record<string, unknown> = {}
  const unknown = translate(table, given ?? {}, '', own, result)
  const { service, client, ...transport } = result as { service?: object; client?: object }
  const { group, drain } = Object(service) as { group?: string; drain?: number }
  const { headers } = Object(client) as { headers?: MessageHeaders }
  return { transport, group, drain, headers, unknown }
}

/** @returns the options that nobody knows */
function translate(
  table: NestTable,
  given: object,
  group: string,
  own: readonly string[],
  result: Record<string, unknown>
): string[] {
  const unknown: string[] = []
  for (const [name, value] of Object.entries(given) as [string, unknown][]) {
    if (value === undefined || value === null) continue
    const key = group + name
    const path = `options.${key}`
    const row = Object.hasOwn(table, key) ? table[key] : undefined
    if (row !== undefined) {
      if (row.instead !== undefined) throw refused(path, row.instead)
      const converted = row.convert === undefined ? value : row.convert(value, path)
      if (row.ours !== undefined && converted !== undefined) put(result, row.ours, converted)
    } else if (Object.keys(table).some((one) => one.startsWith(`${key}.`)) && typeof value === 'object')
      unknown.push(...translate(table, value, `${key}.`, own, result))
    else if (group === '' && own.includes(name)) result[name] = value
    else unknown.push(path)
  }
  return unknown
}

/** Sets an option by its path: `nest.queue`. Values of one group are merged. */
function put(result: Record<string, unknown>, path: string, value: unknown): void {
  const [first = '', ...rest] = path.split('.')
  if (rest.length === 0) {
    result[first] = value
    return
  }
  const group = { ...(result[first] as object | undefined) }
  put(group as Record<string, unknown>, rest.join('.'), value)
  result[first] = group
}

/**
 * Advice about options that have Nest's names where ours are expected, by name, as ends of sentences.
 * @param own the names of the options of the transport here, which are left out
 */
export function adviceFor(table: NestTable, own: readonly string[]): Readonly<Record<string, string>> {
  const foreign = Object.entries(table).filter(([name]) => !name.includes('.') && !own.includes(name))
  const groups = Object.keys(table).flatMap((name) => (name.includes('.') ? [name.replace(/\..*/, '')] : []))
  const nested = [...new Set(groups)].filter((name) => !own.includes(name))
  return Object.fromEntries([
    ...nested.map((name) => [
      name,
      'give its options directly, with our names: the page of this transport in docs lists them'
    ]),
    ...foreign.map(([name, row]) => [name, adviceOf(row)])
  ])
}

function adviceOf({ ours, needless, instead }: NestOption): string {
  if (ours === undefined) return instead ?? `leave it out: ${needless}`
  const [end, name] = ours.split('.')
  if (end === 'service') return `give the service the option ${name}: microservice({ ${name}, transport })`
  if (end === 'client') return `give the client the option ${name}: connect({ ${name}, transport })`
  return `give options.${ours}`
}

function refused(path: string, instead: string): OptionError {
  return new OptionError(path, `${path} of Nest has no effect here: ${instead}`)
}

/** Rows that all transports have. */
export const NEST_SHARED = {
  serializer: { instead: 'the transport writes packets; change data in pipes and interceptors' },
  deserializer: { instead: 'the transport reads packets; change data in pipes and interceptors' }
} as const satisfies NestTable

/** An option that says how often, or when, to connect again. */
export const RECONNECTS: NestOption = { needless: 'a lost connection is restored for as long as it takes' }

/** Converts seconds to milliseconds. */
export function ofSeconds(value: unknown): unknown {
  return Number.isFinite(Number(value)) ? Number(value) * 1_000 : value
}

/** Makes a conversion that lets one value pass without an effect, and refuses all others. */
export function onlyIf(harmless: readonly unknown[], instead: string) {
  return (value: unknown, path: string): undefined => {
    if (!harmless.includes(value)) throw refused(path, instead)
  }
}
