/** Several listen to one channel over one connection. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SharedListening } from './shared-listening.ts'

/** Notes what is opened; a test says what becomes of it. */
function opening() {
  const opened: {
    readonly name: string
    begin(): void
    fail(error: Error): void
    readonly notify: () => void
    readonly lose: () => void
    isClosed: boolean
  }[] = []
  const shared = new SharedListening(
    (name, wake, lost) =>
      new Promise((resolve, reject) => {
        const one = {
          name,
          begin() {
            wake()
            resolve(async () => {
              one.isClosed = true
            })
          },
          fail: reject,
          notify: wake,
          lose: lost,
          isClosed: false
        }
        opened.push(one)
      })
  )
  const words: string[] = []
  const listen = (who: string, name = 'c') =>
    shared.listen(
      name,
      () => words.push(`${who} woken`),
      () => words.push(`${who} lost`)
    )
  return { opened, words, listen }
}

describe('listening to a channel', () => {
  it('takes one connection for all who listen, until the last one has left', async () => {
    const { opened, words, listen } = opening()
    const both = [listen('a'), listen('b')]
    opened[0]?.begin()
    const [endA, endB] = (await Promise.all(both)) as [() => Promise<void>, () => Promise<void>]
    // One that comes later has not heard of what was notified before.
    const endC = await listen('c')
    assert.deepEqual(words.splice(0), ['a woken', 'b woken', 'c woken'])
    opened[0]?.notify()
    assert.deepEqual(words.splice(0), ['a woken', 'b woken', 'c woken'])
    await endA()
    await endA()
    await endB()
    opened[0]?.notify()
    assert.deepEqual([words.splice(0), opened[0]?.isClosed], [['c woken'], false])
    await endC()
    assert.deepEqual([opened.length, opened[0]?.isClosed], [1, true])
    void listen('d')
    void listen('e', 'other')
    assert.deepEqual(
      opened.map(({ name }) => name),
      ['c', 'c', 'other']
    )
  })

  it('that is lost is lost for all, once, and begins again on another connection', async () => {
    const { opened, words, listen } = opening()
    const both = [listen('a'), listen('b')]
    opened[0]?.begin()
    const ends = await Promise.all(both)
    words.length = 0
    opened[0]?.lose()
    for (const end of ends) await end()
    assert.deepEqual([words, opened[0]?.isClosed], [['a lost', 'b lost'], false])
    void listen('a')
    assert.equal(opened.length, 2)
  })

  it('that cannot begin fails for all, and is tried again', async () => {
    const { opened, listen } = opening()
    const both = [listen('a'), listen('b')]
    const failure = new Error('too many connections')
    opened[0]?.fail(failure)
    for (const one of both) await assert.rejects(one, failure)
    void listen('a')
    assert.equal(opened.length, 2)
  })
})
