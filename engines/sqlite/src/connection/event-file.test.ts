import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Log } from '@elysia-microservices/test-support'
import { durableSettings, ManualClock, NotStoredError } from '@elysia-microservices/transport/kit'
import type { Appended, NewEvent, TakenEvent } from '../log/event.ts'
import type { Group } from '../log/groups.ts'
import { newEvent } from '../testing/open-log.ts'
import { WatchedDatabase } from '../testing/watched.ts'
import { EventFile } from './event-file.ts'
import type { Member } from './members.ts'

/** A file on a clock that the test moves, and what its publishers were told. */
class Setting {
  readonly database = new WatchedDatabase()
  readonly clock = new ManualClock()
  readonly log = new Log()
  readonly told: (number | undefined | Error)[] = []
  readonly file = new EventFile({
    database: this.database,
    name: 'a.db',
    keeping: { maxAge: 10_000, maxBytes: 0, duplicateWindow: 1_000 },
    clock: this.clock
  })

  publish(given: Partial<NewEvent> = {}, isOpen = true): void {
    this.file.append({
      event: newEvent(given),
      isOpen: () => isOpen,
      done: (result: Appended | NotStoredError) =>
        void this.told.push(result instanceof Error ? result : result.position)
    })
  }

  group(ordered = false, pattern = 'p'): Group {
    return this.file.group('g', pattern, durableSettings({ ordered }))
  }

  member(group: Group, room: number): Taker {
    const member = new Taker(room, this.log.logger)
    this.file.join(group, member)
    return member
  }

  /** Lets the file do all that it can do now. */
  turns(): Promise<void> {
    return this.clock.advance(0)
  }
}

/** A member that keeps what it gets. */
class Taker implements Member {
  readonly #room: number
  readonly logger: Member['logger']
  readonly has: TakenEvent[] = []

  constructor(room: number, logger: Member['logger']) {
    this.#room = room
    this.logger = logger
  }

  get room(): number {
    return this.#room - this.has.length
  }

  get ids(): string {
    return this.has.map(({ id }) => id).join('')
  }

  deliver(events: readonly TakenEvent[]): void {
    this.has.push(...events)
  }
}

