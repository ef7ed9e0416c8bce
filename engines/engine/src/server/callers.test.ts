/** The room that each of our callers has, and the answers that wait for it. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { VirtualTime } from '@elysia-microservices/test-support'
import { QUESTION } from '../batches.ts'
import type { Carried } from '../carrier.ts'
import type { PartedCarrier } from '../parts/parts.ts'
import { HEARTBEAT, LOST_AFTER, Told } from '../words.ts'
import { CALLER_WINDOW, Callers, MAX_WAITING, type WaitingAnswer } from './callers.ts'
import { Control, type Controlled } from './control.ts'

const ONE = '_INBOX.one.'
/** As many characters as are asked about at once. */
const QUARTER = 'x'.repeat(CALLER_WINDOW / 4)

let time: VirtualTime
beforeEach(() => {
  time = new VirtualTime()
})
afterEach(() => time[Symbol.dispose]())

class Setting {
  /** The addresses to which something was published, each with the begin of its words. */
  readonly said: string[] = []
  readonly asked: string[] = []
  readonly log: string[] = []
  readonly carrier = {
    isConnected: true,
    hasRoomFor: () => true,
    newInbox: () => '_INBOX.service.',
    isInbox: () => true,
    listen: () => {},
    publish: (address: string, words: string, reply = '') => {
      if (address.endsWith(QUESTION)) this.asked.push(reply)
      else this.said.push(`${address} ${words.slice(0, 12)}`)
    }
  }
  readonly logger = { error: (line: string) => void this.log.push(line), warn() {} }
  readonly control = new Control(this.carrier as unknown as PartedCarrier, this.logger)
  readonly callers = new Callers(this.carrier as unknown as PartedCarrier, this.control, this.logger)

  /** An answer to a caller; `left`: the words that have waited and are sent. */
  answer(replyTo = `${ONE}1`): WaitingAnswer & { readonly left: string[] } {
    const left: string[] = []
    return { replyTo, left, leaves: (words) => void left.push(words) as undefined }
  }

  /** A caller that has as much in transit as it may. */
  full(): ReturnType<Callers['of']> {
    const caller = this.callers.of(`${ONE}1`)
    for (let n = 0; n < 4; n++) caller.room.use(QUARTER.length)
    return caller
  }

  /** The caller answers the question of this number. */
  hear(reply: string): void {
    const message: Carried = { address: reply, words: `${Told.heard}orders`, reply: '', headers: undefined }
    this.callers.of(`${ONE}1`).told(Told.heard, message)
  }

  close(): void {
    this.callers.stop()
    this.control.stop()
  }
}

describe('a caller', () => {
  it('is asked when a quarter of its window is in transit, and gets more when it has answered', async () => {
    const setting = new Setting()
    const caller = setting.callers.of(`${ONE}1`)
    caller.room.use(QUARTER.length - 1)
    assert.equal(setting.asked.length, 0)
    caller.room.use(1)
    assert.equal(setting.asked.length, 1)
    for (let n = 0; n < 3; n++) caller.room.use(QUARTER.length)
    let resumed = 0
    const stream = { resume: () => void resumed++ }
    assert.equal(caller.hasRoomFor(stream), false)
    setting.hear(setting.asked[0] ?? '')
    await time.pass(0)
    assert.deepEqual([resumed, caller.hasRoomFor(stream)], [1, true])
    setting.close()
  })

  it('that says nothing gets more after its silence, because its answer may be lost', async () => {
    const setting = new Setting()
    const caller = setting.full()
    let resumed = 0
    assert.equal(caller.hasRoomFor({ resume: () => void resumed++ }), false)
    await time.pass(LOST_AFTER - 1)
    assert.equal(resumed, 0, 'it gets more than it may have in transit')
    await time.pass(1)
    assert.equal(resumed, 1, 'a stream waits for ever for a word that is lost')
    setting.close()
  })

  it('confirms nothing by an answer to an earlier question', async () => {
    const setting = new Setting()
    const caller = setting.full()
    setting.hear(setting.asked[0] ?? '')
    await time.pass(0)
    // A second question asks about the words that were sent behind the first one.
    assert.equal(setting.asked.length, 2)
    caller.room.use(QUARTER.length)
    assert.equal(caller.hasRoomFor({ resume() {} }), false)
    setting.hear(setting.asked[0] ?? '')
    await time.pass(0)
    assert.equal(caller.hasRoomFor({ resume() {} }), false)
    setting.hear(setting.asked[1] ?? '')
    await time.pass(0)
    assert.equal(caller.hasRoomFor({ resume() {} }), true)
    setting.close()
  })

  it('has room when its server is back, because the words in transit are lost', async () => {
    const setting = new Setting()
    const caller = setting.full()
    let resumed = 0
    assert.equal(caller.hasRoomFor({ resume: () => void resumed++ }), false)
    setting.callers.restored()
    await time.pass(0)
    assert.equal(resumed, 1)
    setting.close()
  })

  it('is asked for its name once, and is known by it', () => {
    const setting = new Setting()
    const sources = [1, 2].map(() => setting.callers.sourceOf(`${ONE}7`))
    assert.deepEqual([setting.asked.length, sources[0] === sources[1]], [1, true])
    setting.hear(setting.asked[0] ?? '')
    assert.equal((sources[0] as { name?: string }).name, 'orders')
    setting.close()
  })

  it('is forgotten when nothing of it is open any more, and not before', async () => {
    const setting = new Setting()
    const removed: Controlled[] = []
    setting.control.remove = (call) => void removed.push(call)
    const caller = setting.callers.of(`${ONE}1`)
    caller.streams++
    await time.pass(HEARTBEAT)
    assert.deepEqual(removed, [])
    caller.streams--
    await time.pass(HEARTBEAT)
    assert.deepEqual([removed, setting.callers.of(`${ONE}1`) === caller], [[caller], false])
    const asked = setting.full()
    await time.pass(HEARTBEAT)
    assert.equal(setting.callers.of(`${ONE}1`), asked, 'its answer is still awaited')
    setting.close()
  })
})

