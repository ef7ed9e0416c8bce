import assert from 'node:assert/strict'
import { once } from 'node:events'
import { it } from 'node:test'
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
  await aborted
  assert.deepEqual([ends, answered], [1, []])
})
