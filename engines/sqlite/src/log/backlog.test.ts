import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OpenLog } from '../testing/open-log.ts'
import { Backlog, type BacklogPlace } from './backlog.ts'
import type { TakenEvent } from './event.ts'
import type { Group } from './groups.ts'

/** The backlog of a group, read a page after the other. */
function read(given: OpenLog, group: Group, most: number, now: number) {
  const backlog = new Backlog(given.database, given.log)
  const shown: unknown[] = []
  let behind: BacklogPlace | undefined
  for (;;) {
    const places = backlog.page(group, behind, most)
    for (const place of places) {
      const { id, state, attempts } = backlog.event(place, now) ?? {}
      shown.push(`${id} ${state} ${attempts}`)
    }
    if (places.length < most) return shown
    behind = places.at(-1)
  }
}

describe('the backlog of a group', () => {
  it('has each event once, in the order of the log, however long its pages are', () => {
    const given = new OpenLog()
    for (const [name, pattern] of Object.entries({ exact: 'a.x', wide: 'a.*' })) {
      const group = given.join(name, pattern)
      const id = (n: number) => ({ id: `${name}${n}` })
      const other = name === 'wide' ? 'a.y' : 'a.x'
      given.publish(
        0,
        { pattern: 'a.x', ...id(1) },
        { pattern: other, ...id(2) },
        { pattern: 'a.x', ...id(3) }
      )
      given.publish(
        0,
        { pattern: other, ...id(4) },
        { pattern: 'b', id: `b ${name}` },
        { pattern: 'a.x', ...id(5) }
      )
      const [first, second] = given.take(group, 2) as [TakenEvent, TakenEvent]
      given.settle(group, { kind: 'back', event: first, pause: 100 })
      given.settle(group, { kind: 'done', event: second })
      given.take(group, 1)
      const all = ['1 pausing 1', '3 running 1', '4 waiting 0', '5 waiting 0'].map((text) => name + text)
      for (const most of [1, 2, 3, 4, 9]) assert.deepEqual(read(given, group, most, 99), all)
      assert.equal(read(given, group, 9, 100)[0], `${name}1 waiting 1`)
    }
  })

  it('has a dead letter that was given back, and neither what is handled meanwhile nor what is gone', () => {
    const given = new OpenLog(undefined, { maxAge: 1_000 })
    const group = given.join('g')
    given.publish(0, { id: 'a' }, { id: 'b' })
    const [a, b] = given.take(group) as [TakenEvent, TakenEvent]
    given.settle(group, { kind: 'dead', event: a, reason: 'no', died: 1 })
    given.log.transactions.run('process', () => given.groups.redrive('g', 1))
    assert.deepEqual(read(given, group, 9, 0), ['a waiting 0', 'b running 1'])
    const backlog = new Backlog(given.database, given.log)
    const [, place] = backlog.page(group, undefined, 9)
    given.settle(group, { kind: 'done', event: b })
    assert.equal(place && backlog.event(place, 0), undefined)
    given.log.prune(1_000)
    assert.deepEqual(read(given, group, 9, 0), ['a waiting 0'])
  })
})
