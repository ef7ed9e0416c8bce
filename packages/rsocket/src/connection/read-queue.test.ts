/** Tests chunks of several connections. The tests end the turns and set the time. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type Reader, ReadQueue } from './read-queue.ts'

const SMALL = 10
const LARGE = 16 * 1024

/** A simulated process: its queue, clock and event loop, and connections that log what they read. */
class Process {
  readonly log: string[] = []
  readonly failures: unknown[] = []
  now = 0
  #tasks: (() => void)[] = []
  #microtasks: (() => void)[] = []
  readonly queue = new ReadQueue({
    later: (task) => this.#tasks.push(task),
    afterwards: (task) => this.#microtasks.push(task),
    now: () => this.now,
    failed: (error) => this.failures.push(error)
  })

  /** @param meanwhile is called while a chunk is handled, with the number of the chunk */
  connection(name: string, meanwhile = (_number: number) => {}): Reader {
    return {
      read: (chunk) => {
        this.log.push(`${name}${chunk[0]}`)
        meanwhile(chunk[0] as number)
      }
    }
  }

  connections(count: number, meanwhile?: (number: number) => void): Reader[] {
    return Array.from({ length: count }, (_, index) => this.connection(`${index}:`, meanwhile))
  }

  add(reader: Reader, number: number, length = SMALL): void {
    this.queue.add(reader, new Uint8Array(length).fill(number))
    this.drain()
  }

  settle(): void {
    this.queue.settle()
    this.drain()
  }

  /** Ends the turn; returns the number of tasks that waited for its end. */
  endTurn(): number {
    const tasks = this.#tasks.splice(0)
    for (const task of tasks) {
      task()
      this.drain()
    }
    return tasks.length
  }

  /** Runs one turn with a chunk of each reader; returns how many chunks were gathered. */
  turn(readers: readonly Reader[]): number {
    const before = this.log.length
    for (const reader of readers) this.add(reader, 0)
    const atOnce = this.log.length - before
    this.endTurn()
    return readers.length - atOnce
  }

  /** Runs turns in which many connections have chunks, until chunks are gathered, `size` at a time. */
  gather(size = 32): void {
    const readers = Array.from({ length: size - 1 }, () => this.connection('-'))
    for (let turns = 0; this.turn(readers) < readers.length; turns++)
      assert.ok(turns < 1_000, 'nothing is gathered')
    this.log.length = 0
  }

