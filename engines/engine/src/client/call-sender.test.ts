/** Tests how a client sends calls, and how it gives up a call of which it hears nothing or that nobody takes. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { VirtualTime } from '@elysia-microservices/test-support'
import {
  type ClientContext,
  NotStoredError,
  type OpenCalls,
  type PendingCall
} from '@elysia-microservices/transport/kit'
import type { Engine } from '../carrier.ts'
import { MARGIN, type PartedCarrier } from '../parts/parts.ts'
import { LOST_AFTER } from '../words.ts'
import { CallSender } from './call-sender.ts'

/** Any time of the process. */
const T = 10 * LOST_AFTER

function begin() {
  const happened: string[] = []
  const carrier = {
    everyone: 'everyone',
    isSending: () => false,
    forget() {},
    publish: (to: string, words: string) => void happened.push(`asks ${to} about ${words}`)
  } as unknown as PartedCarrier
  const calls = {
    isWaiting: () => false,
    fail: (_: PendingCall, error: Error) => void happened.push(error.name)
  } as unknown as OpenCalls
  const call = {
    kind: 'request',
    pattern: 'p',
    sequence: 1,
    secret: 'secret',
    mayHaveRun: true
  } as unknown as PendingCall
  const engine = {
    name: 'shop',
    title: 'SHOP',
    where: 'shop:1',
    whyNot: () => undefined
  } as unknown as Engine
  const sender = new CallSender(engine, carrier, 'inbox.', {} as ClientContext, calls)
  return { sender, call, happened }
}

const ASKED = 'asks everyone about p'

describe('a call of which nothing is heard', () => {
  it('is asked about from the second time on, and given up only a while after its service has said that it is gone', () => {
    const { sender, call, happened } = begin()
    sender.ask(call, T)
    assert.deepEqual(happened, [])
    sender.ask(call, T + 1)
    sender.absent(call)
    sender.ask(call, T + LOST_AFTER)
    assert.deepEqual(happened, [ASKED, ASKED])
    sender.ask(call, T + LOST_AFTER + 1)
    assert.deepEqual(happened.slice(2), ['ConnectionError'])
  })

  it('is given up as long after its service has said that it is gone, though nobody had asked', async () => {
    using time = new VirtualTime()
    const { sender, call, happened } = begin()
    sender.absent(call)
    const now = time.now
    sender.ask(call, now + LOST_AFTER)
    assert.deepEqual(happened, [ASKED])
    sender.ask(call, now + LOST_AFTER + 1)
    assert.deepEqual(happened.slice(1), ['ConnectionError'])
  })

  it('is waited for as long as nobody says that it is gone', () => {
    const { sender, call, happened } = begin()
    for (const now of [T, T + LOST_AFTER + 1, T + 9 * LOST_AFTER]) sender.ask(call, now)
    assert.deepEqual(happened, [ASKED, ASKED])
  })

  it('is waited for again when it was heard of', () => {
    const { sender, call, happened } = begin()
    sender.ask(call, T)
    sender.absent(call)
    sender.heard(call)
    sender.ask(call, T + LOST_AFTER + 1)
    assert.deepEqual(happened, [])
  })
})

/** A sender over a carrier that only notes what happens. */
function sending() {
  const happened: string[] = []
  const waiting = new Set<PendingCall>()
  const carrier = {
    everyone: 'everyone',
    maxPayload: 1_000_000,
    isSending: () => false,
    isInbox: () => true,
    forget: (reply: string) => void happened.push(`drops the parts of ${reply}`),
    over: (head: string) => void happened.push(`over ${head}`),
    togetherAt: (address: string) => `together.${address}`,
    publish: (to: string) => void happened.push(`publishes to ${to}`)
  }
  const calls = {
    isWaiting: (call: PendingCall) => waiting.has(call),
    wait(call: PendingCall, until: number) {
      waiting.add(call)
      happened.push(`waits ${Math.ceil(until - performance.now())}`)
    },
    complete: () => void happened.push('completes'),
    fail: (_: PendingCall, error: Error) => void happened.push(`fails ${error.name}`)
  }
  const engine = { name: 'shop', title: 'SHOP', where: 'shop:1', whyNot: () => undefined }
  const sender = new CallSender(
    engine as unknown as Engine,
    carrier as unknown as PartedCarrier,
    'inbox.',
    {} as ClientContext,
    calls as unknown as OpenCalls
  )
  const call = (kind: PendingCall['kind'], given: Partial<PendingCall> = {}) =>
    ({
      kind,
      pattern: 'p',
      name: 'p',
      sequence: 7,
      secret: 'abcdefghijkl',
      mayHaveRun: true,
      mayHaveRunBefore: false,
      ...given
    }) as PendingCall
  return { sender, call, happened }
}

