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
  const rows: string[][] = []
  for await (const event of client.group(group).backlog({ limit })) {
    if (output.json) output.out(valueText(event, true))
    else rows.push(rowOf(event))
  }
  if (output.json) return EXIT.ok
  if (rows.length === 0) output.out('No events wait for the group')
  else output.out(table(['position', 'published', 'pattern', 'id', 'key', 'state', 'attempts'], rows))
  return EXIT.ok
}

function rowOf(event: BacklogEvent): string[] {
  const { position, publishedAt, pattern, id, key = '', state, attempts, dueAt } = event
  const until = dueAt === undefined ? '' : ` until ${dueAt.toISOString()}`
  return [position, publishedAt.toISOString(), pattern, id, key, state + until, String(attempts)]
}
