import assert from 'node:assert/strict'
import { once } from 'node:events'
import { it } from 'node:test'
import { pause } from '@elysia-microservices/test-support'
import { IncomingMessage } from '@elysia-microservices/transport/kit'
import type { OpenConnection } from './open-connection.ts'
import { OwnAnswer } from './own-answer.ts'

it('a request is given up when its caller stops waiting, though no word of the caller arrives', async () => {
  const answered: string[] = []
  const connection = {
    control: { add() {}, remove() {}, address: () => 'control' },
    answers: { send: (_: string, words: string) => answered.push(words) },
    logger: { error() {}, warn() {} }
  } as unknown as OpenConnection
  let ends = 0
  const token = { kind: 'request', timeout: 5, demand: 1, window: 0 } as const
  const answer = new OwnAnswer(connection, 'inbox.1', '"1"', token, () => ends++)
  const message = new IncomingMessage({
    transport: 'test',
    kind: 'request',
    pattern: 'p',
    route: 'p',
    data: undefined,
    timeout: 5
  })
  const aborted = once(message.signal, 'abort')
  answer.begin(message)
  // Timers end in the order of their times, however busy the machine is.
  await Promise.race([aborted, pause(1_000)])
  assert.ok(message.signal.aborted, 'The handler still runs, though the time of its caller is over')
  assert.deepEqual([ends, answered], [1, []])
})