describe('a call that is over', () => {
  it('is over for its engine, too, by the head of its reply address', () => {
    const { sender, call, happened } = sending()
    sender.forget(call('request'))
    sender.forget(call('stream'))
    assert.deepEqual(happened, ['over inbox.1r7-abcdefghijkl-', 'over inbox.1s7-abcdefghijkl-'])
  })

  it('sends no further part of its request', () => {
    const { sender, call, happened } = sending()
    const large = call('request')
    sender.converse(large, 'inbox.large')
    sender.forget(large)
    assert.equal(happened[0], 'drops the parts of inbox.large')
    sender.forget(large)
    assert.equal(happened.filter((one) => one.startsWith('drops')).length, 1)
  })
})

describe('a call that nobody takes', () => {
  it('fails at once, and has run if an earlier attempt may have', () => {
    const { sender, call, happened } = sending()
    const fresh = call('request')
    const again = call('request', { mayHaveRunBefore: true })
    for (const one of [fresh, again]) sender.nobody(one)
    assert.deepEqual(happened, ['fails PatternNotFoundError', 'fails PatternNotFoundError'])
    assert.deepEqual([fresh.mayHaveRun, again.mayHaveRun], [false, true])
  })

  it('is complete if it is an event', () => {
    const { sender, call, happened } = sending()
    sender.nobody(call('event'))
    assert.deepEqual(happened, ['completes'])
  })

  it('is sent again for 5 s behind the return of a server, whose services may come later; a channel is not', async () => {
    using time = new VirtualTime()
    const { sender, call, happened } = sending()
    sender.restored()
    const request = call('request')
    sender.nobody(request)
    assert.deepEqual(
      [happened.splice(0), request.mayHaveRun],
      [['over inbox.1r7-abcdefghijkl-', 'waits 100'], false]
    )
    sender.nobody(call('event', { mayHaveRun: true }))
    assert.equal(happened.splice(0).at(-1), 'waits 100')
    sender.nobody(call('stream', { input: {} as NonNullable<PendingCall['input']> }))
    assert.deepEqual(happened.splice(0), ['fails PatternNotFoundError'])
    await time.pass(4_999)
    sender.nobody(call('request'))
    assert.equal(happened.splice(0).at(-1), 'waits 100')
    await time.pass(1)
    sender.nobody(call('request'))
    assert.deepEqual(happened, ['fails PatternNotFoundError'])
  })

  it('whose service was there has lost it', () => {
    const { sender, call, happened } = sending()
    const reached = call('request')
    sender.converse(reached, 'inbox.1').heard('_INBOX.service.1-abc.0', false)
    sender.nobody(reached)
    assert.deepEqual([happened, reached.mayHaveRun], [['fails ConnectionError'], true])
  })

  it('goes on if only the question about it finds nobody: a service that uses Nest may be handling it', () => {
    const { sender, call, happened } = sending()
    const slow = call('request')
    sender.ask(slow, T)
    sender.ask(slow, T + 1)
    sender.nobody(slow)
    assert.deepEqual([happened, slow.mayHaveRun], [['publishes to everyone'], true])
  })
})

describe('a call whose address may not be used', () => {
  it('fails; if only that of batches may not, the calls of a batch are sent alone', () => {
    const { sender, call, happened } = sending()
    const error = new TypeError('no permission')
    const other = call('request', { pattern: 'q', batch: 1 })
    const calls = [call('request', { batch: 0 }), call('request', { batch: 3, mayHaveRun: true }), other]
    sender.refused('p', calls, error)
    assert.deepEqual(happened.splice(0), ['fails TypeError', 'fails TypeError'])
    sender.refused('together.p', calls, error)
    assert.deepEqual(happened, ['over inbox.1r7-abcdefghijkl-', 'waits 0'])
    assert.deepEqual([calls[1]?.mayHaveRun, other.mayHaveRun], [false, true])
  })
})

describe('the question about a call', () => {
  it('is not asked of an event, of what waits or was not sent, and of a request that is still being sent', () => {
    const { sender, call, happened } = sending()
    const waits = call('request')
    sender.restored()
    sender.nobody(waits)
    happened.length = 0
    for (const one of [call('event'), waits, call('stream', { mayHaveRun: false })])
      for (const now of [T, T + 1]) sender.ask(one, now)
    assert.deepEqual(happened, [])
  })
})

