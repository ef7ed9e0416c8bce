/** What libraries do that cannot do what a case asks of them. */
import assert from 'node:assert/strict'
import { ConnectionError } from 'elysia-microservices/client'
import type { Case, Run } from '../interop.ts'
import { Values } from './values.ts'

type Limit = readonly [sentence: string, run: Run]

/** "The sender MUST wait for outstanding streams to terminate": these do not. */
export const losesWorkOfStoppingServer: Limit = [
  'gives up what it waits for when the server stops: CONNECTION_CLOSE is the end of all its streams',
  async (given) => {
    const requests = new Values<() => void>()
    const stops = new Values<() => Promise<void>>()
    const port = await given.serve((service) => {
      service.message('slow', () => new Promise<string>((resolve) => requests.put(() => resolve('done'))))
      stops.put(() => service.stop())
    })
    const slow = (await given.peer.connect(port)).open('response', 'slow')
    const answer = await requests.take()
    const stopped = (await stops.take())()
    assert.match((await slow.event('error')).message, /The server is stopping/)
    answer()
    await stopped
  }
]

/** A server that refuses what a client's SETUP asks for, in these words. */
export function refusesSetup(
  sentence: string,
  options: Parameters<Case['connect']>[1],
  words: RegExp
): Limit {
  return [
    sentence,
    async (given) => {
      const { port } = await given.listen()
      await assert.rejects(given.connect(port, options).request('echo', 1), (error) => {
        assert.ok(error instanceof ConnectionError)
        assert.match(error.message, words)
        return true
      })
    }
  ]
}
