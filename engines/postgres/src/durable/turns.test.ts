import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Turn } from '../connection/turn.ts'
import { OverTables, takenRow } from '../testing/fake-tables.ts'
import type { TakenEvent } from './event.ts'
import type { Taker } from './taker.ts'

/** A handler that takes what it gets. */
class Hands implements Taker {
  readonly pattern = 'p'
  readonly isTransactional = false
  readonly mostBack = 4
  readonly got: TakenEvent[] = []
  readonly gone: TakenEvent[] = []
  figures: unknown
  readonly groupId: number
  room: number
  readonly isOrdered: boolean

  constructor(groupId = 1, room = 10, isOrdered = false) {
    this.groupId = groupId
    this.room = room
    this.isOrdered = isOrdered
  }

  deliver(event: TakenEvent): void {
    this.got.push(event)
  }

  lost(events: readonly TakenEvent[] = []): void {
    this.gone.push(...events)
  }

  setFigures(lag: number, isPaused: boolean): void {
    this.figures = [lag, isPaused]
  }
}

/** Turns with one handler that has three events of one batch. */
async function withThree(over = new OverTables()) {
  const hands = new Hands()
  const rows = ['1', '2', '3'].map((position) => takenRow({ position, id: `e${position}` }))
  over.tables.answers.push({ taken: rows })
  over.turns.add(hands)
  await over.settled()
  assert.equal(hands.got.length, 3)
  over.tables.turns.length = 0
  return { over, ...over, hands, events: hands.got as [TakenEvent, TakenEvent, TakenEvent] }
}

const positions = (list: readonly { position: string }[]) => list.map(({ position }) => position)

