import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Link } from '../connection/link.ts'
import type { DriverChannel } from '../driver.ts'
import { rabbitmqOptions } from '../options/options.ts'
import { FakeRabbitServer } from '../testing/fake-server.ts'
import { HANDLERS, INBOXES, queueOfGroup, queueOfPaused } from '../words/names.ts'
import { sayWhatIsLeftBehind, suspects } from './left-behind.ts'
import { safeQueue } from './queues.ts'

it('a queue may be left behind if it has a pattern or a group of the service, and is none of its own', () => {
  const named = (text: string) => {
    const [group = '', pattern = ''] = text.split(' ')
    return { group, pattern }
  }
  const notes = ['old p', 'new p', 'new removed', 'other other', 'old other'].map(named)
  assert.deepEqual(
    suspects(notes, ['new p', 'new q'].map(named)).map(({ group, pattern }) => `${group} ${pattern}`),
    ['old p', 'new removed']
  )
})

it('the queues of a renamed service are reported, until they are gone; those with a consumer are not', async () => {
  const server = new FakeRabbitServer()
  const options = rabbitmqOptions({ url: 'amqp://127.0.0.1' })
  const link = await Link.open(server.driver, options, undefined, {
    lost() {},
    restored() {},
    halted() {},
    failed() {}
  })
  const lines: string[] = []
  const say = async (...ours: { readonly group: string; readonly pattern: string }[]) => {
    lines.length = 0
    await sayWhatIsLeftBehind(link, ours, { error() {}, warn: (line) => void lines.push(line) })
    // The notes go back when their channel is closed.
    while (server.channels.size > 0) await new Promise(setImmediate)
    return server.queues.get(HANDLERS)?.messages.map(({ content }) => JSON.parse(content.toString()))
  }
  const [old, renamed] = [
    { group: 'old', pattern: 'p' },
    { group: 'new', pattern: 'p' }
  ]
  server.declareExchange(INBOXES, 'direct')
  server.declareQueue(queueOfGroup('old', 'p'), safeQueue(), link)
  server.declareQueue(queueOfPaused('old'), safeQueue(), link)
  server.publish('', queueOfGroup('old', 'p'), Buffer.from('x'), { persistent: true })

  assert.deepEqual(await say(old), [old])
  assert.deepEqual(lines, [])
  assert.deepEqual(await say(renamed), [old, renamed])
  assert.equal(lines.length, 1)
  assert.match(
    lines[0] ?? '',
    /^The group 'old' stores the events 'p', .* \(1 wait\)\. If the service was renamed/
  )
  const consuming = await link.open((opened) => opened.consume(queueOfGroup('old', 'p'), () => {}, false))
  lines.length = 0
  await sayWhatIsLeftBehind(link, [renamed], {
    error() {},
    warn: (line) => void (lines as string[]).push(line)
  })
  assert.deepEqual(lines, [], 'a queue with a consumer is not left behind')
  // A channel that is only closed is opened again soon, so that it would consume again.
  await consuming.remove()
  server.publish('', queueOfPaused('old'), Buffer.from('paused'), { persistent: true })
  await say(renamed)
  assert.deepEqual(lines, [], 'a paused group is not left behind')
  server.deleteQueue(queueOfGroup('old', 'p'))
  assert.deepEqual(await say(renamed), [renamed])
  await link.close()
})

it('the queue of the notes is not read while it is empty: RabbitMQ 3.10 may end the connection for it', async () => {
  const server = new FakeRabbitServer()
  server.declareExchange(INBOXES, 'direct')
  const link = await Link.open(server.driver, rabbitmqOptions({ urls: 'amqp://127.0.0.1' }), undefined, {
    lost() {},
    restored() {},
    halted() {},
    failed() {}
  })
  let reads = 0
  const counting = (channel: DriverChannel) =>
    new Proxy(channel, {
      get(target, name) {
        if (name === 'get') reads++
        const member: unknown = Reflect.get(target, name, target)
        return typeof member === 'function' ? member.bind(target) : member
      }
    })
  const watched = {
    aside: <Result>(use: (channel: DriverChannel) => Promise<Result>) =>
      link.aside((channel) => use(counting(channel)))
  } as Link
  const say = async (group: string) => {
    reads = 0
    await sayWhatIsLeftBehind(watched, [{ group, pattern: 'p' }], { error() {}, warn() {} })
    while (server.channels.size > 0) await new Promise(setImmediate)
    return reads
  }
  server.declareQueue(HANDLERS, safeQueue(), link)
  assert.equal(await say('first'), 0, 'another service has just made the queue, and not bound it yet')
  assert.equal(await say('second'), 1, 'the first note was not lost')
  server.deleteQueue(HANDLERS)
  assert.equal(await say('third'), 0, 'the queue is made by this service')
  assert.equal(await say('fourth'), 1)
  await link.close()
})