describe('an open file', () => {
  it('stores the events of one turn in one commit, in order, and tells then', async () => {
    const setting = new Setting()
    const before = setting.database.commits
    for (let n = 0; n < 100; n++) setting.publish()
    assert.deepEqual(setting.told, [])
    await setting.turns()
    assert.deepEqual(
      setting.told,
      Array.from({ length: 100 }, (_, n) => n + 1)
    )
    // One for the events, one that deletes what is too old.
    assert.equal(setting.database.commits - before, 2)
  })

  it('looks for what is too old once a second, and at once when its clock was set back', async () => {
    const setting = new Setting()
    const { clock, database } = setting
    const commits = async () => {
      const before = database.commits
      setting.publish()
      await setting.turns()
      return database.commits - before
    }
    assert.deepEqual([await commits(), await commits()], [2, 1])
    await clock.advance(999)
    assert.equal(await commits(), 1)
    await clock.advance(1)
    assert.equal(await commits(), 2)
    const now = clock.now.bind(clock)
    clock.now = () => now() - 3_600_000
    // One more, which corrects pauses.
    assert.deepEqual([await commits(), await commits()], [3, 1])
  })

  it('lets the event loop have its turn between many events, and between large ones', async () => {
    const setting = new Setting()
    for (let n = 0; n < 1_100; n++) setting.publish()
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(setting.told.length, 512)
    await setting.turns()
    for (let n = 0; n < 4; n++) setting.publish({ size: 600_000 })
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(setting.told.length, 1_101)
    await setting.turns()
    assert.equal(setting.told.length, 1_104)
  })

  it('does not store an event for which nobody waits any more', async () => {
    const setting = new Setting()
    setting.publish({}, false)
    setting.publish()
    await setting.turns()
    assert.deepEqual([setting.told, setting.file.log.last], [[1], 1])
  })

  it('that cannot be written tells publishers, keeps what was done, and goes on when it can be', async () => {
    const setting = new Setting()
    const group = setting.group()
    setting.publish({ id: 'a' })
    const member = setting.member(group, 2)
    await setting.turns()
    setting.database.isFull = true
    let isWritten = false
    setting.file.settle(group, { kind: 'done', event: member.has[0] as TakenEvent }, () => {
      isWritten = true
    })
    setting.publish({ id: 'b' })
    await setting.turns()
    const error = setting.told.at(-1) as NotStoredError
    assert.ok(error instanceof NotStoredError)
    assert.match(error.message, /'a\.db' cannot be written: database or disk is full/)
    assert.equal(error.retryable, true)
    assert.deepEqual([isWritten, setting.file.groups.lag(group), member.ids], [false, 1, 'a'])
    assert.deepEqual(setting.log.lines, [
      "The file 'a.db' cannot be written; trying again in 1000 ms database or disk is full"
    ])
    setting.database.isFull = false
    await setting.clock.advance(1_000)
    assert.deepEqual([isWritten, setting.file.groups.lag(group)], [true, 0])
    setting.publish({ id: 'c' })
    await setting.turns()
    assert.equal(member.ids, 'ac')
  })

  it('that cannot be written refuses what waits behind the events that it refuses, of their patterns', async () => {
    const setting = new Setting()
    const size = 100_000_000
    for (const [id, pattern] of Object.entries({ a: 'p', b: 'p', c: 'q' }))
      setting.publish({ id, pattern, size })
    setting.database.isFull = true
    const isRefused = () => setting.told.map((one) => one instanceof NotStoredError)
    await setting.turns()
    assert.deepEqual(isRefused(), [true, true])
    setting.database.isFull = false
    await setting.clock.advance(1_000)
    assert.deepEqual(isRefused(), [true, true, false])
  })

  it('that can be neither written nor read ends nothing, and goes on when it can be', async () => {
    const setting = new Setting()
    const group = setting.group()
    const member = setting.member(group, 2)
    setting.publish({ id: 'a' })
    await setting.turns()
    setting.database.isGone = true
    setting.file.settle(group, { kind: 'done', event: member.has[0] as TakenEvent })
    await setting.turns()
    setting.database.isGone = false
    await setting.clock.advance(1_000)
    assert.equal(setting.file.groups.lag(group), 0)
    assert.match(setting.log.lines.join(), /cannot be written; trying again in 1000 ms disk I\/O error/)
  })

  it('gives the events of a group to its members in turn, to each as many as it takes', async () => {
    const setting = new Setting()
    const group = setting.group()
    const [one, other] = [setting.member(group, 1), setting.member(group, 2)]
    for (const id of 'abcd') setting.publish({ id })
    await setting.turns()
    assert.deepEqual([one.ids.length, other.ids.length, setting.file.groups.lag(group)], [1, 2, 4])
    setting.file.settle(group, { kind: 'done', event: one.has.shift() as TakenEvent })
    await setting.turns()
    assert.equal(one.ids, 'd')
  })

  it('gives those of an ordered group to one member, and to another one when that has left', async () => {
    const setting = new Setting()
    const group = setting.group(true)
    const [one, other] = [setting.member(group, 1), setting.member(group, 9)]
    for (const id of 'abc') setting.publish({ id })
    await setting.turns()
    assert.deepEqual([one.ids, other.ids], ['a', ''])
    setting.file.settle(group, { kind: 'back', event: one.has[0] as TakenEvent, pause: 0 })
    setting.file.leave(group, one)
    await setting.turns()
    assert.equal(other.ids, 'abc')
  })

  it('writes what becomes of each of many events, and tells of each when it is written', async () => {
    const setting = new Setting()
    const group = setting.group()
    const member = setting.member(group, 1_200)
    for (let n = 0; n < 1_200; n++) setting.publish()
    while (member.has.length < 1_200) await setting.turns()
    let written = 0
    for (const event of member.has) setting.file.settle(group, { kind: 'done', event }, () => void written++)
    while (written < 1_200) await setting.turns()
    assert.deepEqual([written, setting.file.groups.lag(group), group.pending], [1_200, 0, 0])
  })

  it('gives on what it has taken, though a handler that runs first leaves no room for it', async () => {
    const setting = new Setting()
    const [first, second] = ['p', 'q'].map((pattern) => setting.group(false, pattern)) as [Group, Group]
    const has: string[] = []
    let room = 1
    const member = (name: string): Member => ({
      logger: setting.log.logger,
      get room() {
        return room
      },
      deliver(events) {
        room = 0
        has.push(`${name} ${events.length}`)
      }
    })
    setting.file.join(first, member('one'))
    setting.file.join(second, member('two'))
    setting.publish({ pattern: 'p' })
    setting.publish({ pattern: 'q' })
    await setting.turns()
    assert.deepEqual(has, ['one 1', 'two 1'])
  })

  it('gives nothing to a paused group, and goes on with it', async () => {
    const setting = new Setting()
    const group = setting.group()
    const member = setting.member(group, 9)
    assert.deepEqual([setting.file.pause('g', true), setting.file.pause('h', true)], [true, false])
    setting.publish({ id: 'a' })
    await setting.turns()
    assert.deepEqual([member.ids, group.isPaused], ['', true])
    setting.file.pause('g', false)
    await setting.turns()
    assert.equal(member.ids, 'a')
  })

  it('gives an event again when it is due, and publishes one of the future, not before', async () => {
    const setting = new Setting()
    const group = setting.group()
    const member = setting.member(group, 9)
    setting.publish({ id: 'a' })
    setting.publish({ id: 'b', due: 700 })
    await setting.turns()
    setting.file.settle(group, { kind: 'back', event: member.has.shift() as TakenEvent, pause: 500 })
    await setting.clock.advance(499)
    assert.equal(member.ids, '')
    await setting.clock.advance(1)
    assert.equal(member.ids, 'a')
    await setting.clock.advance(199)
    assert.equal(member.ids, 'a')
    await setting.clock.advance(1)
    assert.equal(member.ids, 'ab')
    assert.equal(setting.clock.waiting, 0)
  })

  it('publishes an event of the future within a minute when the clock is set to its time, though it was far away', async () => {
    const setting = new Setting()
    const { clock } = setting
    const member = setting.member(setting.group(), 9)
    setting.publish({ id: 'a', due: 3_660_000 })
    await setting.turns()
    const now = clock.now.bind(clock)
    clock.now = () => now() + 3_600_000
    await clock.advance(60_000)
    assert.equal(member.ids, 'a')
  })

  it('gives an event again after its pause, though the clock is set back meanwhile', async () => {
    const setting = new Setting()
    const { clock, file } = setting
    await clock.advance(3_600_000)
    const group = setting.group()
    const member = setting.member(group, 9)
    setting.publish({ id: 'a' })
    await setting.turns()
    file.settle(group, { kind: 'back', event: member.has.shift() as TakenEvent, pause: 500 })
    await clock.advance(100)
    const now = clock.now.bind(clock)
    clock.now = () => now() - 3_600_000
    // The pause may begin again when that is noticed.
    await clock.advance(900)
    assert.equal(member.ids, 'a')
  })

  it('says how many events were deleted before a group had handled them', async () => {
    const setting = new Setting()
    const group = setting.group()
    for (const id of 'abc') setting.publish({ id })
    const member = setting.member(group, 1)
    await setting.turns()
    setting.file.settle(group, { kind: 'back', event: member.has.shift() as TakenEvent, pause: 60_000 })
    setting.file.leave(group, member)
    await setting.turns()
    await setting.clock.advance(60_000)
    setting.publish({ id: 'd' })
    await setting.turns()
    const later = setting.member(group, 9)
    await setting.turns()
    assert.equal(later.ids, 'd')
    assert.match(
      setting.log.lines.join(),
      /^3 events 'p' that the group 'g' had not handled were deleted, because they were older than maxAge/
    )
    assert.equal(setting.file.groups.lag(group), 1)
  })

  it('takes for all its groups together no more at a time than the event loop has time for', async () => {
    const setting = new Setting()
    const patterns = ['p', 'q']
    const groups = patterns.map((pattern) => setting.group(false, pattern))
    for (const pattern of patterns) for (let n = 0; n < 512; n++) setting.publish({ pattern })
    await setting.turns()
    const members = groups.map((group) => setting.member(group, 400))
    const taken = () => members.map(({ has }) => has.length)
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(taken(), [400, 112])
    await setting.turns()
    assert.deepEqual(taken(), [400, 400])
  })

  it('waits for nothing, and does nothing, when it is closed', async () => {
    const setting = new Setting()
    setting.member(setting.group(), 9)
    setting.publish({ due: 700 })
    await setting.turns()
    assert.equal(setting.clock.waiting, 1)
    setting.file.close()
    assert.equal(setting.clock.waiting, 0)
    setting.publish()
    await setting.turns()
    assert.deepEqual([setting.told.length, setting.log.lines], [1, []])
  })

  it('writes what is left when it is closed', async () => {
    const setting = new Setting()
    for (let n = 0; n < 600; n++) setting.publish()
    const group = setting.group()
    const member = setting.member(group, 2)
    while (member.has.length < 2) await setting.turns()
    let written = 0
    for (const event of member.has) setting.file.settle(group, { kind: 'done', event }, () => void written++)
    for (let n = 0; n < 2; n++) setting.publish()
    setting.file.close()
    assert.deepEqual([setting.told.length, written], [602, 2])
  })

  it('that is full when an event of the future is due has it neither in the file nor in memory, and publishes it later', async () => {
    const setting = new Setting()
    const { clock, database, file } = setting
    setting.publish({ id: 'a', due: 500 })
    await setting.turns()
    database.isFull = true
    await clock.advance(500)
    assert.deepEqual([file.log.last, file.log.bytes, file.log.patterns.find('p')], [0, 0, undefined])
    database.isFull = false
    await clock.advance(1_000)
    setting.publish({ id: 'b' })
    await setting.turns()
    assert.deepEqual([setting.told, file.log.last, file.log.bytes], [[undefined, 2], 2, 20])
  })

  it('gives a dead letter again, and publishes an event of the future, as soon as it is asked to', async () => {
    const setting = new Setting()
    const { file } = setting
    const group = setting.group()
    const member = setting.member(group, 9)
    setting.publish({ id: 'a' })
    setting.publish({ id: 'b', due: 5_000 })
    await setting.turns()
    file.settle(group, { kind: 'dead', event: member.has.shift() as TakenEvent, reason: 'no', died: 0 })
    await setting.turns()
    assert.deepEqual([file.redrive('g', 7), file.redrive('g', 1), file.discard('g', 1)], [false, true, false])
    await setting.turns()
    assert.equal(member.ids, 'a')
    assert.deepEqual([file.fire('p', 'c'), file.fire('p', 'b'), file.cancel('p', 'b')], [false, true, false])
    await setting.turns()
    assert.equal(member.ids, 'ab')
  })

  it('lets a member leave once, and the others stay', async () => {
    const setting = new Setting()
    const group = setting.group()
    const [one, other] = [setting.member(group, 9), setting.member(group, 9)]
    for (let n = 0; n < 2; n++) setting.file.leave(group, one)
    setting.publish({ id: 'a' })
    await setting.turns()
    assert.deepEqual([one.ids, other.ids], ['', 'a'])
    for (let n = 0; n < 2; n++) setting.file.leave(group, other)
    setting.publish({ id: 'b' })
    await setting.turns()
    assert.deepEqual([one.ids, other.ids], ['', 'a'])
  })

  it('has an event as before when the transaction that was to acknowledge it fails', async () => {
    const setting = new Setting()
    const group = setting.group()
    const member = setting.member(group, 9)
    setting.publish({ id: 'a' })
    await setting.turns()
    const [event] = member.has as [TakenEvent]
    const fail = () => {
      throw new Error('no')
    }
    assert.throws(() => setting.file.acknowledgeIn(group, event, fail), /no/)
    assert.deepEqual([group.pending, setting.file.groups.lag(group)], [1, 1])
    assert.equal(
      setting.file.acknowledgeIn(group, event, (query) => query('select 1 as n').length),
      1
    )
    assert.deepEqual([group.pending, setting.file.groups.lag(group)], [0, 0])
  })
})