describe('a turn', () => {
  it('takes events for all handlers that have room, in one statement and one order', async () => {
    const over = new OverTables()
    const [third, first, second] = [new Hands(3, 2), new Hands(1, 0), new Hands(2, 5)]
    over.tables.answers.push({ taken: [takenRow({ group: 3, batch: '8' }), takenRow({ group: 2 })] })
    for (const hands of [third, first, second]) over.turns.add(hands)
    await over.settled()
    const [asked, , resting] = over.tables.turns
    assert.deepEqual(asked?.wanted, [
      { id: 2, most: 5, back: 4 },
      { id: 3, most: 2, back: 4 }
    ])
    assert.equal(asked?.willSleep, false)
    assert.deepEqual([third.got.length, first.got.length, second.got.length], [1, 0, 1])
    // A process that sleeps wants to know when the next event of any handler is due.
    assert.deepEqual([resting?.willSleep, resting?.wanted.map(({ id }) => id)], [true, [1, 2, 3]])
    assert.deepEqual(resting?.known, ['8', '7'])
  })

  it('asks the handlers next for which the answer before had no room, and then all again', async () => {
    const over = new OverTables()
    for (const id of [1, 2, 3]) over.turns.add(new Hands(id, 5))
    over.tables.answers.push(
      { taken: [takenRow({ group: 1, position: '1', batch: '1' })], until: 1 },
      { taken: [takenRow({ group: 3, position: '2', batch: '2' })], until: 3 },
      { taken: [takenRow({ group: 1, position: '3', batch: '3' })] }
    )
    await over.settled()
    assert.deepEqual(
      over.tables.turns.slice(0, 4).map(({ wanted }) => wanted.map(({ id }) => id)),
      [
        [1, 2, 3],
        [2, 3],
        [1, 2, 3],
        [1, 2, 3]
      ]
    )
  })

  it('writes what has become of events, and what is left', async () => {
    const { over, tables, turns, events } = await withThree()
    const [done, later, dead] = events
    later.begun = 1
    turns.settle(done, 'done')
    turns.settle(later, { delay: 500 })
    turns.settle(done, { delay: 9 })
    await over.settled()
    assert.deepEqual(tables.turns[0]?.settled, [
      {
        batch: '7',
        left: [{ position: '3', letter: '0', attempt: 0, lock: null }],
        back: [{ position: '2', letter: '0', attempt: 1, lock: null, delay: 500 }],
        dead: [],
        discarded: [],
        over: []
      }
    ])
    turns.settle(dead, { reason: 'no' })
    tables.turns.length = 0
    await over.settled()
    const { pattern, published, id, key, headers, body } = dead.row
    assert.deepEqual(over.written, [
      {
        ...{ batch: '7', left: [], back: [], discarded: [], over: [] },
        dead: [
          { position: '3', letter: '0', pattern, published, id, key, headers, body, reason: 'no', attempt: 1 }
        ]
      }
    ])
    turns.wake()
    await over.settled()
    assert.deepEqual(tables.turns.at(-1)?.known, [])
  })

  it('says which dead letters are over, but not those that wait again', async () => {
    const over = new OverTables()
    const hands = new Hands()
    over.tables.answers.push({ taken: ['4', '5', '6'].map((letter) => takenRow({ letter })) })
    over.turns.add(hands)
    await over.settled()
    over.turns.settle(hands.got[0] as TakenEvent, 'done')
    over.turns.settle(hands.got[1] as TakenEvent, { delay: 0 })
    // It is a new dead letter.
    over.turns.settle(hands.got[2] as TakenEvent, { reason: 'no' })
    await over.settled()
    assert.deepEqual(
      over.written.map((one) => [one.over, one.back.map(({ letter }) => letter), one.dead.length]),
      [[['4', '6'], ['5'], 1]]
    )
  })

  it('that fails is written again, once, when the server is back', async () => {
    const { over, tables, turns, events, failures, lines } = await withThree()
    const error = new Error('gone')
    tables.answers.push(error)
    turns.settle(events[0], { reason: 'no' })
    let isWritten = false
    void turns.written().then(() => {
      isWritten = true
    })
    await over.settled()
    assert.deepEqual([failures, isWritten, tables.turns.length], [[error], false, 1])
    assert.match(lines.join(), /Events cannot be read from PostgreSQL; trying again/)
    turns.settle(events[1], 'done')
    await over.settled()
    turns.restored()
    await over.settled()
    assert.equal(isWritten, true)
    const [first, ...again] = over.written
    assert.deepEqual([first?.dead.length, first && positions(first.left)], [1, ['2', '3']])
    assert.deepEqual(
      again.map(({ left, dead }) => [positions(left), dead.length]),
      [[['3'], 1]]
    )
  })

  it('that PostgreSQL refuses because another one was quicker comes again at once: no server is lost', async () => {
    const { over, tables, turns, events, failures, lines } = await withThree()
    tables.answers.push(Object.assign(new Error('could not serialize access'), { code: '40001' }))
    turns.settle(events[0], { reason: 'no' })
    const written = turns.written()
    await over.clock.advance(20)
    await written
    assert.deepEqual([failures, lines, over.written.map(({ dead }) => dead.length)], [[], [], [1, 1]])
  })

  it('is not written again if only its figures have failed', async () => {
    // A process at rest, so that figures are next read by the turn that writes.
    const over = new OverTables({ pollInterval: 60_000, ackWait: 240_000 })
    const { tables, turns, events, failures } = await withThree(over)
    await over.clock.advance(30_000)
    tables.figuresFail = true
    turns.settle(events[0], { reason: 'no' })
    await over.settled()
    assert.deepEqual([over.written.length, failures.length], [1, 1])
    tables.figuresFail = false
    turns.restored()
    await over.settled()
    assert.equal(over.written.length, 1)
  })

  it('tells handlers of batches that others have, and writes nothing more of them', async () => {
    const { over, tables, turns, hands, events } = await withThree()
    const other = new Hands(2)
    turns.add(other)
    tables.answers.push({ lost: ['7'] })
    await over.settled()
    assert.deepEqual([hands.gone, other.gone], [events, []])
    turns.settle(events[0], { reason: 'no' })
    await over.settled()
    assert.deepEqual(over.written, [])
    assert.deepEqual(tables.turns.at(-1)?.known, [])
  })

  it('gives back what it got for a handler that has left', async () => {
    const { over, tables, turns, hands } = await withThree()
    turns.remove(hands)
    tables.answers.push({ taken: [takenRow({ batch: '8', attempt: 2 })] })
    turns.wake()
    await over.settled()
    assert.deepEqual(
      over.written.map(({ batch, back }) => [batch, back]),
      [['8', [{ position: '1', letter: '0', attempt: 1, lock: null, delay: 0 }]]]
    )
    assert.equal(hands.got.length, 3)
  })

  it('gives back what a turn brings behind an event of its key that was given back meanwhile', async () => {
    const over = new OverTables()
    const hands = new Hands(1, 10, true)
    over.tables.answers.push({ taken: [takenRow({ key: 'k', id: 'first' })] })
    over.turns.add(hands)
    await over.settled()
    let answer: (turn: Partial<Turn>) => void = () => {}
    over.tables.answers.push(new Promise<Partial<Turn>>((resolve) => (answer = resolve)))
    over.turns.wake()
    await over.settled()
    const [first] = hands.got as [TakenEvent]
    over.turns.settle(first, { delay: 0 })
    const next = { batch: '8', attempt: 1 }
    answer({
      taken: [
        takenRow({ ...next, position: '2', id: 'second', key: 'k' }),
        takenRow({ ...next, position: '3', id: 'third', key: 'other' })
      ]
    })
    await over.settled()
    assert.deepEqual(
      hands.got.map(({ id }) => id),
      ['first', 'third']
    )
    const back = over.written.flatMap((settling) =>
      settling.back.map(({ position, attempt }) => [position, attempt])
    )
    assert.deepEqual(back, [
      ['1', 0],
      ['2', 0]
    ])
    // The database knows of it now, and gives them in their order.
    over.tables.answers.push({ taken: [takenRow({ batch: '9', key: 'k', id: 'first' })] })
    over.turns.wake()
    await over.settled()
    assert.equal(hands.got.at(-1)?.id, 'first')
  })

  it('says that an event was deleted before it was handled, and is done with it', async () => {
    const { over, tables, turns, hands, lines } = await withThree()
    tables.answers.push({ taken: [takenRow({ batch: '8', vanished: true })] })
    turns.wake()
    await over.settled()
    assert.match(lines.join(), /'p' that was not handled was deleted, because it was older than maxAge/)
    assert.equal(hands.got.length, 3)
    assert.deepEqual(
      over.written.map(({ batch, left, back }) => [batch, left, back]),
      [['8', [], []]]
    )
  })
})

