/** Closing a client: at once, after its calls in flight, or at the end of a block. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { microservice } from '../index.ts'
import { happening } from '../testing/service.ts'
import { Cleanups, newWay, WAYS } from '../testing/ways.ts'
import { connect } from './index.ts'

const cleanups = new Cleanups()
afterEach(() => cleanups.run())
const CLOSED = { name: 'ConnectionError', message: /client is closed/, mayHaveRun: false }

for (const way of WAYS)
  describe(`closing a client over ${way}`, () => {
    async function start() {
      const [begun, open] = [happening(), happening()]
      const ends = newWay(way)
      const service = microservice({ transport: ends.transport }).message('waits', async ({ data }) => {
        begun.happen()
        await open.happened
        return data
      })
      cleanups.add(await service.listen())
      const client = cleanups.add(connect(ends.client()))
      const call = client.request('waits', 7)
      await begun.happened
      return { client, call, open }
    }

    it('fails its calls in flight at once', async () => {
      const { client, call } = await start()
      const failed = assert.rejects(call, { name: 'ConnectionError', mayHaveRun: true })
      await client.close()
      await failed
    })

    it('with drain waits for its calls in flight, and fails new ones', async () => {
      const { client, call, open } = await start()
      const closed = client.close({ drain: 60_000 })
      await assert.rejects(client.request('waits'), CLOSED)
      await assert.rejects(client.emit('waits'), CLOSED)
      await assert.rejects(client.with({ timeout: 5 }).stream('waits').next(), CLOSED)
      assert.notEqual(client.status, 'closed')
      open.happen()
      assert.equal(await call, 7)
      await closed
      assert.equal(client.status, 'closed')
    })

    it('with drain waits no longer than that', async () => {
      const { client, call } = await start()
      const failed = assert.rejects(call, { name: 'ConnectionError', mayHaveRun: true })
      await client.close({ drain: 1 })
      await failed
    })

    it('happens at the end of a block that uses it', async () => {
      const { client, call } = await start()
      call.catch(() => {})
      {
        await using mine = client
        assert.notEqual(mine.status, 'closed')
      }
      assert.equal(client.status, 'closed')
      await assert.rejects(client.close({ drain: -1 }), { path: 'options.drain' })
    })
  })
