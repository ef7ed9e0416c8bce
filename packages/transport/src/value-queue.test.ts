/** Tests a queue between a sender that pushes values and a reader. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { type QueueSource, ValueQueue } from './value-queue.ts'

/** Makes a queue, and a list that records the calls to its sender. */
function queued() {
  const told: string[] = []
  const source: QueueSource = {
    resume: () => void told.push('resume'),
    cancel: () => void told.push('cancel')
  }
  return { queue: new ValueQueue<number>(source), told }
}

const END = { done: true, value: undefined }
const item = (value: number) => ({ done: false, value })
const failure = (text: string) => ({ error: new Error(text) })

/** Pushes the numbers of a range. Returns the numbers after which `push` has asked the sender to pause. */
function fill(queue: ValueQueue<number>, from: number, to: number): number[] {
  const enough: number[] = []
  for (let n = from; n <= to; n++) if (!queue.push(n)) enough.push(n)
  return enough
}

describe('ValueQueue', () => {
  it('gives values in their order to a loop, and then its end', async () => {
    const { queue, told } = queued()
    fill(queue, 1, 3)
    const read: number[] = []
    const reading = (async () => {
      for await (const value of queue) read.push(value)
    })()
    await null
    fill(queue, 4, 5)
    queue.end()
    await reading
    assert.deepEqual(read, [1, 2, 3, 4, 5])
    assert.deepEqual(told, [])
    assert.deepEqual(await queue.next(), END)
  })

  it('serves readers that wait in the order in which they came, and ends them all', async () => {
    const { queue } = queued()
    const waiting = [1, 2, 3, 4].map(() => queue.next())
    assert.equal(queue.push(1), true)
    assert.equal(queue.push(2), true)
    assert.equal(queue.size, 0)
    queue.end()
    assert.deepEqual(await Promise.all(waiting), [item(1), item(2), END, END])
  })

  it('tells of a failure once: behind the values that are there, to the reader that waits longest', async () => {
    const late = queued().queue
    fill(late, 1, 2)
    late.end(failure('no'))
    assert.deepEqual([await late.next(), await late.next()], [item(1), item(2)])
    await assert.rejects(late.next(), /^Error: no$/)
    assert.deepEqual(await late.next(), END)
    const early = queued().queue
    const waiting = [1, 2, 3].map(() => early.next())
    early.end(failure('no'))
    await assert.rejects(waiting[0] as Promise<unknown>, /^Error: no$/)
    assert.deepEqual(await Promise.all(waiting.slice(1)), [END, END])
    assert.deepEqual(await early.next(), END)
  })

  it('ends once: what comes afterwards is dropped, and no reason to pause', async () => {
    const { queue, told } = queued()
    queue.end()
    queue.end(failure('late'))
    assert.deepEqual(fill(queue, 1, 1_000), [])
    assert.equal(queue.size, 0)
    assert.deepEqual(await queue.next(), END)
    assert.deepEqual(await queue.return(), END)
    assert.deepEqual(told, [])
  })

  it('asks its sender to pause at 256 values, and to go on at 64, once', async () => {
    const { queue, told } = queued()
    assert.deepEqual(fill(queue, 1, 257), [256, 257])
    const read = async (count: number) => {
      for (let n = 0; n < count; n++) await queue.next()
    }
    await read(192)
    assert.deepEqual([queue.size, told], [65, []])
    await read(1)
    assert.deepEqual([queue.size, told], [64, ['resume']])
    await read(64)
    assert.deepEqual(told, ['resume'])
    assert.deepEqual(fill(queue, 1, 255), [])
    assert.deepEqual(fill(queue, 256, 256), [256])
    await read(200)
    assert.deepEqual(told, ['resume', 'resume'])
  })

  it('forgets what waits when its reader leaves, who hears of no failure; its sender is told', async () => {
    const { queue, told } = queued()
    fill(queue, 1, 300)
    for await (const value of queue) if (value === 3) break
    assert.deepEqual([queue.size, told], [0, ['cancel']])
    assert.equal(queue.push(1), true)
    queue.end(failure('late'))
    assert.deepEqual(await queue.next(), END)
    assert.deepEqual(await queue.return(), END)
    assert.deepEqual(told, ['cancel'])
  })

  it('cancels nothing when its reader leaves behind the end, and still forgets', async () => {
    const { queue, told } = queued()
    fill(queue, 1, 3)
    queue.end(failure('no'))
    assert.deepEqual(await queue.return(), END)
    assert.deepEqual([queue.size, told], [0, []])
    assert.deepEqual(await queue.next(), END)
  })

  it('ends readers that wait when one of them leaves', async () => {
    const { queue, told } = queued()
    const waiting = [queue.next(), queue.next()]
    await queue.return()
    assert.deepEqual(await Promise.all(waiting), [END, END])
    assert.deepEqual(told, ['cancel'])
  })

  it('needs nobody to pause', async () => {
    const queue = new ValueQueue<number>()
    fill(queue, 1, 300)
    for (let n = 1; n <= 300; n++) assert.deepEqual(await queue.next(), item(n))
    assert.deepEqual(await queue.return(), END)
  })

  it('keeps no places for values that were read, while others come', async () => {
    const { queue } = queued()
    fill(queue, 1, 10)
    for (let n = 1; n <= 10_000; n++) {
      queue.push(n + 10)
      assert.deepEqual(await queue.next(), item(n))
    }
    assert.equal(queue.size, 10)
  })

  it('agrees with an obvious queue, whatever comes in whatever order [property]', async () => {
    const step = fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({ do: fc.constant('push' as const), count: fc.integer({ min: 1, max: 200 }) })
      },
      {
        weight: 6,
        arbitrary: fc.record({ do: fc.constant('next' as const), count: fc.integer({ min: 1, max: 200 }) })
      },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('end' as const), fails: fc.boolean() }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('return' as const) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('clear' as const) }) }
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40, size: 'max' }), async (steps) => {
        const { queue, told } = queued()
        const model = new Model()
        const outcomes: string[] = []
        const reads: Promise<void>[] = []
        let [pushed, asked] = [0, 0]
        for (const given of steps) {
          switch (given.do) {
            case 'push':
              for (let n = 0; n < given.count; n++) {
                assert.equal(queue.push(++pushed), model.push(pushed), `push ${pushed}`)
              }
              break
            case 'next':
              for (let n = 0; n < given.count; n++) {
                const index = asked++
                const tell = (outcome: string) => {
                  outcomes[index] = outcome
                }
                model.next(index)
                reads.push(
                  queue.next().then(
                    ({ done, value }) => tell(done === true ? 'end' : String(value)),
                    (error: Error) => tell(error.message)
                  )
                )
              }
              break
            case 'end':
              queue.end(given.fails ? failure('failed') : undefined)
              model.end(given.fails ? 'failed' : undefined)
              break
            case 'return':
              assert.deepEqual(await queue.return(), END)
              model.return()
              break
            default:
              queue.clear()
              model.values = []
          }
          assert.equal(queue.size, model.values.length)
          assert.deepEqual(told, model.told)
        }
        queue.end()
        model.end(undefined)
        await Promise.all(reads)
        assert.deepEqual(outcomes, model.outcomes)
      }),
      { numRuns: runs(300) }
    )
  })
})