/** A handler that wants two events, and a turn that has brought them while the next one is under way. */
async function withTwoUnderWay(isOrdered = false) {
  const over = new OverTables()
  const hands = new Hands(1, 2, isOrdered)
  const begunAt: number[] = []
  let answer: (turn: Partial<Turn>) => void = () => {}
  const rows = ['1', '2'].map((position) => takenRow({ position, key: 'k' }))
  over.tables.answers.push({ taken: rows }, new Promise<Partial<Turn>>((resolve) => (answer = resolve)))
  hands.deliver = (event) => {
    begunAt.push(over.tables.turns.length)
    hands.got.push(event)
  }
  return { over, hands, begunAt, answer: (turn: Partial<Turn>) => answer(turn) }
}

describe('a turn that has brought all that was wanted', () => {
  it('is followed by the next one, which works while handlers get its events', async () => {
    const { over, hands, begunAt, answer } = await withTwoUnderWay()
    over.turns.add(hands)
    await over.settled()
    assert.deepEqual(begunAt, [2, 2])
    // Events on their way to the handler take its room.
    assert.deepEqual(
      over.tables.turns.map(({ wanted }) => wanted.map(({ most }) => most)),
      [[2], []]
    )
    for (const event of hands.got) over.turns.settle(event, 'done')
    answer({})
    await over.settled()
    assert.deepEqual(
      over.written.map(({ batch, left }) => [batch, left]),
      [['7', []]]
    )
  })

  it('gives its events back if their handler has left meanwhile, and those that others have by now to nobody', async () => {
    for (const hasLeft of [true, false]) {
      const { over, hands, answer } = await withTwoUnderWay()
      const leaving = over.tables.turn
      over.tables.turn = (...given) => {
        // The second turn is asked for, and the events of the first one are still on their way to the handler.
        if (over.tables.turns.length === 1 && hasLeft) over.turns.remove(hands)
        return leaving.apply(over.tables, given)
      }
      over.turns.add(hands)
      await over.settled()
      answer(hasLeft ? {} : { lost: ['7'] })
      await over.settled()
      assert.deepEqual([hands.got.length, hands.gone.length], hasLeft ? [0, 0] : [2, 2])
      assert.deepEqual(
        over.written.map(({ back }) => positions(back)),
        hasLeft ? [['1', '2']] : []
      )
    }
  })

  it('gives an event back that would overtake one that was given back before it came', async () => {
    const { over, hands, answer } = await withTwoUnderWay(true)
    over.turns.add(hands)
    await over.settled()
    const [first] = hands.got as [TakenEvent]
    const next = ['3', '4'].map((position) => takenRow({ batch: '8', position, key: 'k' }))
    over.turns.settle(first, { delay: 0 })
    answer({ taken: next })
    await over.settled()
    assert.deepEqual(
      hands.got.map(({ position }) => position),
      ['1', '2']
    )
    assert.deepEqual(
      over.written.map(({ batch, back }) => [batch, positions(back)]),
      [
        ['7', ['1']],
        ['8', ['3', '4']]
      ]
    )
  })
})

