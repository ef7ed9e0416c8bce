/**
 * A service that publishes numbers to itself, from a first one on, without end or up to a last one, and tells of each
 * that is stored or handled. A second group writes each into a table, in the transaction that acknowledges it: `bun service-program.ts <file> <first> [<last>]`.
 */
import { writeSync } from 'node:fs'
import { memory } from '@elysia-microservices/transport'
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { sqlite } from '../sqlite.ts'

const [file, first, last = 'Infinity'] = process.argv.slice(2) as [string, string, string?]
const store = sqlite(file)
const place = { transport: { ...memory(), name: 'calls' }, store }
/** Numbers that are published together. */
const TOGETHER = 50

/** Is written at once: nothing may be left in a buffer when the process is killed. */
function tell(what: string, n: unknown): void {
  writeSync(1, `${what} ${n}\n`)
}

/** Both groups have everything. */
let ends = 0
function handled(data: unknown): void {
  if (data !== 'end' || ++ends === 2) tell('handled', data)
}

await store.query('create table if not exists effect (n)')
const service = microservice({ ...place, name: 'numbers' })
  .event('number', ({ data }) => handled(data), { durable: { ordered: true, start: 'all' } })
  .event(
    'number',
    async ({ data, delivery }) => {
      await store.transaction(delivery, (query) => query('insert into effect values (?)', String(data)))
      if (data === 'end') handled(data)
    },
    { durable: { ordered: true, start: 'all', group: 'effects', transactional: true } }
  )
await service.listen()
const client = connect(place)
for (let n = Number(first); n <= Number(last); n += TOGETHER) {
  const numbers = Array.from({ length: TOGETHER }, (_, at) => n + at).filter((one) => one <= Number(last))
  await Promise.all(
    numbers.map(async (one) => {
      await client.publish('number', one, { key: 'k', id: String(one) })
      tell('stored', one)
    })
  )
}
await client.publish('number', 'end', { key: 'k' })
