/**
 * A publisher of durable events in a process of its own. Arguments: the NATS server, the events per second, and the
 * number of events. At the end it prints how many events were stored and how many were not. It ends when its standard
 * input ends.
 */
import { nats } from '@elysia-microservices/nats'
import { pause } from '@elysia-microservices/test-support'
import { connect } from 'elysia-microservices/client'

/** The most events that wait for their acknowledgement. */
const WINDOW = 1_000

const [server, rate, events] = process.argv.slice(2) as [string, string, string]
const client = connect({ transport: nats({ url: server }), timeout: 60_000 })
process.stdin.resume().once('end', () => process.exit(1))
await client.connect()
console.log(JSON.stringify({ port: 0 }))

let stored = 0
let failed = 0
const window = new Set<Promise<unknown>>()
const begun = performance.now()
for (let n = 0; n < Number(events); n++) {
  const one = client.publish('torture.flood', { n, text: 'x'.repeat(200) }).then(
    () => void stored++,
    () => void failed++
  )
  window.add(one)
  void one.finally(() => window.delete(one))
  if (window.size >= WINDOW) await Promise.race(window)
  const due = begun + ((n + 1) / Number(rate)) * 1_000
  if (due > performance.now() + 5) await pause(due - performance.now())
}
await Promise.all(window)
console.log(JSON.stringify({ stored, failed }))
