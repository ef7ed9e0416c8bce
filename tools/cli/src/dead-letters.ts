/** `dead-letters`: lists, redrives or discards the dead letters of a group. */
import { changeDeadLetters, OptionError } from '@elysia-microservices/transport/kit'
import type { DeadLetter, DurableGroup, UntypedStoringClient } from 'elysia-microservices/client'
import type { Arguments } from './arguments.ts'
import { EXIT } from './exit-codes.ts'
import { type Output, plainText, table, valueText } from './output.ts'

/** Largest number of characters of a reason in the table. */
const MAX_REASON = 60

/** Lists the dead letters, redrives or discards some or all of them. */
export async function deadLettersOf(
  client: UntypedStoringClient,
  args: Arguments,
  output: Output
): Promise<number> {
  const { action, group, positions, all } = args.letters
  await client.connect()
  const durable = client.group(group)
  const letters = durable.deadLetters
  const limit = Number.isFinite(args.count) ? { limit: args.count } : {}
  if (action === 'list') {
    await list(letters.list(limit), output)
    if (!output.json) await tellLag(durable, output)
    return EXIT.ok
  }
  let missing = 0
  for await (const { position, isDone } of changeDeadLetters(
    letters,
    action,
    all ? 'all' : positions,
    args.count
  )) {
    if (!isDone) missing++
    const said = isDone ? (action === 'redrive' ? 'redriven' : 'discarded') : 'not there'
    output.out(output.json ? valueText({ position, done: isDone }, true) : plainText(`${position}: ${said}`))
  }
  return missing === 0 ? EXIT.ok : EXIT.answer
}

/** Says how many events wait for the group, if its store can tell a client. */
async function tellLag(group: DurableGroup, output: Output): Promise<void> {
  try {
    const lag = await group.lag()
    output.out(`${lag} ${lag === 1 ? 'event waits' : 'events wait'} for the group`)
  } catch (error) {
    if (!(error instanceof OptionError)) throw error
  }
}

async function list(letters: AsyncIterable<DeadLetter>, output: Output): Promise<void> {
  const rows: (string | number)[][] = []
  let isCut = false
  for await (const letter of letters) {
    if (output.json) {
      output.out(valueText(letter, true))
      continue
    }
    const { position, pattern, id, attempts, diedAt, reason } = letter
    isCut ||= reason.length > MAX_REASON
    const short = reason.length > MAX_REASON ? `${reason.slice(0, MAX_REASON - 3)}...` : reason
    rows.push([position, pattern, id, attempts, diedAt.toISOString(), short])
  }
  if (output.json) return
  if (rows.length === 0) output.out('No dead letters')
  else output.out(table(['position', 'pattern', 'id', 'attempts', 'died', 'reason'], rows))
  if (isCut) output.out('Long reasons are cut; --json shows the whole reasons, headers and data')
}
