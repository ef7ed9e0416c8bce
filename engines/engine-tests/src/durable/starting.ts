/** A service that has not started as a whole, because another transport of it takes its time or fails. */
import assert from 'node:assert/strict'
import { pause, until } from '@elysia-microservices/test-support'
import { memory, type Transport } from '@elysia-microservices/transport'
import { type Message, microservice } from 'elysia-microservices'
import type { CaseOf } from '../needs.ts'
import type { Scene } from './scene.ts'

/** Starts that fail, and attempts that each event has. */
const STARTS = 3
/** Milliseconds within which an event would begin that is handed out too early. */
const EARLY = 50

export function starting({ fresh, newClient, place, serve, log, cleanUp }: Scene, caseOf: CaseOf): void {
  for (const ordered of [false, true])
    caseOf(
      `${ordered ? 'of an ordered handler ' : ''}does not begin before all of its service has started, and a start that fails is no attempt`,
      [],
      async () => {
        const pattern = fresh()
        const durable = { ordered, retry: { attempts: STARTS } }
        const { logger } = log
        const client = newClient()
        const others: unknown[] = []
        await serve(pattern, ({ data }) => void others.push(data), durable, { name: 'other' })
        const attempts: unknown[] = []
        const handle = ({ data, delivery }: Message) => void attempts.push([data, delivery?.attempt])
        let starts = 0
        const start = async () => {
          // The group is there, so that it gets what is published while its service starts.
          await client.publish(pattern, ++starts, { key: 'k' })
          await until('Another group has it', () => others.length === starts)
          await pause(EARLY)
          assert.deepEqual(attempts, [])
          if (starts <= STARTS) throw new Error('The door is locked')
        }
        const service = () => {
          const { transport, ...store } = place()
          return microservice({
            name: 'starting',
            ...store,
            transport: [transport, doorOf(start)],
            logger
          }).event(pattern, handle, { durable })
        }
        for (let n = 0; n < STARTS; n++) await assert.rejects(service().listen(), /The door is locked/)
        const last = service()
        await last.listen()
        cleanUp(() => last.stop())
        await until('All are handled', () => attempts.length > STARTS)
        const firsts = Array.from({ length: STARTS + 1 }, (_, n) => [n + 1, 1])
        assert.deepEqual(ordered ? attempts : attempts.sort(), firsts)
      }
    )
}

/** A transport that stores nothing, whose server starts as it is told. */
function doorOf(start: () => Promise<void>): Transport {
  const base = memory()
  const { stores: _, ...traits } = base.traits
  return {
    name: 'door',
    traits,
    client: base.client,
    server(context) {
      const inner = base.server(context)
      return { name: 'door', start, stop: async () => {}, stats: () => inner.stats() }
    }
  }
}
