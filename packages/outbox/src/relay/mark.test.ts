/** The mark never passes an event that may still appear, whatever transactions do. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Mark } from './mark.ts'

/** A transaction: its number, and the events that it writes with their positions. */
interface Transaction {
  readonly number: bigint
  readonly positions: bigint[]
}

/** A model of PostgreSQL: what its snapshots show. */
class Model {
  readonly running: Transaction[] = []
  /** Fresh events that are committed. */
  fresh: bigint[] = []
  #last = 0n
  #nextNumber = 1n
  #nextPosition = 1n

  begin(): void {
    this.running.push({ number: this.#nextNumber++, positions: [] })
  }
  write(index: number): void {
    this.running[index % this.running.length]?.positions.push(this.#nextPosition++)
  }
  end(index: number, isCommitted: boolean): void {
    const [ended] = this.running.splice(index % this.running.length, 1)
    if (ended === undefined || !isCommitted) return
    this.fresh.push(...ended.positions)
    for (const position of ended.positions) if (position > this.#last) this.#last = position
  }
  publish(index: number): void {
    this.fresh.splice(index % this.fresh.length, 1)
  }
  positions(mark: bigint) {
    const above = this.fresh.filter((position) => position > mark)
    return {
      first: above.reduce<bigint | undefined>((a, b) => (a === undefined || b < a ? b : a), undefined),
      last: this.#last,
      running: this.running.reduce((a, { number }) => (number < a ? number : a), this.#nextNumber),
      next: this.#nextNumber
    }
  }
}

describe('the mark', () => {
  const index = fc.nat({ max: 20 })
  const step = fc.oneof(
    fc.constant(['begin'] as const),
    fc.tuple(fc.constant('write' as const), index),
    fc.tuple(fc.constant('end' as const), index, fc.boolean()),
    fc.tuple(fc.constant('publish' as const), index),
    fc.constant(['see'] as const)
  )

  it('stays below every event that is fresh or may become it', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
        const model = new Model()
        const mark = new Mark()
        for (const [what, at = 0, isCommitted = false] of steps) {
          if (what === 'begin') model.begin()
          if (what === 'write') model.write(at)
          if (what === 'end' && model.running.length > 0) model.end(at, isCommitted)
          if (what === 'publish' && model.fresh.length > 0) model.publish(at)
          if (what === 'see') mark.see(model.positions(mark.position))
          const open = [...model.fresh, ...model.running.flatMap(({ positions }) => positions)]
          for (const position of open) assert.ok(position > mark.position, `${position} > ${mark.position}`)
        }
      }),
      { numRuns: 2_000 }
    )
  })

  it('reaches the last event when nothing is left', () => {
    const mark = new Mark()
    mark.see({ first: 1n, last: 3n, running: 10n, next: 10n })
    assert.equal(mark.position, 0n)
    mark.see({ first: undefined, last: 5n, running: 12n, next: 12n })
    assert.equal(mark.position, 3n)
    mark.see({ first: undefined, last: 5n, running: 12n, next: 13n })
    assert.equal(mark.position, 5n)
  })

  it('waits for a transaction that runs', () => {
    const mark = new Mark()
    for (let n = 0; n < 5; n++) mark.see({ first: undefined, last: 9n, running: 4n, next: 8n })
    assert.equal(mark.position, 0n)
  })
})
