/** `waiting`: lists events that wait for their time, cancels them, or delivers them at once. */
import { type Pattern, ruleOf, type WaitingEvent } from '@elysia-microservices/transport/kit'
import type { UntypedStoringClient } from 'elysia-microservices/client'
import type { Arguments } from './arguments.ts'
import { EXIT } from './exit-codes.ts'
import { type Output, plainText, table, valueText } from './output.ts'

/** Lists the events that wait, cancels some or delivers them at once. */
export async function waitingOf(
  client: UntypedStoringClient,
  args: Arguments,
  output: Output
): Promise<number> {
  const { action, pattern, ids } = args.waiting
  await client.connect()
  if (action === 'list') {
    const limit = Number.isFinite(args.count) ? args.count : undefined
    await list(client.waiting({ pattern, limit }), output)
    return EXIT.ok
  }
  let missing = 0
  for (const id of ids) {
    const isDone = await client[action](pattern as Pattern, id)
    if (!isDone) missing++
    const said = isDone ? (action === 'cancel' ? 'cancelled' : 'comes now') : 'not waiting'
    output.out(output.json ? valueText({ id, done: isDone }, true) : plainText(`${id}: ${said}`))
  }
  return missing === 0 ? EXIT.ok : EXIT.answer
}

async function list(events: AsyncIterable<WaitingEvent>, output: Output): Promise<void> {
  const rows: string[][] = []
  for await (const event of events) {
    const { at, pattern, id, key = '' } = event
    const rule = ruleOf(id)
    if (output.json) output.out(valueText({ ...event, ...(rule !== undefined && { rule }) }, true))
    else rows.push([at.toISOString(), pattern, id, key, rule ?? ''])
  }
  if (output.json) return
  if (rows.length === 0) output.out('No events wait for their time')
  else output.out(table(['time', 'pattern', 'id', 'key', 'recurs'], rows))
}
