/** The commands. Each command returns the exit code, or throws an error that determines the exit code. */
import { insideOf, LONGEST_TIME, PatternNotFoundError } from '@elysia-microservices/transport/kit'
import type { UntypedStoringClient } from 'elysia-microservices/client'
import type { Arguments, Command } from './arguments.ts'
import { backlogOf } from './backlog.ts'
import { deadLettersOf } from './dead-letters.ts'
import { askDescription, type HandlerDescription } from './described.ts'
import { EXIT } from './exit-codes.ts'
import { type Output, plainText, table, valueText } from './output.ts'
import { contractOf } from './schema-text.ts'
import { top } from './top.ts'
import { waitingOf } from './waiting.ts'

/** Runs a command with a client, which is closed afterwards. */
export type Run = (client: UntypedStoringClient, args: Arguments, output: Output) => Promise<number>

/** The commands by their names. */
export const RUN: Readonly<Record<Command, Run>> = {
  call,
  stream,
  emit,
  describe,
  health,
  top,
  types,
  'dead-letters': deadLettersOf,
  backlog: backlogOf,
  waiting: waitingOf
}

async function call(client: UntypedStoringClient, args: Arguments, output: Output): Promise<number> {
  const { pattern, data, headers } = args
  output.out(valueText(await client.request(pattern, data, { headers }), output.json))
  return EXIT.ok
}

async function stream(client: UntypedStoringClient, args: Arguments, output: Output): Promise<number> {
  const { pattern, data, headers, count } = args
  let n = 0
  for await (const value of client.stream(pattern, data, { headers })) {
    output.out(valueText(value, true))
    if (++n >= count) break
  }
  return EXIT.ok
}

async function emit(client: UntypedStoringClient, { pattern, data, headers }: Arguments): Promise<number> {
  await client.emit(pattern, data, { headers })
  return EXIT.ok
}

async function describe(client: UntypedStoringClient, args: Arguments, output: Output): Promise<number> {
  const { whole, name, instance, status, transports, handlers } = await askDescription(client, args, false)
  if (output.json) {
    output.out(valueText(whole, true))
    return EXIT.ok
  }
  const carried = transports.map(({ transport, address }) => {
    if (address === undefined) return transport
    return `${transport} ${address.path ?? `${address.host}:${address.port}`}`
  })
  const haveTerms = handlers.some((handler) => termsText(handler) !== '-')
  const rows = handlers.flatMap(({ kind, patterns, data, response, streams, errors, ...rest }) =>
    patterns.map(({ pattern }) => [
      kind,
      pattern,
      partText(data, Object(streams).data),
      partText(response, Object(streams).answer),
      cut(Object.keys(Object(errors)).join(' ')) || '-',
      ...(haveTerms ? [termsText(rest)] : [])
    ])
  )
  output.out(
    plainText(`${name}${instance === undefined ? '' : ` (${instance})`}, ${status}: ${carried.join(', ')}`)
  )
  const columns = ['kind', 'pattern', 'data', 'answer', 'errors', ...(haveTerms ? ['terms'] : [])]
  output.out(table(columns, rows))
  if (handlers.some(({ data, response }) => isCut(data) || isCut(response)))
    output.out('Long schemas are cut; --json shows the whole schemas')
  return EXIT.ok
}

async function types(client: UntypedStoringClient, args: Arguments, output: Output): Promise<number> {
  const { text, left } = contractOf(await askDescription(client, args, false))
  output.out(text)
  if (left.length > 0)
    output.error(plainText(`Left out, because a type cannot have such a name: ${left.join(', ')}`))
  return EXIT.ok
}

/** Largest number of characters of a schema in the table. */
const MAX_SCHEMA = 60

/** How long a handler may take, and whether it may run twice. */
function termsText({ timeout, idempotent }: Pick<HandlerDescription, 'timeout' | 'idempotent'>): string {
  const terms = [typeof timeout === 'number' && `${timeout} ms`, idempotent === true && 'idempotent']
  return terms.filter((term) => term !== false).join(', ') || '-'
}

/** The schema of data or of an answer; of a stream, the schema of its values. */
function partText(schema: unknown, isStream: unknown): string {
  const text = schema === undefined ? undefined : cut(JSON.stringify(schema))
  return isStream === true ? `stream${text === undefined ? '' : ` of ${text}`}` : (text ?? '-')
}

function cut(text: string): string {
  return text.length > MAX_SCHEMA ? `${text.slice(0, MAX_SCHEMA - 3)}...` : text
}

function isCut(schema: unknown): boolean {
  return schema !== undefined && JSON.stringify(schema).length > MAX_SCHEMA
}

async function health(client: UntypedStoringClient, args: Arguments, output: Output): Promise<number> {
  await connected(client, args.timeout)
  let status = 'connected'
  try {
    if (args.service !== undefined || insideOf(client)?.traits.shares === 'caller')
      status = (await askDescription(client, args, false)).status
  } catch (error) {
    // A service that does not describe itself has answered nevertheless, which is what `health` asks for.
    if (args.service !== undefined || !(error instanceof PatternNotFoundError)) throw error
  }
  const ok = status === 'connected' || status === 'listening'
  output.out(output.json ? valueText({ ok, status }, true) : plainText(status))
  return ok ? EXIT.ok : EXIT.unhealthy
}

/** Connects within the timeout. Calls have a timeout themselves, but `connect()` has none. */
async function connected(client: UntypedStoringClient, timeout: number): Promise<void> {
  const late = setTimeout(() => void client.close(), timeout === 0 ? LONGEST_TIME : timeout)
  try {
    await client.connect()
  } finally {
    clearTimeout(late)
  }
}
