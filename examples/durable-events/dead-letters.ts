/** The dead letters of a group: `bun dead-letters.ts <group> [list | show <n> | redrive <n or all> | discard <n>]`. */
import { nats } from '@elysia-microservices/nats'
import { connect } from 'elysia-microservices/client'

const [group = 'billing', command = 'list', position = ''] = process.argv.slice(2)
const client = connect({ transport: nats({ url: process.env['NATS_URL'] ?? 'nats://localhost:4222' }) })
const letters = client.group(group).deadLetters
let isDone = true

if (command === 'list') {
  for await (const { position, id, pattern, attempts, reason, diedAt } of letters.list())
    console.log(position, diedAt.toISOString(), pattern, id, `${attempts} attempts`, reason)
} else if (command === 'show') {
  const letter = await letters.get(position)
  isDone = letter !== undefined
  if (isDone) console.log(JSON.stringify(letter, null, 2))
} else if (command === 'redrive' && position === 'all') {
  for await (const letter of letters.list()) await letters.redrive(letter.position)
} else if (command === 'redrive') isDone = await letters.redrive(position)
else if (command === 'discard') isDone = await letters.discard(position)
else throw new Error(`'${command}' is not a command: use list, show, redrive or discard`)

await client.close()
if (!isDone) {
  console.error(`There is no dead letter ${position} of ${group}`)
  process.exitCode = 1
}