  /** Runs the microtasks. */
  drain(): void {
    for (const task of this.#microtasks.splice(0)) task()
  }
}

describe('the queue of reads', () => {
  it('hands on at once what comes from one connection, however much', () => {
    const process = new Process()
    const [only] = process.connections(1) as [Reader]
    for (let turn = 0; turn < 1_000; turn++) assert.equal(process.turn([only, only, only, only, only]), 0)
  })

  it('gathers what comes from many in a turn, and hands it on in order at its end', () => {
    const process = new Process()
    process.gather()
    const [a, b] = [process.connection('a'), process.connection('b')]
    process.add(a, 1)
    process.add(b, 1)
    process.add(a, 2)
    assert.deepEqual(process.log, [])
    assert.equal(process.endTurn(), 1)
    assert.deepEqual(process.log, ['a1', 'b1', 'a2'])
    assert.equal(process.endTurn(), 0)
  })

  it('gathers nothing of three connections, however busy they are', () => {
    const process = new Process()
    const three = process.connections(3)
    for (let turn = 0; turn < 1_000; turn++) assert.equal(process.turn(three), 0)
  })

  it('begins with the first busy turns, whatever some connections read twice, and after any quiet time', () => {
    const process = new Process()
    const [a, b, c, d, e] = process.connections(5) as [Reader, Reader, Reader, Reader, Reader]
    const busy = [a, a, b, c, c, c, d, e]
    /** Runs busy turns until at least half of the chunks of a turn are gathered; returns the number of turns before. */
    const begin = () => {
      for (let turns = 0; ; turns++) if (process.turn(busy) >= busy.length / 2) return turns
    }
    assert.ok(begin() <= 4)
    for (let turn = 0; turn < 100_000; turn++) process.turn(turn % 2 ? [a] : [b])
    assert.ok(begin() <= (2 * 1024) / busy.length)
  })

  it('looks again as soon as at first when gathering has paid, however rarely it looked before', () => {
    const process = new Process()
    const slow = process.connections(40, () => {
      process.now += 4
    })
    for (let turn = 0; turn < 1_000; turn++) process.turn(slow)
    process.gather()
    process.turn(process.connections(32))
    const lonely = process.connections(1)
    for (let turn = 0; turn < 16; turn++) process.turn(lonely)
    const busy = process.connections(16)
    let turns = 0
    while (process.turn(busy) < busy.length) turns++
    assert.ok(turns <= 4, `${turns} turns, at worst 64`)
  })

  it('stops where turns have little to read', () => {
    const process = new Process()
    process.gather()
    const [a, b] = process.connections(2) as [Reader, Reader]
    let gathered = 0
    for (let turn = 0; turn < 10_000; turn++) gathered += process.turn([a, b])
    assert.ok(gathered <= 2 * 16, `${gathered} gathered`)
  })

  it('is as patient with quiet turns each time that it gathers, though they are the first', () => {
    const process = new Process()
    const busy = process.connections(5)
    const [a, b] = process.connections(2) as [Reader, Reader]
    for (let time = 0; time < 3; time++) {
      // The queue asks for the end of a turn when it is about to look at the next turn.
      do process.add(a, 0)
      while (process.endTurn() === 0)
      process.turn(busy)
      let quiet = 0
      while (process.turn([a, b]) > 0) quiet++
      assert.equal(quiet, 16)
    }
  })

  it('says while it handles that others are handled, too', () => {
    const process = new Process()
    const seen: boolean[] = []
    const look = process.connection('a', () => seen.push(process.queue.isHandling))
    process.add(look, 1)
    process.gather()
    process.add(look, 2)
    process.endTurn()
    assert.deepEqual(seen, [false, true])
    assert.equal(process.queue.isHandling, false)
  })

  it('waits for 32 chunks at most', () => {
    const process = new Process()
    process.gather()
    const [a] = process.connections(1) as [Reader]
    for (let number = 0; number < 40; number++) process.add(a, number)
    assert.equal(process.log.length, 32)
    process.endTurn()
    assert.equal(process.log.length, 40)
  })

  it('lets no more wait for each other than can be handled in a millisecond', () => {
    const process = new Process()
    /** The largest number of chunks that are handled together, if each takes `cost` milliseconds. */
    const together = (cost: number) => {
      let most = 0
      for (let turn = 0; turn < 200; turn++) {
        const readers = process.connections(40, () => {
          process.now += cost
        })
        for (const reader of readers) {
          const before = process.log.length
          process.add(reader, 0)
          if (turn > 10) most = Math.max(most, process.log.length - before)
        }
        process.endTurn()
      }
      return most
    }
    assert.equal(together(0.01), 32)
    assert.equal(together(0.1), 10)
    // The queue never handles fewer together, because it has to measure whether the cost has changed.
    assert.equal(together(4), 4)
  })

  it('makes the first of slow ones wait for three others, now and then', () => {
    const process = new Process()
    let waited = 0
    for (let turn = 0; turn < 1_000; turn++) {
      const readers = process.connections(40, () => {
        process.now += 4
      })
      for (const reader of readers) {
        const before = process.log.length
        process.add(reader, 0)
        waited += Math.max(0, process.log.length - before - 1)
      }
      const before = process.log.length
      process.endTurn()
      waited += process.log.length - before
    }
    assert.ok(waited > 0 && waited < 1_000, `${waited} of 40,000 waited`)
  })

  it('lets no large chunk wait, nor overtake', () => {
    const process = new Process()
    process.gather()
    const a = process.connection('a')
    process.add(a, 1)
    process.add(a, 2, LARGE)
    assert.deepEqual(process.log, ['a1', 'a2'])
  })

  it('hands on what waits when it is asked to', () => {
    const process = new Process()
    process.gather()
    process.add(process.connection('a'), 1)
    process.settle()
    assert.deepEqual(process.log, ['a1'])
    process.endTurn()
    assert.deepEqual(process.log, ['a1'])
  })

  it('hands on the others when one throws, and says so', () => {
    const process = new Process()
    process.gather()
    const failing = process.connection('failing', () => assert.fail('as a logger may'))
    for (const each of [process.connection('a'), failing, process.connection('b')]) process.add(each, 1)
    process.settle()
    assert.deepEqual(process.log, ['a1', 'failing1', 'b1'])
    assert.match(String(process.failures), /as a logger may/)
  })

  it('hands on everything once, and what is of one connection in order, whatever happens when', () => {
    const chunks = fc.record({
      reader: fc.nat(5),
      large: fc.boolean(),
      cost: fc.constantFrom(0, 0.01, 5),
      meanwhile: fc.constantFrom('nothing', 'settle', 'add')
    })
    const steps = fc.oneof(
      { weight: 9, arbitrary: chunks },
      { weight: 1, arbitrary: fc.constantFrom('end of turn', 'settle') }
    )
    fc.assert(
      fc.property(fc.boolean(), fc.array(steps, { maxLength: 200, size: 'max' }), (gathers, script) => {
        const process = new Process()
        if (gathers) process.gather()
        const added = Array.from({ length: 7 }, () => 0)
        const effects = new Map<string, () => void>()
        const readers = added.map((_, index) =>
          process.connection(`${index}:`, (number) => effects.get(`${index}:${number}`)?.())
        )
        const add = (index: number, length = SMALL, effect = () => {}) => {
          const number = (added[index] as number) + 1
          added[index] = number
          effects.set(`${index}:${number}`, effect)
          process.queue.add(readers[index] as Reader, new Uint8Array(length).fill(number))
        }
        for (const step of script) {
          if (step === 'end of turn') process.endTurn()
          else if (step === 'settle') process.settle()
          else if (typeof step === 'object') {
            add(step.reader, step.large ? LARGE : SMALL, () => {
              process.now += step.cost
              if (step.meanwhile === 'settle') process.queue.settle()
              // Handling one chunk gives another socket something to read.
              if (step.meanwhile === 'add') add(6)
            })
            process.drain()
          }
        }
        while (process.endTurn() > 0) {}
        for (const [index, count] of added.entries()) {
          const own = process.log.filter((entry) => entry.startsWith(`${index}:`))
          assert.deepEqual(
            own,
            Array.from({ length: count }, (_, number) => `${index}:${number + 1}`)
          )
        }
      })
    )
  })
})