describe('events of a process', () => {
  it('are its own for three quarters of ackWait from the begin of a turn that was answered', async () => {
    const over = new OverTables({ ackWait: 4_000, pollInterval: 100_000 })
    let answer: (turn: Partial<Turn>) => void = () => {}
    over.tables.answers.push(new Promise<Partial<Turn>>((resolve) => (answer = resolve)))
    const hands = new Hands()
    over.turns.add(hands)
    await over.clock.advance(1_000)
    over.tables.answers.push(new Error('gone'))
    answer({ taken: [takenRow()] })
    await over.settled()
    const [event] = hands.got as [TakenEvent]
    await over.clock.advance(1_999)
    assert.equal(over.turns.owns(event), true)
    await over.clock.advance(1)
    assert.equal(over.turns.owns(event), false)
    over.turns.restored()
    await over.settled()
    assert.equal(over.turns.owns(event), true)
  })
})

describe('the end of the turns', () => {
  it('waits for one that still looks after old events: its connection may be closed then', async () => {
    // It sleeps for longer than there is between two looks for old events.
    const over = new OverTables({ pollInterval: 60_000, ackWait: 240_000 })
    over.turns.add(new Hands())
    await over.clock.advance(31_000)
    const pruned: (() => void)[] = []
    const { prune } = over.tables
    over.tables.prune = async (...given) => {
      await new Promise<void>((resolve) => pruned.push(resolve))
      return prune.call(over.tables, ...given)
    }
    const steps: string[] = []
    const ended = over.turns.end().then(() => steps.push('ended'))
    await over.settled()
    assert.deepEqual([pruned.length, steps], [1, []])
    for (const end of pruned) end()
    await ended
    const turns = over.tables.turns.length
    await over.clock.advance(60_000)
    assert.equal(over.tables.turns.length, turns)
  })
})

describe('a process without work', () => {
  it('sends one statement in each pollInterval, however many handlers it has', async () => {
    const over = new OverTables({ pollInterval: 1_000 })
    for (let id = 1; id <= 300; id++) over.turns.add(new Hands(id))
    await over.clock.advance(150)
    // One finds nothing; the others follow while it falls asleep.
    const awake = over.tables.turns.length
    assert.ok(awake >= 6 && awake <= 8, String(awake))
    await over.clock.advance(10_000)
    assert.equal(over.tables.turns.length - awake, 10)
    // With those that read figures and delete what is old: at most two in a second.
    assert.ok(over.tables.turns.length + over.tables.askedFigures.length + over.tables.pruned - awake <= 20)
    assert.ok(over.tables.turns.slice(1).every(({ willSleep }) => willSleep))
  })

  it('gives a sign of life in time, and looks when the next event is due', async () => {
    const over = new OverTables({ pollInterval: 60_000, ackWait: 4_000 })
    over.turns.add(new Hands())
    await over.clock.advance(1_000)
    over.tables.turns.length = 0
    await over.clock.advance(4_000)
    assert.equal(over.tables.turns.length, 4)
    over.tables.answers.push({ next: 300 }, { next: 5_000 })
    await over.clock.advance(1_000)
    assert.equal(over.tables.turns.length, 6)
    await over.clock.advance(1_000)
    assert.equal(over.tables.turns.length, 7)
  })

  it('is woken by NOTIFY, and stays awake while there are events', async () => {
    const over = new OverTables()
    over.turns.add(new Hands())
    await over.clock.advance(10_000)
    assert.deepEqual(over.tables.channels, ['shop_events'])
    over.tables.turns.length = 0
    over.tables.answers.push({ taken: [takenRow()] }, { taken: [takenRow({ position: '2' })] })
    over.tables.notify()
    await over.settled()
    assert.deepEqual(
      over.tables.turns.map(({ willSleep }) => willSleep),
      [false, false, false, true]
    )
  })

  it('listens again after a while if it cannot, or no more', async () => {
    const over = new OverTables()
    await over.settled()
    over.tables.deafness = new Error('no LISTEN here')
    over.tables.loseListener()
    await over.clock.advance(999)
    assert.equal(over.tables.channels.length, 1)
    await over.clock.advance(1)
    assert.match(over.lines.join(), /cannot tell of new events \(LISTEN\); they are looked for at intervals/)
    over.tables.deafness = undefined
    await over.clock.advance(1_000)
    assert.equal(over.tables.channels.length, 3)
    await over.clock.advance(5_000)
    assert.equal(over.tables.channels.length, 3)
  })
})

