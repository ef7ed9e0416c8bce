import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { consume } from './result.ts'

describe('consume', () => {
  it('lets a subscribable that can be slowed ask whether the sink is ready', async () => {
    const values: unknown[] = []
    let letGo = () => {}
    const blocked = new Promise<void>((resolve) => {
      letGo = resolve
    })
    const slowable = {
      '@@observable': true,
      subscribe(observer: {
        next(value: unknown): void
        complete(): void
        ready(): Promise<void> | undefined
      }) {
        observer.next(1)
        void observer.ready()?.then(() => {
          observer.next(2)
          observer.complete()
        })
        return { unsubscribe() {} }
      }
    }
    const ended = new Promise<void>((resolve, reject) => {
      consume(slowable, {
        next: (value) => values.push(value),
        complete: resolve,
        error: reject,
        ready: () => blocked
      })
    })
    assert.deepEqual(values, [1])
    letGo()
    await ended
    assert.deepEqual(values, [1, 2])
  })
})
