/** The control addresses of calls: whose messages are taken, who is told that a call goes on, and whose silence ends it. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { VirtualTime } from '@elysia-microservices/test-support'
import type { Carried } from '../carrier.ts'
import type { PartedCarrier } from '../parts/parts.ts'
import { newSecret } from '../secret.ts'
import { HEARTBEAT, LOST_AFTER, replyToken, Told } from '../words.ts'
import { Control, type Controlled } from './control.ts'

const INBOX = '_INBOX.service.'

let time: VirtualTime
beforeEach(() => {
  time = new VirtualTime()
})
afterEach(() => time[Symbol.dispose]())

class Setting {
  readonly said: string[] = []
  readonly carrier = {
    isConnected: true,
    newInbox: () => INBOX,
    isInbox: (address: string) => address.startsWith('_INBOX.'),
    publish: (address: string, words: string) => void this.said.push(`${address} ${words}`),
    listen: (_: string, receive: (message: Carried) => void) => {
      this.receive = receive
    }
  }
  receive: (message: Carried) => void = () => {}
  readonly control = new Control(this.carrier as unknown as PartedCarrier, { error() {}, warn() {} })

  /** A call under control, with what has happened to it. */
  call(): Controlled & { readonly happened: string[] } {
    const happened: string[] = []
    const { control } = this
    const call: Controlled & { readonly happened: string[] } = {
      happened,
      number: 0,
      secret: '',
      heardAt: 0,
      replyTo: `_INBOX.caller.${replyToken('request', 1, newSecret(), undefined)}`,
      get reply() {
        return control.address(call, 0)
      },
      told: (word) => void happened.push(word),
      callerGone() {
        happened.push('gone')
        control.remove(call)
      },
      beat: () => void happened.push('beat')
    }
    control.add(call)
    return call
  }

  tell(address: string, words: string, given: Partial<Carried> = {}): void {
    this.receive({ address, words, reply: '', headers: undefined, ...given })
  }
}

describe('a call with a control address', () => {
  it('takes the words of who knows its secret, and shows who asks that it goes on', () => {
    const setting = new Setting()
    const call = setting.call()
    setting.tell(call.reply, Told.granted)
    setting.tell(call.reply, Told.granted, { reply: '_INBOX.caller.1' })
    assert.deepEqual(call.happened, [Told.granted, Told.granted, 'beat'])
    setting.tell(`${INBOX}${call.number}-${newSecret()}.0`, Told.canceled)
    setting.tell(`${INBOX}${call.number + 1}-${call.secret}.0`, Told.canceled)
    assert.deepEqual([call.happened.length, setting.control.strayed, setting.said], [3, 2, []])
    setting.control.stop()
  })

  it('that is over is said to be gone to who asks, and to nobody else', () => {
    const setting = new Setting()
    const call = setting.call()
    const { reply: address } = call
    setting.control.remove(call)
    for (const [words, reply] of [
      [Told.granted, ''],
      [Told.canceled, '_INBOX.caller.1'],
      [Told.granted, 'orders.delete'],
      [Told.granted, '_INBOX.caller.2']
    ] as const)
      setting.tell(address, words, { reply })
    assert.deepEqual([setting.said, call.happened], [['_INBOX.caller.2 +x'], []])
    setting.control.stop()
  })

  it('ends when nobody listens at its reply address, and counts as no stray then', () => {
    const setting = new Setting()
    const call = setting.call()
    setting.tell(call.reply, '', { isNobody: true })
    assert.deepEqual([call.happened, setting.control.strayed], [['gone'], 0])
    setting.control.stop()
  })

  it('shows from 5 s of silence on that it goes on, and ends after more than 20 s', async () => {
    const setting = new Setting()
    const call = setting.call()
    await time.pass(HEARTBEAT)
    assert.deepEqual(call.happened, [])
    await time.pass(LOST_AFTER - HEARTBEAT)
    assert.deepEqual(call.happened, ['beat', 'beat', 'beat'])
    await time.pass(HEARTBEAT)
    assert.deepEqual(call.happened.slice(3), ['gone'])
    setting.control.stop()
  })

  it('lasts while its caller is heard, and while there is no server', async () => {
    const setting = new Setting()
    const call = setting.call()
    for (let seconds = 0; seconds < 60; seconds += 15) {
      await time.pass(15_000)
      setting.tell(call.reply, Told.granted)
    }
    setting.carrier.isConnected = false
    await time.pass(60_000)
    setting.carrier.isConnected = true
    setting.control.restored()
    await time.pass(LOST_AFTER)
    assert.equal(call.happened.includes('gone'), false)
    await time.pass(HEARTBEAT)
    assert.equal(call.happened.at(-1), 'gone')
    setting.control.stop()
  })

  it('is never missed by who cannot be heard, even if the server was away', async () => {
    const setting = new Setting()
    const call = setting.call()
    call.heardAt = Number.POSITIVE_INFINITY
    setting.control.restored()
    await time.pass(10 * LOST_AFTER)
    assert.deepEqual(call.happened, [])
    setting.control.stop()
  })

  it('tells its address after 25 ms, unless it has ended by then', async () => {
    const setting = new Setting()
    const [call, short] = [setting.call(), setting.call()]
    for (const one of [call, short]) setting.control.acceptLater(one)
    await time.pass(24)
    setting.control.remove(short)
    assert.deepEqual(call.happened, [])
    await time.pass(1)
    const later = setting.call()
    setting.control.acceptLater(later)
    await time.pass(25)
    assert.deepEqual([call.happened, short.happened, later.happened], [['beat'], [], ['beat']])
    setting.control.stop()
    assert.equal(time.timers, 0)
  })

  it('is found by its reply address until it is over, however long nobody has asked', async () => {
    const setting = new Setting()
    const { control } = setting
    const early = setting.call()
    const head = ({ replyTo }: Controlled) => replyTo.slice(0, replyTo.lastIndexOf('-') + 1)
    assert.equal(control.byReply(head(early)), early)
    const late = setting.call()
    assert.equal(control.byReply(head(late)), late)
    for (const one of [early, late]) one.heardAt = Number.POSITIVE_INFINITY
    await time.pass(3 * HEARTBEAT)
    assert.equal(control.byReply(head(late)), late)
    control.remove(late)
    assert.deepEqual([control.byReply(head(late)), control.byReply(head(early))], [undefined, early])
    control.stop()
  })

  it('is aborted when its service stops', () => {
    const setting = new Setting()
    const calls = [setting.call(), setting.call()]
    setting.control.stop()
    assert.deepEqual(
      calls.map(({ happened }) => happened),
      [['gone'], ['gone']]
    )
  })
})
