/** The clock of the database is set, and processes are silent: nobody's events are taken too early, and none stands still. */
import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { Embedded, EmbeddedGroup } from '../testing/embedded.ts'

let database: Embedded
before(async () => {
  database = await Embedded.open()
})
afterEach(async () => {
  const wrong = await database.query(
    `select grp from elysia_microservices.pending group by grp
      having elysia_microservices.pending_of(grp) <> count(*)`
  )
  assert.deepEqual(wrong, [], 'events that come back are counted wrongly')
  await database.setClock('0')
  // The next test has no processes from another time.
  for (const table of ['process', 'batch', 'pending', 'tally'])
    await database.query(`delete from elysia_microservices.${table}`)
})
after(() => database.close())

/** A process that says which events it gets. */
function processOf(name: string, { id }: EmbeddedGroup, ackWait = 30_000) {
  let known: string[] = []
  return async (most = 100) => {
    const wanted = [{ id, most, back: most }]
    const { taken, lost } = await database.tables.turn(name, ackWait, [], known, wanted, false)
    known = [...known.filter((batch) => !lost.includes(batch)), ...taken.map(({ batch }) => batch)]
    return { came: taken.map((row) => `${row.id} ${row.attempt}`), lost: lost.length }
  }
}

async function groupWith(...ids: readonly string[]) {
  const group = await new EmbeddedGroup(database).join()
  await group.publish(ids)
  return group
}

const NOTHING = { came: [], lost: 0 }

describe('the events of a process', () => {
  it('stay with it for as long as it may be silent itself, and no longer, whatever others allow themselves', async () => {
    const group = await groupWith('a')
    assert.deepEqual((await processOf('patient', group, 600_000)()).came, ['a 1'])
    const silent = (seconds: number) =>
      database.query(`update elysia_microservices.process set seen = seen - interval '${seconds} seconds'`)
    await silent(590)
    assert.deepEqual(await processOf('hasty', group, 1_000)(), NOTHING)
    await silent(11)
    assert.deepEqual((await processOf('more patient', group, 3_600_000)()).came, ['a 2'])
  })

  it('stay with it when the clock is set forward, and go to others when it is silent then', async () => {
    const group = await groupWith('a', 'b')
    const [one, other] = [processOf('one', group), processOf('other', group)]
    assert.deepEqual([(await one(1)).came, (await other(1)).came], [['a 1'], ['b 1']])
    await database.setClock('1 day')
    assert.deepEqual([await other(), await one(), await other()], [NOTHING, NOTHING, NOTHING])
    await database.setClock('1 day 20 seconds')
    await other()
    await database.setClock('1 day 40 seconds')
    assert.deepEqual((await other()).came, ['a 2'])
    assert.equal((await one()).lost, 1)
  })

  it('go to others within its time, though the clock was set back since its last sign of life', async () => {
    const group = await groupWith('a')
    const [one, other] = [processOf('one', group), processOf('other', group)]
    await one()
    await other()
    await database.setClock('-1 hour')
    assert.deepEqual(await other(), NOTHING)
    await database.setClock('-00:59:40')
    assert.deepEqual(await other(), NOTHING)
    await database.setClock('-00:59:20')
    assert.deepEqual((await other()).came, ['a 2'])
  })
})

describe('an event that pauses', () => {
  const pausing = async () => {
    const group = await groupWith('a')
    await group.turn()
    const settling = group.settling({ back: ['a'] })
    const back = settling.back.map((row) => ({ ...row, delay: 60_000 }))
    await group.turn([{ ...settling, back }])
    return group
  }

  it('comes after its pause when the clock was set back meanwhile, and not before', async () => {
    const group = await pausing()
    await database.setClock('-1 day')
    assert.deepEqual((await group.turn()).came, [])
    await database.setClock('-1 day 30 seconds')
    assert.deepEqual((await group.turn()).came, [])
    await database.setClock('-23:58:50')
    assert.deepEqual((await group.turn()).came, ['a 2'])
  })

  it('does so, too, if all processes have ended since', async () => {
    const group = await pausing()
    await database.setClock('-1 day')
    const fresh = processOf('fresh', group)
    assert.deepEqual((await fresh()).came, [])
    await database.setClock('-23:58:50')
    assert.deepEqual((await fresh()).came, ['a 2'])
  })
})

it('an event of the future comes at its time by the clock, whatever that was before', async () => {
  const group = await groupWith()
  await group.turn()
  await group.publish(['a'], undefined, { delay: 60_000 })
  await database.setClock('-1 hour')
  assert.deepEqual((await group.turn()).came, [])
  await database.setClock('-1 minute')
  assert.deepEqual((await group.turn()).came, [])
  await database.setClock('1 day')
  // It is published by one turn, and found by this one or the next.
  assert.deepEqual([...(await group.turn()).came, ...(await group.turn()).came], ['a 1'])
})
