/** The messages that durable handlers with nothing to do cost a NATS server. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { nats } from '@elysia-microservices/nats'
import { freePort, isMissing, Log, PATIENCE, pause, until } from '@elysia-microservices/test-support'
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'

/** Milliseconds after which new handlers are at rest, and milliseconds for which messages are counted. */
const REST = 13_000
const COUNTED = 15_000

/** Starts idle handlers at a server of their own. @returns the messages that the server gets from them while they rest */
async function costOf(count: number, ordered: boolean): Promise<number> {
  const monitor = await freePort()
  const server = await NatsServerProcess.start('-js', '-m', String(monitor))
  const messages = async () => {
    const answer = await fetch(`http://127.0.0.1:${monitor}/varz`)
    return ((await answer.json()) as { in_msgs: number }).in_msgs
  }
  const log = new Log()
  const service = microservice({ name: 'idle', transport: nats({ url: server.url }), logger: log.logger })
  for (let n = 0; n < count; n++) service.event(`idle.${n}`, () => {}, { durable: { ordered } })
  try {
    await service.listen()
    await pause(REST)
    const before = await messages()
    await pause(COUNTED)
    return (await messages()) - before
  } finally {
    await service.stop()
    await server.stop()
  }
}

if (!isMissing('idle handlers of NATS', natsMissing()))
  describe('durable handlers of NATS', () => {
    for (const ordered of [false, true])
      it(`cost the server no more messages if there are more of them and nothing happens (ordered: ${ordered})`, {
        timeout: PATIENCE
      }, async () => {
        const [one = 0, many = 0] = await Promise.all([costOf(1, ordered), costOf(30, ordered)])
        // Each handler asked every 5 s before, and each ordered one sent nine requests in that time.
        assert.ok(many < one + 20, `${one} and ${many} messages`)
      })

    it('at rest handle an event at once, and know of a pause when somebody asks', {
      timeout: PATIENCE
    }, async () => {
      const server = await NatsServerProcess.start('-js')
      const log = new Log()
      const transport = nats({ url: server.url })
      const seen: unknown[] = []
      const service = microservice({ name: 'rested', transport, logger: log.logger })
      for (const ordered of [false, true])
        service.event(`rested.${ordered}`, ({ data }) => void seen.push(data), { durable: { ordered } })
      const client = connect({ transport, logger: log.logger })
      const publish = async (n: number) => {
        await client.publish('rested.true', n)
        await client.publish('rested.false', n)
        await until(`${n} is handled`, () => seen.length === 2 * n)
      }
      try {
        await service.listen()
        await pause(REST)
        await publish(1)
        await pause(REST)
        await publish(2)
        await client.group('rested').pause()
        const arePaused = () => service.stats()[0]?.durable?.every(({ isPaused }) => isPaused)
        await until('the pause is known', () => arePaused() === true)
        await client.group('rested').resume()
        await publish(3)
      } finally {
        await client.close()
        await service.stop()
        await server.stop()
      }
    })
  })