/** The simplest implementation of the same queue, to compare with. */
class Model {
  values: number[] = []
  readonly outcomes: string[] = []
  readonly told: string[] = []
  #waiting: number[] = []
  #hasEnded = false
  #failure: string | undefined
  #isPaused = false

  push(value: number): boolean {
    if (this.#hasEnded) return true
    const index = this.#waiting.shift()
    if (index === undefined) this.values.push(value)
    else this.outcomes[index] = String(value)
    if (this.values.length < 256 || index !== undefined) return true
    this.#isPaused = true
    return false
  }

  next(index: number): void {
    const value = this.values.shift()
    if (value === undefined) {
      if (this.#hasEnded) this.#tellEnd(index)
      else this.#waiting.push(index)
      return
    }
    this.outcomes[index] = String(value)
    if (!this.#isPaused || this.values.length > 64) return
    this.#isPaused = false
    this.told.push('resume')
  }

  end(failure: string | undefined): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#failure = failure
    for (const index of this.#waiting.splice(0)) this.#tellEnd(index)
  }

  return(): void {
    this.values = []
    if (!this.#hasEnded) {
      this.end(undefined)
      this.told.push('cancel')
    }
    this.#failure = undefined
  }

  #tellEnd(index: number): void {
    this.outcomes[index] = this.#failure ?? 'end'
    this.#failure = undefined
  }
}
