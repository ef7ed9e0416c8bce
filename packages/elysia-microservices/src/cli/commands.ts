/** What the commands do. Each gives the code that the process ends with, or throws the error that decides it. */
import { LONGEST_TIME, PatternNotFoundError } from '@elysia-microservices/transport/kit'
import type { UntypedClient } from '../client/client-types.ts'
import type { Arguments, Command } from './arguments.ts'
import { askDescription } from './described.ts'
import { EXIT } from './exit-codes.ts'
import { type Output, plainText, table, valueText } from './output.ts'
import { top } from './top.ts'

/** Runs with a client, which is closed afterwards. */
export type Run = (client: UntypedClient, args: Arguments, output: Output) => Promise<number>

/** The commands by their names. */
export const RUN: Readonly<Record<Command, Run>> = { call, stream, emit, describe, health, top }

async function call(client: UntypedClient, args: Arguments, output: Output): Promise<number> {
  const { pattern, data, headers } = args
  output.out(valueText(await client.request(pattern, data, { headers }), output.json))
  return EXIT.ok
}

async function stream(client: UntypedClient, args: Arguments, output: Output): Promise<number> {
  const { pattern, data, headers, count } = args
  let n = 0
  for await (const value of client.stream(pattern, data, { headers })) {
    output.out(valueText(value, true))
    if (++n >= count) break
  }
  return EXIT.ok
}

async function emit(client: UntypedClient, { pattern, data, headers }: Arguments): Promise<number> {
  await client.emit(pattern, data, { headers })
  return EXIT.ok
}

async function describe(client: UntypedClient, args: Arguments, output: Output): Promise<number> {
  const { whole, name, status, transports, handlers } = await askDescription(client, args, false)
  if (output.json) {
    output.out(valueText(whole, true))
    return EXIT.ok
  }
  const carried = transports.map(({ transport, address }) => {
    if (address === undefined) return transport
    return `${transport} ${address.path ?? `${address.host}:${address.port}`}`
  })
  const rows = handlers.flatMap(({ kind, patterns, data, response }) =>
    patterns.map(({ pattern }) => [kind, pattern, schemaText(data), schemaText(response)])
  )
  output.out(plainText(`${name}, ${status}: ${carried.join(', ')}`))
  output.out(table(['kind', 'pattern', 'data', 'answer'], rows))
  return EXIT.ok
}

function schemaText(schema: unknown): string {
  const text = schema === undefined ? '-' : JSON.stringify(schema)
  return text.length > 60 ? `${text.slice(0, 57)}...` : text
}

async function health(client: UntypedClient, args: Arguments, output: Output): Promise<number> {
  await connected(client, args.timeout)
  let status = 'connected'
  try {
    status = (await askDescription(client, args, false)).status
  } catch (error) {
    // A service that does not describe itself has answered, and that is what was asked.
    if (!(error instanceof PatternNotFoundError)) throw error
  }
  const ok = status === 'connected' || status === 'listening'
  output.out(output.json ? valueText({ ok, status }, true) : plainText(status))
  return ok ? EXIT.ok : EXIT.unhealthy
}

/** Connects within the time, which calls have by themselves. */
async function connected(client: UntypedClient, timeout: number): Promise<void> {
  const late = setTimeout(() => void client.close(), timeout === 0 ? LONGEST_TIME : timeout)
  try {
    await client.connect()
  } finally {
    clearTimeout(late)
  }
}
