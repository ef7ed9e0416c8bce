/** The behaviour of libraries that lack a feature which a case needs. */
import assert from 'node:assert/strict'
import { ConnectionError } from 'elysia-microservices/client'
import type { Case, Run } from '../interop.ts'

type Limit = readonly [sentence: string, run: Run]

/** A server that refuses a feature of the client's SETUP with this message. */
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
