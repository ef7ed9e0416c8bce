/** `backlog`: lists what is stored for a group and not handled. */
import type { BacklogEvent, UntypedStoringClient } from 'elysia-microservices/client'
import type { Arguments } from './arguments.ts'
import { EXIT } from './exit-codes.ts'
import { type Output, table, valueText } from './output.ts'

/** Lists the events. */
export async function backlogOf(
  client: UntypedStoringClient,
  { group, count }: Arguments,
  output: Output
): Promise<number> {
  await client.connect()
  const limit = Number.isFinite(count) ? count : undefined
  const asked = client.group(group)
  const rows: string[][] = []
  let allWait = true
  for await (const event of asked.backlog({ limit })) {
    allWait &&= event.state === 'waiting'
    if (output.json) output.out(valueText(event, true))
    else rows.push(rowOf(event))
  }
  if (output.json) return EXIT.ok
  if (rows.length > 0)
    output.out(table(['position', 'published', 'pattern', 'id', 'key', 'state', 'attempts'], rows))
  if (limit !== undefined && rows.length === limit) return EXIT.ok
  // Not each store lists the events that a process has, and not each counts what is stored.
  const more = allWait ? (await asked.lag().catch(() => 0)) - rows.length : 0
  if (more > 0) output.out(`${more} more: in a process, or in a pause; this store does not list those`)
  else if (rows.length === 0) output.out('No events wait for the group')
  return EXIT.ok
}

function rowOf(event: BacklogEvent): string[] {
  const { position, publishedAt, pattern, id, key = '', state, attempts, dueAt } = event
  const until = dueAt === undefined ? '' : ` until ${dueAt.toISOString()}`
  return [position, publishedAt.toISOString(), pattern, id, key, state + until, String(attempts)]
}