describe('large answers', () => {
  it('leave in order as their caller has room, and are counted until then', async () => {
    const setting = new Setting()
    setting.full()
    const answers = ['a', 'b'].map((name, n) => ({ name, answer: setting.answer(`${ONE}${n}`) }))
    const caller = setting.callers.of(`${ONE}1`)
    for (const { name, answer } of answers) assert.ok(setting.callers.sendOf(caller, answer, name.repeat(9)))
    assert.deepEqual([setting.said, setting.callers.answers], [[], { current: 18, limit: MAX_WAITING }])
    assert.equal(caller.isIdle, false)
    setting.hear(setting.asked[0] ?? '')
    await time.pass(0)
    assert.deepEqual(setting.said, [`${ONE}0 aaaaaaaaa`, `${ONE}1 bbbbbbbbb`])
    assert.deepEqual([setting.callers.answers.current, caller.waitingSize], [0, 0])
    assert.deepEqual(
      answers.map(({ answer }) => answer.left.length),
      [1, 1]
    )
    setting.close()
  })

  it('that nobody wants any more are not sent, and do not count', () => {
    const setting = new Setting()
    const caller = setting.full()
    const [gone, other] = [setting.answer(`${ONE}1`), setting.answer(`${ONE}2`)]
    for (const one of [gone, other, gone]) setting.callers.sendOf(caller, one, 'words')
    caller.forget(gone)
    assert.deepEqual([setting.callers.answers.current, caller.waitingSize], [5, 5])
    setting.callers.stop()
    assert.deepEqual(setting.said, [`${ONE}2 words`])
    setting.close()
  })

  it('are refused, with an error for the caller and a line for the log, when too much of one caller waits', () => {
    const setting = new Setting()
    const caller = setting.full()
    // Only its length counts, and a text of this size takes long to make.
    const large = { length: MAX_WAITING / 2, slice: () => 'large' } as unknown as string
    assert.ok(setting.callers.sendOf(caller, setting.answer(), large))
    assert.equal(setting.callers.sendOf(caller, setting.answer(`${ONE}2`), 'y'), false)
    assert.match(setting.said.join(), /^_INBOX\.one\.2 \{/)
    assert.match(setting.log.join(), /An answer of 1 characters is not sent/)
    assert.equal(setting.callers.answers.current, large.length)
    // Answers to other callers have room.
    const other = setting.callers.of('_INBOX.two.1')
    for (let n = 0; n < 4; n++) other.room.use(QUARTER.length)
    assert.ok(setting.callers.sendOf(other, setting.answer('_INBOX.two.1'), large))
    const third = setting.callers.of('_INBOX.three.1')
    assert.equal(setting.callers.sendOf(third, setting.answer('_INBOX.three.1'), 'y'), false)
    setting.close()
  })

  it('wait up to their limit exactly, and a single one waits however large it is', () => {
    const texts = (length: number) => ({ length, slice: () => 'large' }) as unknown as string
    for (const [sizes, isTaken] of [
      [[MAX_WAITING / 2 - 2, 2], true],
      [[MAX_WAITING / 2 - 2, 3], false],
      [[MAX_WAITING], true],
      [[MAX_WAITING + 1], false]
    ] as const) {
      const setting = new Setting()
      const caller = setting.full()
      const taken = sizes.map((size) => setting.callers.sendOf(caller, setting.answer(), texts(size)))
      assert.equal(taken.at(-1), isTaken, String(sizes))
      setting.close()
    }
  })

  it('leave when the service stops, even without room', () => {
    const setting = new Setting()
    const caller = setting.full()
    setting.callers.sendOf(caller, setting.answer(), 'words')
    setting.callers.stop()
    assert.deepEqual(setting.said, [`${ONE}1 words`])
    setting.control.stop()
    assert.equal(time.timers, 0)
  })
})