describe('what turns look after', () => {
  it('is figures, for two minutes after somebody has asked for them', async () => {
    const over = new OverTables()
    const hands = new Hands(5)
    over.tables.lag = [{ id: 5, lag: 3, paused: true }]
    over.turns.add(hands)
    await over.settled()
    assert.deepEqual([hands.figures, over.tables.askedFigures], [[3, true], [[5]]])
    await over.clock.advance(120_000)
    const asked = over.tables.askedFigures.length
    assert.ok(asked >= 40 && asked <= 61, String(asked))
    await over.clock.advance(60_000)
    assert.equal(over.tables.askedFigures.length, asked)
    over.turns.wantFigures()
    await over.clock.advance(2_000)
    assert.ok(over.tables.askedFigures.length > asked)
  })

  it('is old events, with each turn until there are no more, and then twice a minute', async () => {
    const over = new OverTables()
    over.tables.toPrune = 3
    over.turns.add(new Hands())
    await over.clock.advance(2_000)
    assert.equal(over.tables.pruned, 4)
    await over.clock.advance(31_000)
    assert.equal(over.tables.pruned, 5)
    // Behind those that were deleted before, because the others may be kept for an open transaction.
    assert.deepEqual(
      over.tables.prunedBehind.map(({ deleted }) => deleted),
      ['0', '1', '2', '3', '4']
    )
  })

  it('is old events, also without work, and says what groups have missed', async () => {
    const over = new OverTables({ pollInterval: 60_000 })
    over.turns.add(new Hands())
    await over.clock.advance(29_000)
    over.tables.toPrune = 100
    over.tables.missed.push({ group: 'g', pattern: 'p', count: 3 }, { group: 'g', pattern: 'p', count: 4 })
    // The turn after half a minute.
    await over.clock.advance(12_000)
    assert.equal(over.tables.toPrune, -1)
    assert.deepEqual(
      over.lines.filter((line) => line.includes('deleted')),
      ["7 events 'p' that the group 'g' had not handled were deleted, because they were older than maxAge"]
    )
  })

  it('is old events from the beginning every ten minutes, and when the server may be another one', async () => {
    const over = new OverTables({ pollInterval: 10_000 })
    over.turns.add(new Hands())
    await over.clock.advance(1_300_000)
    const wholly = () => over.tables.prunedBehind.filter(({ deleted }) => deleted === '0').length
    assert.deepEqual([wholly(), over.tables.pruned > 30], [3, true])
    over.tables.answers.push(new Error('gone'))
    over.turns.wake()
    await over.settled()
    over.turns.restored()
    await over.clock.advance(40_000)
    assert.equal(wholly(), 4)
  })
})

describe('the end of a process', () => {
  it('writes what was settled, gives back the rest, and says and hears nothing more', async () => {
    const { over, tables, turns, events } = await withThree()
    turns.settle(events[0], 'done')
    await Promise.all([turns.end(), over.settled()])
    assert.deepEqual(
      over.written.map(({ left }) => positions(left)),
      [['2', '3']]
    )
    assert.deepEqual([tables.left, tables.unlistened], [[tables.turns[0]?.owner], 1])
    const count = tables.turns.length
    await turns.end()
    turns.wake()
    tables.notify()
    tables.loseListener()
    await over.clock.advance(60_000)
    assert.deepEqual([tables.turns.length, tables.left.length, tables.channels.length], [count, 1, 1])
    assert.equal(over.clock.waiting, 0)
  })

  it('listens no more, though it was going to', async () => {
    const over = new OverTables()
    await over.settled()
    over.tables.loseListener()
    await Promise.all([over.turns.end(), over.settled()])
    assert.equal(over.clock.waiting, 0)
  })

  it('waits a second for a server that does not answer, and not at all for one that is lost', async () => {
    const { over, tables, turns, events } = await withThree()
    turns.settle(events[0], 'done')
    tables.answers.push(new Promise(() => {}))
    let isOver = false
    const end = turns.end().then(() => {
      isOver = true
    })
    await over.clock.advance(999)
    assert.equal(isOver, false)
    await over.clock.advance(1)
    await end

    const lost = await withThree()
    lost.over.isConnected = false
    await lost.turns.end()
    assert.deepEqual(lost.tables.left, [])
  })
})
