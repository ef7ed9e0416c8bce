/** The log says that a service stops while it has messages in flight, and how the stop ended. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { connect } from '../client/index.ts'
import { microservice } from '../index.ts'
import { happening } from '../testing/service.ts'
import { Cleanups, newWay, WAYS } from '../testing/ways.ts'

const cleanups = new Cleanups()
afterEach(() => cleanups.run())

for (const way of WAYS)
  describe(`a service that stops, over ${way}`, () => {
    async function working(drain: number) {
      const ends = newWay(way)
      const lines: string[] = []
      const add = (line: string) => void lines.push(line.replace(/\d+ ms$|\d+ ms(?=;)/, 'N ms'))
      const begun = happening()
      const end = happening()
      const service = microservice({
        name: 'orders',
        transport: ends.transport,
        drain,
        logger: { error: add, warn: add }
      })
        .message('slow', async () => {
          begun.happen()
          await end.happened
          return 'done'
        })
        .message('quick', () => 1)
      await service.listen()
      const client = cleanups.add(connect({ ...ends.client(), logger: { error() {}, warn() {} } }))
      return { service, client, lines, begun: begun.happened, end: end.happen }
    }

    it('says nothing where nothing is in flight', async () => {
      const { service, client, lines } = await working(1_000)
      await client.request('quick')
      await service.stop()
      assert.deepEqual(lines, [])
    })

    it('says how much is in flight, and how long that took', async () => {
      const { service, client, lines, begun, end } = await working(60_000)
      const answer = client.request('slow')
      await begun
      const stopped = service.stop()
      await new Promise(setImmediate)
      assert.deepEqual(lines, ["The service 'orders' stops; messages in flight: 1"])
      end()
      assert.equal(await answer, 'done')
      await stopped
      assert.deepEqual(lines.slice(1), ["The service 'orders' has stopped after N ms"])
    })

    for (const drain of [0, 20])
      it(`says what was cut off after ${drain} ms`, async () => {
        const { service, client, lines, begun, end } = await working(drain)
        const answer = assert.rejects(client.request('slow'), { code: 'CONNECTION' })
        await begun
        await service.stop()
        assert.deepEqual(lines, [
          "The service 'orders' stops; messages in flight: 1",
          `The service 'orders' has stopped after N ms; messages cut off after options.drain (${drain} ms): 1`
        ])
        await client.close()
        await answer
        end()
      })
  })
