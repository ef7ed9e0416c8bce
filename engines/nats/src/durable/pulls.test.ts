import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Msg, headers as newHeaders } from '@nats-io/transport-node'
import type { NatsConnection } from '../connection/nats-connection.ts'
import type { Group } from './groups.ts'
import { Pulls, type PullsOwner } from './pulls.ts'

/** The pulls of a handler, and the requests for its two consumers. */
function setting(isOrdered: boolean) {
  const requests: { readonly of: string; readonly group?: string; readonly batch: number }[] = []
  const said: string[] = []
  const hears: ((error: null, message: Msg) => void)[] = []
  let inboxes = 0
  const connection = {
    isConnected: true,
    maxPayload: 1_024,
    newStoreInbox: () => `inbox${++inboxes}.`,
    subscribe: (_: string, __: undefined, hear: (typeof hears)[number]) => {
      hears.push(hear)
      return { unsubscribe() {}, drain: async () => {} }
    },
    publish: (subject: string, request: string) =>
      void requests.push({ of: subject.split('.').at(-1) ?? '', ...JSON.parse(request) })
  }
  const owner: PullsOwner = {
    room: 10,
    roomForRedriven: 1,
    receive: (_, data, pull) =>
      void said.push(`${data.length} ${pull === undefined ? 'redriven' : 'published'}`),
    gone: (why) => void said.push(`gone: ${why}`),
    doubtful: ({ consumer }) => void said.push(`doubtful: ${consumer}`),
    unpinned: () => void said.push('unpinned')
  }
  const logger = { error() {}, warn: (line: string) => void said.push(line) }
  const pulls = new Pulls(owner, logger, isOrdered)
  const group = { main: { stream: 's', consumer: 'main' }, again: { stream: 'a', consumer: 'again' } }
  const start = () => pulls.start(connection as unknown as NatsConnection, group as Group)
  /** The server's own message, or an event, for one of the pulls. */
  const status = (pull: number, code: number, words: string) =>
    hears[pull]?.(null, {
      subject: `inbox${pull + 1}.1`,
      data: new Uint8Array(),
      reply: '',
      headers: newHeaders(code, words)
    } as unknown as Msg)
  const event = (pull: number) =>
    hears[pull]?.(null, { subject: 'p', data: new Uint8Array(3), reply: '$JS.ACK.x' } as unknown as Msg)
  return { pulls, requests, said, start, status, event }
}

describe('the pulls of a durable handler', () => {
  for (const isOrdered of [false, true])
    it(`request published events ${isOrdered ? 'as one of several processes, of which one is served' : 'as there is room'}, and redriven ones one by one`, async () => {
      const { pulls, requests, start } = setting(isOrdered)
      assert.equal(pulls.areRunning, false)
      start()
      assert.deepEqual(
        requests.map(({ of, group, batch }) => [of, group, batch]),
        [
          ['main', isOrdered ? 'one' : undefined, 10],
          ['again', undefined, 1]
        ]
      )
      assert.equal(pulls.areRunning, true)
      pulls.restored()
      assert.equal(requests.length, 4)
      const stopped = pulls.stop()
      assert.equal(pulls.areRunning, false)
      await stopped
      pulls.fill()
      pulls.restored()
      assert.equal(requests.length, 4)
    })

  it('tell which of them has an event, or is in doubt, and log what they do not know', async () => {
    const { pulls, said, start, status, event } = setting(true)
    start()
    event(0)
    event(1)
    status(0, 423, 'Nats-Wrong-Pin-Id')
    await pulls.stop()
    assert.deepEqual(said.splice(0), ['3 published', '3 redriven', 'unpinned'])
    for (const pull of [0, 1]) {
      const other = setting(false)
      other.start()
      other.status(pull, 503, 'No Responders')
      await other.pulls.stop()
      const gone = setting(false)
      gone.start()
      gone.status(pull, 409, 'Consumer Deleted')
      await gone.pulls.stop()
      const odd = setting(false)
      odd.start()
      odd.status(pull, 409, 'Something New')
      await odd.pulls.stop()
      const name = pull === 0 ? 'main' : 'again'
      assert.deepEqual([other.said, gone.said], [[`doubtful: ${name}`], ['gone: Consumer Deleted']])
      assert.match(odd.said[0] ?? '', new RegExp(`request for '${name}' of the stream .*Something New`))
    }
  })
})