/** A sender of events over a server that confirms them when the test says so. */
function emitting(maxPayload = 10_000) {
  const happened: string[] = []
  const confirms: { resolve(): void; reject(error: Error): void }[] = []
  const carrier = {
    maxPayload,
    emit: (address: string, packet: string, reply?: string) =>
      void happened.push(`emits ${address} ${packet.length}${reply === undefined ? '' : ' and asks'}`),
    atTurnEnd: (task: () => void) => void setImmediate(task),
    flush: () => new Promise<void>((resolve, reject) => confirms.push({ resolve, reject })),
    forget() {}
  }
  let sequence = 0
  const waiting = new Set<PendingCall>()
  const calls = {
    add: (call: PendingCall) => Object.assign(call, { sequence: ++sequence }),
    isWaiting: (call: PendingCall) => waiting.has(call),
    complete: ({ name }: PendingCall) => void happened.push(`completes ${name}`),
    fail: ({ name }: PendingCall, error: Error) =>
      void happened.push(
        `fails ${name} ${error.name} ${(error as { mayHaveRun?: boolean }).mayHaveRun}: ${error.message}`
      )
  }
  const sender = new CallSender(
    { title: 'SHOP' } as unknown as Engine,
    carrier as unknown as PartedCarrier,
    'inbox.',
    {} as ClientContext,
    calls as unknown as OpenCalls
  )
  const emit = (name: string, json = '1') => {
    const call = {
      kind: 'event',
      pattern: name,
      name,
      timeout: 0,
      lifetimeLeft() {}
    } as unknown as PendingCall
    sender.send(call, { address: name, headers: undefined, head: '{"pattern":1', json, input: undefined })
    return call
  }
  const confirmed = async (end: (one: (typeof confirms)[number]) => void) => {
    await Promise.resolve()
    for (const one of confirms.splice(0)) end(one)
    await new Promise(setImmediate)
    await new Promise(setImmediate)
  }
  return { sender, emit, confirms, confirmed, waiting, happened }
}

describe('events', () => {
  it('of one turn are confirmed together, in order, and the next ones alone', async () => {
    const { emit, confirms, confirmed, happened } = emitting()
    for (const name of ['a', 'b']) assert.equal(emit(name).mayHaveRun, true)
    await Promise.resolve()
    assert.equal(confirms.length, 1)
    emit('c')
    await Promise.resolve()
    assert.equal(confirms.length, 2)
    await confirmed((one) => one.resolve())
    assert.deepEqual(happened.slice(3), ['completes a', 'completes b', 'completes c'])
  })

  it('that were sent again meanwhile, or wait, are not ended by the confirmation of an earlier attempt', async () => {
    for (const end of ['resolve', 'reject'] as const) {
      const { emit, confirmed, waiting, happened } = emitting()
      const [again, waits] = [emit('again'), emit('waits'), emit('ends')] as const
      await Promise.resolve()
      Object.assign(again, { sequence: 99 })
      waiting.add(waits)
      await confirmed((one) => one[end](new Error('lost')))
      assert.deepEqual(
        happened.slice(3).map((one) => one.split(' ').slice(0, 2).join(' ')),
        [end === 'resolve' ? 'completes ends' : 'fails ends']
      )
    }
  })

  it('fail with the refusal of the server if that can only be of them, and may be stored otherwise', async () => {
    const refusal = new NotStoredError('the disk is full', true)
    const lost = new Error('gone')
    for (const [names, error, told] of [
      [['a'], refusal, 'NotStoredError'],
      [['a', 'b'], refusal, 'ConnectionError true: the disk is full'],
      [['a'], lost, 'ConnectionError true: The connection was lost before the server had confirmed the event']
    ] as const) {
      const { emit, confirmed, happened } = emitting()
      for (const name of names) emit(name)
      await confirmed((one) => one.reject(error))
      const failed = happened.slice(names.length)
      assert.equal(failed.length, names.length)
      for (const [n, name] of names.entries())
        assert.ok(failed[n]?.startsWith(`fails ${name} ${told}`), failed[n])
    }
  })

  it('are refused at once if they are larger than a message of the server, counted in bytes', () => {
    const most = 10_000 - MARGIN
    const around = '{"pattern":1,"data":}'.length
    const { emit, happened } = emitting()
    emit('a', 'x'.repeat(most - around))
    emit('b', 'é'.repeat(Math.floor((most - around) / 2)))
    for (const json of ['x'.repeat(most - around + 1), 'é'.repeat((most - around) / 2 + 1)])
      assert.throws(() => emit('c', json), {
        name: 'PayloadTooLargeError',
        message: /the largest message of the SHOP server/
      })
    assert.equal(happened.length, 2)
  })

  it('ask whether anybody listens for a while after the return of a server, whose services may come later', async () => {
    using time = new VirtualTime()
    const { sender, emit, happened } = emitting()
    sender.restored()
    emit('a')
    await time.pass(5_000)
    emit('b')
    assert.deepEqual(
      happened.filter((one) => one.startsWith('emits')).map((one) => one.endsWith('asks')),
      [true, false]
    )
  })
})
